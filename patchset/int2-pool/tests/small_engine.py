"""Pool, budget and attention backend of one release on CPU tensors, with real classes and a tiny model's real configuration.

Everything that a server builds is built by the release itself: arguments are resolved by its pipeline, the pool by its configurator,
requests are attended to by its Triton backend. Only the model is missing: tests make up queries, keys and values.
"""

from __future__ import annotations

import inspect
import json
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from sglang.srt.configs.hybrid_arch import mambaish_config
from sglang.srt.configs.model_config import ModelConfig
from sglang.srt.layers.attention.triton_backend import TritonAttnBackend
from sglang.srt.layers.radix_attention import RadixAttention
from sglang.srt.mem_cache.allocator import TokenToKVPoolAllocator
from sglang.srt.mem_cache.kv_cache_configurator import KVCacheConfigurator
from sglang.srt.mem_cache.kv_cache_dtype import configure_kv_cache_dtype
from sglang.srt.mem_cache.kv_index_translator import KVIndexTranslator
from sglang.srt.model_executor.forward_batch_info import ForwardMode
from sglang.srt.model_executor.model_runner_components.layer_setup import ModelLayerInfo
from sglang.srt.runtime_context import get_parallel
from sglang.srt.server_args import ServerArgs, set_global_server_args_for_scheduler
from sglang.srt.speculative.spec_info import SpeculativeAlgorithm

HEADS, KV_HEADS, DIM, LAYERS = 4, 2, 64, 2
CONTEXT = 256
DTYPE = torch.float16  # bf16 is silently wrong in Triton's interpreter

PLAIN = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "hidden_size": 256,
    "head_dim": DIM,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "vocab_size": 512,
    "intermediate_size": 128,
    "max_position_embeddings": CONTEXT,
    "torch_dtype": "float16",
}
HYBRID = PLAIN | {
    "architectures": ["Qwen3NextForCausalLM"],
    "model_type": "qwen3_next",
    "full_attention_interval": 2,
    "layer_types": ["linear_attention", "full_attention"],
    "linear_num_value_heads": 4,
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 32,
    "linear_value_head_dim": 32,
    "linear_conv_kernel_dim": 4,
    "num_experts": 0,
    "num_experts_per_tok": 0,
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
    "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 32,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
}
CPU = {
    "device": "cpu",
    "dtype": "float16",
    "attention_backend": "triton",
    "sampling_backend": "pytorch",
    "page_size": 1,
    "context_length": CONTEXT,
    "disable_cuda_graph": True,
    "disable_overlap_schedule": True,
    "mamba_radix_cache_strategy": "no_buffer",
    "max_mamba_cache_size": 32,
    "max_running_requests": 4,
    "skip_tokenizer_init": True,
    "triton_attention_num_kv_splits": 2,  # fewer programs for the interpreter
}
INT2 = {"kv_cache_dtype": "int2"}


def given(model: dict[str, Any], **arguments: Any) -> ServerArgs:
    """Server arguments as the user gave them."""
    folder = Path(tempfile.mkdtemp(prefix="int2-"))
    (folder / "config.json").write_text(json.dumps(model))
    unknown = set(arguments) - set(inspect.signature(ServerArgs).parameters)
    assert not unknown, f"unknown arguments {unknown}"
    return ServerArgs(model_path=str(folder), **(CPU | arguments))


def resolve(model: dict[str, Any], **arguments: Any) -> ServerArgs:
    """Server arguments as a launcher has them after resolution."""
    server_args = given(model, **arguments)
    server_args.resolve_once()
    return server_args


ONE_RANK = {"attn_tp_size": 1, "attn_dp_size": 1, "attn_dcp_size": 1, "attn_dcp_rank": 0, "dcp_enabled": False}
_one_rank = get_parallel().override(
    **ONE_RANK
)  # what process groups would say; held, because it ends when it is collected
_one_rank.__enter__()


def publish(model: dict[str, Any], **arguments: Any) -> ServerArgs:
    server_args = resolve(model, **arguments)
    set_global_server_args_for_scheduler(server_args)
    return server_args


def storage_type(name: str) -> torch.dtype:
    """What the release stores a KV cache of this dtype name in; an unknown name fails the test that asked."""
    try:
        _, dtype = configure_kv_cache_dtype(
            server_args_kv_cache_dtype=name,
            model=None,
            model_dtype=DTYPE,
            is_draft_worker=False,
            is_dflash=False,
            speculative_draft_attention_backend="triton",
        )
    except ValueError as error:
        raise AssertionError(str(error)) from error
    return dtype


class Configurator(KVCacheConfigurator):
    """With room for what other releases have; its constructor wants a model runner's world."""


