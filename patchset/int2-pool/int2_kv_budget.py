"""What an INT2 pool will cost, known before it is built; and the class that builds it."""

from __future__ import annotations

import functools
import logging
from typing import Any

import torch

from sglang.srt.layers.attention.int2_kv import Int2Layout, Rotation, load_rotations
from sglang.srt.layers.attention.int2_kv.rotation import hadamard
from sglang.srt.mem_cache.int2_kv_pool import Int2Plan, Int2TokenToKVPool
from sglang.srt.runtime_context import get_model, get_parallel, get_schedule

logger = logging.getLogger(__name__)

REQUESTS_WITH_ROWS = 64
"""Rows are kept for so many requests at most. Beyond that, those that were planned longest ago go first."""


def layer_ids(kvc: Any) -> list[int]:
    """Global ids of the layers that this rank's pool holds."""
    here = range(kvc.layer_info.start_layer, kvc.layer_info.end_layer)
    if kvc.mambaish_config is not None:
        return [layer for layer in kvc.mambaish_config.full_attention_layer_ids if layer in here]
    return list(range(here.start, here.start + kvc.layer_info.num_effective_layers))


def requests_with_rows(kvc: Any) -> int:
    """How many requests have rows: the limits that are known before the pool is sized."""
    limit = REQUESTS_WITH_ROWS
    asked = get_schedule().max_running_requests
    if asked is not None:
        limit = min(limit, max(asked // get_parallel().attn_dp_size, 1))
    states = get_schedule().max_mamba_cache_size
    if kvc.mambaish_config is not None and states is not None:
        limit = min(limit, max(states // kvc._calculate_mamba_ratio(), 1))
    return limit


def plan(kvc: Any, rotations: bool = False) -> Int2Plan:
    """The plan for this rank; with ``rotations``, also what it has to load for them."""
    arguments, model = get_model(), kvc.model_config
    heads = model.get_num_kv_heads(get_parallel().attn_tp_size, get_parallel().attn_dcp_size)
    layout = Int2Layout(heads, model.head_dim, model.v_head_dim, arguments.kv_cache_quant_group_size)
    window = min(arguments.int2_window_tokens, model.context_len)
    # No position is in both, so that `sink + window` is what a request of full length has, and `SlotRows` counts it right.
    sink = min(arguments.int2_sink_tokens, model.context_len - window)
    return Int2Plan(
        layout=layout,
        sink=sink,
        window=window,
        # One more than there are requests: a chunk still reads the window that it pushes out.
        row_limit=(requests_with_rows(kvc) + 1) * (sink + window),
        dtype=kvc.model_dtype,
        rotations=load(layer_ids(kvc), layout, kvc.device) if rotations else [],
    )


def load(layers: list[int], layout: Int2Layout, device: Any) -> list[Rotation | None]:
    """Rotations of the pool's layers as `--int2-k-rotation` and `--int2-v-rotation` say; Hadamard is shared by all layers."""
    k_source, v_source = get_model().int2_k_rotation, get_model().int2_v_rotation
    if k_source == v_source == "none":
        return [None] * len(layers)
    k, v = _matrices(k_source, layers, layout.k_dim, device), _matrices(v_source, layers, layout.v_dim, device)
    shared: dict[tuple[int, int], Rotation] = {}
    return [shared.setdefault((id(k[i]), id(v[i])), Rotation(k[i], v[i])) for i in layers]


def _matrices(source: str, layers: list[int], dim: int, device: Any) -> dict[int, torch.Tensor]:
    if source in ("hadamard", "none"):
        matrix = hadamard(dim, device) if source == "hadamard" else torch.eye(dim, device=device)
        return dict.fromkeys(layers, matrix)
    found = load_rotations(source, dim, device)
    missing = [layer for layer in layers if layer not in found]
    if missing:
        raise ValueError(
            f"rotation file `{source}` has no layer {missing[0]}; this model's attention layers are {layers}"
        )
    return found


def pool_class(kvc: Any, usual: Any) -> Any:
    """What to build for this rank's attention layers: ``usual`` unless the dtype is int2."""
    if kvc.kv_cache_dtype_str != "int2":
        return usual
    refuse_layers(kvc.model)
    return functools.partial(Int2TokenToKVPool, plan=plan(kvc, rotations=True))


def refuse_layers(model: Any) -> None:
    """Refuse by name what attention layers of this model need and the kernels do not have."""
    from sglang.srt.layers.radix_attention import AttentionType, RadixAttention

    for layer in model.modules() if model is not None else ():
        if not isinstance(layer, RadixAttention):
            continue
        wants = {
            "a logit soft cap": bool(layer.logit_cap),
            "sliding-window attention": layer.sliding_window_size is not None and layer.sliding_window_size > -1,
            "cross attention": layer.is_cross_attention,
            f"{layer.attn_type} attention": layer.attn_type != AttentionType.DECODER,
            "length-scaled logits": layer.xai_temperature_len > 0,
        }
        for name, wanted in wants.items():
            if wanted:
                raise ValueError(f"--kv-cache-dtype int2 does not serve {name} (layer {layer.layer_id}).")


class RowBudget:
    """What `DefaultPoolConfigurator` has to know about int2: bytes for each token, and bytes that come before any token."""

    def __init__(self, kvc: Any) -> None:
        self.plan = plan(kvc)
        self.layers = len(layer_ids(kvc))

    @property
    def cell_bytes(self) -> int:
        """Bytes of one token in all layers of this rank."""
        return self.plan.bytes_per_slot(self.layers) if self.layers else 0

    def tokens(self, available: int, page_size: int) -> int:
        """Tokens that fit into ``available`` bytes together with their rows and the page that takes padding."""
        cell = self.cell_bytes
        tokens = (available - self.plan.bytes_of_rows(self.layers, self.plan.row_limit + 1)) // cell - page_size
        if tokens + page_size <= self.plan.row_limit:  # then every slot has a row
            slots = available // (cell + self.plan.bytes_of_rows(self.layers, 1))
            tokens = min(slots, self.plan.row_limit) - page_size
        rows = self.plan.bytes_of_rows(self.layers, max(tokens, 0) + page_size)
        if rows > available // 4:
            logger.warning(
                "16-bit rows of the int2 KV cache take %.2f of %.2f GB. To shrink them, lower --max-running-requests, "
                "--int2-window-tokens or --int2-sink-tokens.", rows / (1 << 30), available / (1 << 30),
            )  # fmt: skip
        return max(tokens, 0)


def row_budget(kvc: Any) -> RowBudget | None:
    """The budget's view of int2, or None for any other dtype."""
    return RowBudget(kvc) if kvc.kv_cache_dtype_str == "int2" else None
