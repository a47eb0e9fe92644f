"""The arguments, and everything that is refused with them."""

from __future__ import annotations

import argparse
import importlib.util
from typing import Any

import pytest
import tree

tree.require()

from sglang.srt.arg_groups.kv_cache_hook import handle_cache_compatibility
from sglang.srt.runtime_context import get_model
from sglang.srt.server_args import ServerArgs
from small_engine import HYBRID, INT2, PLAIN, given, publish, resolve

FLAGS = {
    "--kv-cache-quant-group-size": ("kv_cache_quant_group_size", 64, "32", 32),
    "--int2-sink-tokens": ("int2_sink_tokens", 64, "0", 0),
    "--int2-window-tokens": ("int2_window_tokens", 256, "128", 128),
    "--int2-k-rotation": ("int2_k_rotation", "hadamard", "k.pt", "k.pt"),
    "--int2-v-rotation": ("int2_v_rotation", "hadamard", "none", "none"),
}


def parse(*given: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(exit_on_error=False)
    ServerArgs.add_cli_args(parser)
    try:
        parsed, unknown = parser.parse_known_args(["--model-path", "dummy", *given])
    except argparse.ArgumentError as error:
        raise AssertionError(str(error)) from error
    assert unknown == []
    return parsed


@pytest.mark.differs
def test_the_dtype_is_accepted() -> None:
    assert parse("--kv-cache-dtype", "int2").kv_cache_dtype == "int2"


@pytest.mark.differs
@pytest.mark.parametrize("flag", FLAGS)
def test_each_flag_has_its_default_and_reaches_the_namespace(flag: str) -> None:
    name, default, text, value = FLAGS[flag]
    assert getattr(parse(), name, None) == default
    assert getattr(parse(flag, text), name) == value
    publish(PLAIN, **{name: value})
    assert getattr(get_model(), name) == value


@pytest.mark.differs
@pytest.mark.parametrize("model", [PLAIN, HYBRID], ids=["plain", "hybrid"])
def test_a_resolved_server_keeps_int2(model: dict[str, Any]) -> None:
    """Through the whole pipeline: nothing on the way resets the dtype or refuses it, and the guard was there."""
    assert resolve(model, **INT2).kv_cache_dtype == "int2"
    with pytest.raises(ValueError, match="--kv-cache-dtype int2 does not serve FlexKV"):
        resolve(model, enable_flexkv=True, **INT2)


UNSERVED = {
    "decode context parallelism": {"dcp_size": 2},
    "context-parallel attention": {"attn_cp_size": 2},
    "speculative decoding": {"speculative_algorithm": "NGRAM"},
    "deterministic inference": {"enable_deterministic_inference": True},
    "the hierarchical cache": {"enable_hierarchical_cache": True},
    "LMCache": {"enable_lmcache": True},
    "FlexKV": {"enable_flexkv": True},
    "an external cache": {"enable_unified_cache_external_linker": True},
    "the KV cache canary": {"kv_canary": "log"},
    "HiSparse": {"enable_hisparse": True},
    "KV cache sharding": {"enable_kv_cache_sharding": True},
    "the unified memory pool": {"enable_unified_memory": True},
    "the page-major layout": {"enable_page_major_kv_layout": True},
    "disaggregated prefill": {"disaggregation_mode": "decode"},
    "role switching": {"enable_pd_role_switch": True},
    "PD multiplexing": {"enable_pdmux": True},
    "diffusion language models": {"dllm_algorithm": "LowConfidence"},
    "two-batch overlap": {"enable_two_batch_overlap": True},
    "a prefill without KV cache": {"prefill_only_disable_kv_cache": True},
}


def guard(model: dict[str, Any], **arguments: Any) -> None:
    """The hook that holds the guard, on arguments that the pipeline was not asked about."""
    handle_cache_compatibility(given(model, **arguments))


@pytest.mark.differs
@pytest.mark.parametrize("name", UNSERVED)
def test_what_is_not_served_is_refused_by_name(name: str) -> None:
    from inspect import signature

    if not set(UNSERVED[name]) <= set(signature(ServerArgs).parameters):
        pytest.skip("this release has no such feature")
    with pytest.raises(ValueError, match=f"--kv-cache-dtype int2 does not serve {name}"):
        guard(PLAIN, **UNSERVED[name], **INT2)


@pytest.mark.differs
@pytest.mark.parametrize("name", ["prefill_attention_backend", "decode_attention_backend", "attention_backend"])
def test_other_attention_backends_are_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match="needs --attention-backend triton, got torch_native"):
        guard(PLAIN, **{name: "torch_native"}, **INT2)


@pytest.mark.differs
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"int2_sink_tokens": -1}, "must not be negative"),
        ({"int2_window_tokens": 20_000}, "must not exceed 16384"),
        ({"kv_cache_quant_group_size": 48}, "group.* 48 is not one of"),
    ],
)
def test_sizes_are_checked(arguments: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        guard(PLAIN, **arguments, **INT2)


@pytest.mark.differs
def test_an_odd_head_dimension_is_refused() -> None:
    with pytest.raises(ValueError, match="`k_dim` 80 is not one of"):
        guard(PLAIN | {"head_dim": 80, "hidden_size": 320}, **INT2)


MLA = {
    "architectures": ["DeepseekV2ForCausalLM"], "model_type": "deepseek_v2", "hidden_size": 128, "num_hidden_layers": 2,
    "num_attention_heads": 2, "num_key_value_heads": 2, "kv_lora_rank": 64, "q_lora_rank": None, "qk_rope_head_dim": 16,
    "qk_nope_head_dim": 32, "v_head_dim": 32, "vocab_size": 512, "intermediate_size": 128, "moe_intermediate_size": 32,
    "n_routed_experts": 4, "max_position_embeddings": 256, "torch_dtype": "float16",
}  # fmt: skip


@pytest.mark.differs
def test_mla_models_are_refused() -> None:
    with pytest.raises(ValueError, match="does not serve MLA models"):
        guard(MLA, **INT2)


SPARSE = {
    "blocks": PLAIN | {"architectures": ["MiniMaxM3SparseForCausalLM"]},
    "compressed": HYBRID
    | {
        "indexer_n_heads": 4, "indexer_kv_heads": 1, "indexer_head_dim": 64, "indexer_budget": 1024,
        "indexer_compress_ratio": 2,
    },
}  # fmt: skip


@pytest.mark.differs
@pytest.mark.parametrize("kind", SPARSE)
def test_sparse_attention_is_refused(kind: str) -> None:
    """Its pools are of other classes: without a refusal keys are stored as whole numbers, on every release."""
    if kind == "compressed" and importlib.util.find_spec("sglang.srt.layers.attention.qsa") is None:
        pytest.skip("this release has no such attention")
    with pytest.raises(ValueError, match="does not serve sparse attention"):
        guard(SPARSE[kind], **INT2)


LIGHTNING = PLAIN | {
    "architectures": ["MiniCPMSALAForCausalLM"], "model_type": "minicpm_sala",
    "mixer_types": ["lightning", "minicpm4"], "lightning_nkv": 4,
}  # fmt: skip


@pytest.mark.differs
def test_lightning_attention_is_refused() -> None:
    """Its decode converts queries to the type of the KV cache, which are whole numbers here, on every release."""
    with pytest.raises(ValueError, match="does not serve lightning attention"):
        guard(LIGHTNING, **INT2)


def test_other_dtypes_are_not_asked() -> None:
    guard(PLAIN, enable_flexkv=True, attention_backend="torch_native")