def configurator(server_args: ServerArgs, model: Any = None, **changes: Any) -> Any:
    """The release's own configurator, with what a model runner would give it."""
    kvc = object.__new__(Configurator)
    config = ModelConfig.from_server_args(server_args)
    runner = {
        "device": "cpu",
        "gpu_id": 0,
        "ps": SimpleNamespace(attn_dp_size=1, pp_size=1),
        "attn_dp_size": 1,
        "pp_size": 1,
        "model": model,
        "model_config": config,
        "server_args": server_args,
        "kv_cache_dtype": storage_type(server_args.kv_cache_dtype),
        "kv_cache_dtype_str": server_args.kv_cache_dtype,
        "model_dtype": DTYPE,
        "page_size": 1,
        "spec_algorithm": SpeculativeAlgorithm.from_string(None),
        "is_draft_worker": False,
        "post_capture_kv_active": False,
        "is_hybrid_swa": False,
        "use_mla_backend": False,
        "layer_info": ModelLayerInfo(start_layer=0, end_layer=LAYERS, num_effective_layers=LAYERS),
        "mambaish_config": mambaish_config(config),
        "hybrid_gdn_config": None,
        "kv_shard_rank": None,
        "kv_shard_spec": None,
        "kv_shard_group": None,
        "dflash_draft_cell_size_per_token": None,
        "draft_model_idx": None,
        "forward_stream": None,
    }
    for name, value in (runner | changes).items():
        object.__setattr__(kvc, name, value)
    return kvc


class Batch(SimpleNamespace):
    """A forward batch; a class of its own because the release keeps weak references to it."""


