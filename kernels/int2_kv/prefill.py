"""Attention of a chunk of new tokens over a packed prefix, without ever holding the dense prefix.

The prefix is dequantised a tile at a time into one reused buffer, a library attends to the tile and returns its
log-sum-exp, and the results are merged. Dequantising costs a few percent of the attention, so queries go in blocks too:
the fp32 accumulator is then small, and the prefix is simply dequantised again for each block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from . import dense, dequantize, merge, torch_path
from .decode import card_of
from .features import refuse
from .layout import Int2Layout
from .rotation import Rotation
from .rows import RowTable

BUDGET = 56 << 20
"""Bytes that tiles and accumulators may take beyond the chunk's own tensors."""


@dataclass(frozen=True)
class PrefillPlan:
    """Queries per block and prefix tokens per tile."""

    block: int
    tile: int


def plan(layout: Int2Layout, heads: int, processors: int, budget: int = BUDGET) -> PrefillPlan:
    """Blocks that fill the card in whole waves of 128-query tiles, and the tile that the rest of the budget allows."""
    per_query = heads * (6 * layout.v_dim + 2 * layout.k_dim)
    per_token = layout.kv_heads * 2 * (layout.k_dim + layout.v_dim)
    most = max(128, (budget * 5 // 8) // per_query // 128 * 128)
    wave = max(1, processors // heads) * 128
    block = most // wave * wave if most >= wave else most
    # A power of two: cuDNN takes more workspace for tiles in between, and builds fewer plans.
    fits = max(1024, (budget - block * per_query) // per_token)
    return PrefillPlan(block, min(1 << (fits.bit_length() - 1), 16384))


def prefill(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, pool: torch.Tensor, slots: torch.Tensor, layout: Int2Layout,
    sm_scale: float, *, rotation: Rotation | None = None, rows: RowTable | None = None,
    out: torch.Tensor | None = None, cut: PrefillPlan | None = None, impl: str = "triton",
    logit_cap: float | None = None, sinks: object | None = None, sliding_window: int | None = None,
) -> torch.Tensor:  # fmt: skip
    """Causal attention of one sequence's chunk over its packed prefix and itself.

    q[m, heads, k_dim], k[m, kv_heads, k_dim], v[m, kv_heads, v_dim] in fp16 or bf16, not rotated; `slots` int64[n] are
    the prefix's
    tokens in order. Prefix tokens with a 16-bit row (`rows`) are read from it. Returns [m, heads, v_dim] in q's type,
    in
    `out` if given. `impl` is "triton" (dequantise and merge on the card, attend in cuDNN or flash) or "torch". Raises
    `UnsupportedFeature` for the last three.
    """
    refuse(logit_cap=logit_cap, sinks=sinks, sliding_window=sliding_window)
    layout.check_pool(pool)
    heads = q.shape[1]
    if out is None:
        out = torch.empty(q.shape[0], heads, layout.v_dim, dtype=q.dtype, device=q.device)
    cut = cut or plan(layout, heads, card_of(q.device).processors)
    exact = _exact(pool, slots, layout, rotation, rows, q.dtype, impl) if rows is not None else None
    packed = slots if rows is None else slots[min(rows.sink, len(slots)) : max(len(slots) - rows.window, 0)]
    for first in range(0, q.shape[0], cut.block):
        last = min(first + cut.block, q.shape[0])
        acc, lse = _over_packed(q[first:last], pool, packed, layout, sm_scale, rotation, cut.tile, impl)
        fold, engine = (torch_path.fold, "torch") if impl == "torch" else (merge.fold, None)
        mine = q[first:last]
        parts = [(*exact, False)] if exact is not None and len(exact[0]) else []
        parts += [(k[:first], v[:first], False)] if first else []
        for dense_k, dense_v, causal in [*parts, (k[first:last], v[first:last], True)]:
            fold(acc, lse, *dense.attend(mine, dense_k, dense_v, sm_scale, causal, engine))
        out[first:last] = acc
        del acc, lse  # before the next block allocates its own
    return out


def _over_packed(
    q: torch.Tensor, pool: torch.Tensor, slots: torch.Tensor, layout: Int2Layout, sm_scale: float,
    rotation: Rotation | None, tile: int, impl: str,
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """Output fp32[m, heads, v_dim], not rotated, and natural log-sum-exp of one query block over packed tokens."""
    heads = q.shape[1]
    acc = torch.empty(q.shape[0], heads, layout.v_dim, dtype=torch.float32, device=q.device)
    lse = torch.full((q.shape[0], heads), float("-inf"), dtype=torch.float32, device=q.device)
    fold, engine = (torch_path.fold, "torch") if impl == "torch" else (merge.fold, None)
    turned = q @ rotation.in_type(q.dtype)[0] if rotation else q
    size = min(tile, len(slots))
    tile_k = torch.empty(size, layout.kv_heads, layout.k_dim, dtype=q.dtype, device=q.device)
    tile_v = torch.empty(size, layout.kv_heads, layout.v_dim, dtype=q.dtype, device=q.device)
    for first in range(0, len(slots), tile):
        part = slots[first : first + tile]
        into = (tile_k[: len(part)], tile_v[: len(part)])
        tile_kv = dequantize.load(pool, part, layout, q.dtype, out=into, impl=impl)
        fold(acc, lse, *dense.attend(turned, *tile_kv, sm_scale, False, engine))
    del turned, tile_k, tile_v
    if rotation is not None and len(slots):
        acc = rotation.restore_output(acc)
    return acc, lse


def _exact(
    pool: torch.Tensor, slots: torch.Tensor, layout: Int2Layout, rotation: Rotation | None, rows: RowTable,
    dtype: torch.dtype, impl: str,
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """Dense K and V, not rotated, of the positions where a row may stand: the row, or the packed token."""
    slots = slots[rows.positions(len(slots))]
    k, v = dequantize.load(pool, slots, layout, torch.float32, impl=impl)
    if rotation is not None:
        k, v = k @ rotation.k.T, v @ rotation.v.T
    row = rows.row_of_slot[slots].long()
    has = (row >= 0)[:, None, None]
    row = row.clamp(min=0)
    return torch.where(has, rows.k[row].to(dtype), k.to(dtype)), torch.where(has, rows.v[row].to(dtype), v.to(dtype))


def extend(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, pool: torch.Tensor, indices: torch.Tensor, layout: Int2Layout,
    sm_scale: float, chunk_lens: Sequence[int], prefix_lens: Sequence[int], *, rotation: Rotation | None = None,
    rows: RowTable | None = None, out: torch.Tensor | None = None, cut: PrefillPlan | None = None,
    impl: str = "triton", **features: object,
) -> torch.Tensor:  # fmt: skip
    """`prefill` for several sequences laid end to end; `indices` holds their prefixes end to end."""
    if out is None:
        out = torch.empty(q.shape[0], q.shape[1], layout.v_dim, dtype=q.dtype, device=q.device)
    token = prefix = 0
    for chunk, length in zip(chunk_lens, prefix_lens, strict=True):
        mine = slice(token, token + chunk)
        prefill(
            q[mine], k[mine], v[mine], pool, indices[prefix : prefix + length], layout, sm_scale,
            rotation=rotation, rows=rows, out=out[mine], cut=cut, impl=impl, **features,
        )  # fmt: skip
        token, prefix = token + chunk, prefix + length
    return out