class Engine:
    """One rank. `tokens` is the size of the pool, `model` its configuration file. With pages, tests hand out slots themselves."""

    def __init__(self, model: dict[str, Any] = HYBRID, tokens: int = 512, page_size: int = 1, **arguments: Any) -> None:
        self.server_args = publish(model, page_size=page_size, **arguments)
        self.kvc = configurator(self.server_args, page_size=page_size)
        config = self.kvc.model_config
        self.table = torch.zeros(8, CONTEXT, dtype=torch.int32)
        requests = SimpleNamespace(size=8, req_to_token=self.table, mamba_pool=None)
        self.pool = self.kvc._build_token_to_kv_pool(
            sizes=SimpleNamespace(max_total_num_tokens=tokens),
            is_dsa_model=False,
            is_dsv4_model=False,
            req_to_token_pool=requests,
        )
        self.allocator = TokenToKVPoolAllocator(
            size=tokens, dtype=self.kvc.kv_cache_dtype, device="cpu", kvcache=self.pool, need_sort=False
        )
        self.translator = KVIndexTranslator(
            req_to_token=self.table,
            token_to_kv_pool_allocator=self.allocator,
            token_to_kv_pool=self.pool,
            page_size=page_size,
            device="cpu",
        )
        self.backend = TritonAttnBackend(
            SimpleNamespace(
                server_args=self.server_args,
                req_to_token_pool=requests,
                token_to_kv_pool=self.pool,
                token_to_kv_pool_allocator=self.allocator,
                kv_index_translator=self.translator,
                sliding_window_size=None,
                page_size=page_size,
                model_config=config,
                device="cpu",
                gpu_id=0,
                is_draft_worker=False,
                spec_algorithm=self.kvc.spec_algorithm,
                kv_cache_dtype=self.kvc.kv_cache_dtype,
                decode_num_tokens_per_req=lambda: 1,
            )
        )
        ids = range(LAYERS) if self.kvc.mambaish_config is None else self.kvc.mambaish_config.full_attention_layer_ids
        self.layers = [RadixAttention(HEADS, DIM, DIM**-0.5, KV_HEADS, layer_id=i) for i in ids]

    @property
    def inner(self) -> Any:
        """The pool of the attention layers; a hybrid model's is one level down."""
        return getattr(self.pool, "full_kv_pool", self.pool)

    def allocate(self, request: int, start: int, count: int) -> torch.Tensor:
        """Fresh slots for positions `start`… of a request."""
        slots = self.allocator.alloc(count)
        assert slots is not None, "the pool of the test is too small"
        self.table[request, start : start + count] = slots.int()
        return slots

    def extend(self, chunks: list[tuple[int, int, Any]]) -> list[torch.Tensor]:
        """Run chunks (request, prefix length, (q, k, v) of [layers, tokens, heads, dim]); the outputs by layer."""
        prefix = [start for _, start, _ in chunks]
        new = [qkv[0].shape[1] for _, _, qkv in chunks]
        slots = [self.allocate(r, start, n) for (r, start, _), n in zip(chunks, new, strict=True)]
        batch = self._batch(ForwardMode.EXTEND, chunks, prefix, new, torch.cat(slots))
        batch.extend_prefix_lens = torch.tensor(prefix)
        batch.extend_prefix_lens_cpu = prefix
        batch.extend_seq_lens = torch.tensor(new)
        batch.extend_seq_lens_cpu = new
        return self._layers(batch, chunks, self.backend.forward_extend)

    def decode(self, steps: list[tuple[int, int, Any]]) -> list[torch.Tensor]:
        """One token (request, tokens before it, (q, k, v)) for each of some requests; the outputs by layer."""
        slots = torch.cat([self.allocate(r, start, 1) for r, start, _ in steps])
        before = [start for _, start, _ in steps]
        batch = self._batch(ForwardMode.DECODE, steps, before, [1] * len(steps), slots)
        return self._layers(batch, steps, self.backend.forward_decode)

    def capture(self, batch: int) -> Any:
        """What a graph runner does around a decode of `batch` requests: metadata from static tensors, padding in slot 0.

        Returns a function that replays it for some requests. The kernels themselves are not captured here; there is no GPU.
        """
        static = Batch(
            forward_mode=ForwardMode.DECODE,
            batch_size=batch,
            req_pool_indices=torch.zeros(batch, dtype=torch.int64),
            seq_lens=torch.ones(batch, dtype=torch.int64),
            seq_lens_cpu=torch.ones(batch, dtype=torch.int64),
            seq_lens_sum=batch,
            out_cache_loc=torch.zeros(batch, dtype=torch.int64),
            positions=torch.zeros(batch, dtype=torch.int64),
            spec_info=None,
            encoder_lens=None,
        )
        self.backend.init_cuda_graph_state(batch, batch)
        if hasattr(self.translator, "bind_own_plan"):
            self.translator.bind_own_plan(static)
        self.backend.init_forward_metadata_out_graph(static, in_capture=True)

        def replay(steps: list[tuple[int, int, Any]]) -> list[torch.Tensor]:
            slots = torch.cat([self.allocate(r, start, 1) for r, start, _ in steps])
            for name, value, padding in (
                ("req_pool_indices", torch.tensor([r for r, _, _ in steps]), 0),
                ("seq_lens", torch.tensor([start + 1 for _, start, _ in steps]), 1),
                ("out_cache_loc", slots, 0),
            ):
                getattr(static, name).fill_(padding)[: len(steps)] = value
            self.backend.init_forward_metadata_out_graph(static)
            outputs = []
            for place, layer in enumerate(self.layers):
                q, k, v = (torch.cat([qkv[p][place] for _, _, qkv in steps]) for p in range(3))
                q, k, v = (
                    torch.cat([x, torch.zeros(batch - len(steps), *x.shape[1:], dtype=DTYPE)]) for x in (q, k, v)
                )
                out = self.backend.forward_decode(q.flatten(1), k, v, layer, static)
                outputs.append(out.view(-1, HEADS, DIM)[: len(steps)])
            return outputs

        return replay

    def _batch(self, mode: Any, work: list[Any], before: list[int], new: list[int], slots: torch.Tensor) -> Batch:
        lengths = [b + n for b, n in zip(before, new, strict=True)]
        return Batch(
            forward_mode=mode,
            batch_size=len(work),
            req_pool_indices=torch.tensor([request for request, _, _ in work]),
            seq_lens=torch.tensor(lengths),
            seq_lens_cpu=torch.tensor(lengths),
            seq_lens_sum=sum(lengths),
            out_cache_loc=slots,
            positions=torch.cat([torch.arange(b, b + n) for b, n in zip(before, new, strict=True)]),
            spec_info=None,
            encoder_lens=None,
            mha_one_shot=False,
            attn_attend_prefix_cache=None,
            extend_prefix_lens_cpu=None,
            extend_seq_lens_cpu=None,
        )

    def _layers(self, batch: Batch, work: list[Any], forward: Any) -> list[torch.Tensor]:
        if hasattr(self.translator, "bind_own_plan"):
            self.translator.bind_own_plan(batch)
        self.backend.init_forward_metadata(batch)
        outputs = []
        for place, layer in enumerate(self.layers):
            q, k, v = (torch.cat([qkv[part][place] for _, _, qkv in work]).clone() for part in range(3))
            outputs.append(forward(q.flatten(1), k, v, layer, batch).view(-1, HEADS, DIM))
        return outputs


def made_up(tokens: int, seed: int, layers: int = LAYERS) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Queries, keys and values of `tokens` tokens in every layer."""
    noise = torch.Generator().manual_seed(seed)

    def some(heads: int) -> torch.Tensor:
        return torch.randn(layers, tokens, heads, DIM, generator=noise).to(DTYPE)

    return some(HEADS), some(KV_HEADS), some(KV_HEADS)


def part(qkv: tuple[torch.Tensor, ...], start: int, stop: int) -> tuple[torch.Tensor, ...]:
    return tuple(x[:, start:stop] for x in qkv)
