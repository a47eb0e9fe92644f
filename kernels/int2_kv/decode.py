"""Decode attention over the packed pool: one query token per sequence."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import torch

from . import torch_path
from .decode_stage import decode_stage
from .features import refuse
from .layout import Int2Layout
from .merge import launch_merge, starts_early
from .rotation import Rotation
from .rows import RowTable, launch_rows

RESIDENT = {32: 8, 16: 12}
"""Programs that a multiprocessor's registers hold, by tokens per step (240 and 168 a thread)."""
ALONE = {32: 4, 16: 8}
"""Programs per multiprocessor for a single sequence: past that the merge costs what more splits save."""
CONSTANTS = 5 << 10
"""Bytes of shared memory that a program takes at most beside its tokens: queries, and what the driver keeps."""


@dataclass(frozen=True)
class Card:
    """Multiprocessors, and bytes of shared memory that one has."""

    processors: int
    shared: int


@dataclass(frozen=True)
class DecodePlan:
    """How a batch is cut up. Depends on nothing that changes between replays of a CUDA graph.

    `splits` per sequence at most, of at least `least` tokens; `block` tokens per step, of which `stages` are in flight
    or at work; `maxnreg` registers per thread.
    """

    splits: int
    block: int = 32
    least: int = 32
    stages: int = 3
    maxnreg: int | None = None


def plan(batch: int, layout: Int2Layout, heads: int, card: Card) -> DecodePlan:
    """One wave of programs for `batch` sequences.

    Longer rows (four tiles or more) are read best in steps of 16 tokens, by more programs; so is every row where shared
    memory is short of eight programs in steps of 32.
    """
    tiles = layout.tiles(heads // layout.kv_heads)
    block = 16 if tiles >= 4 or fitting(32, layout, heads, card) < RESIDENT[32] else 32
    resident = min((ALONE if batch == 1 else RESIDENT)[block], fitting(block, layout, heads, card))
    splits = min(2 * card.processors, resident * card.processors // (batch * tiles))
    return DecodePlan(splits=max(1, splits), block=block)


@functools.cache
def card_of(device: torch.device) -> Card:
    """The card of a device; one small multiprocessor for the CPU, where Triton is interpreted."""
    if device.type != "cuda":
        return Card(1, 0)
    found = torch.cuda.get_device_properties(device)
    return Card(found.multi_processor_count, found.shared_memory_per_multiprocessor)


def fitting(block: int, layout: Int2Layout, heads: int, card: Card) -> int:
    """Programs in steps of `block` tokens that shared memory holds, in whole fours.

    A multiprocessor has four schedulers: nine or ten programs are slower than eight.
    """
    sizes = layout.constants(layout.heads_per_tile(heads // layout.kv_heads))
    words = sizes["K_PAD"] + sizes["V_PAD"] + sizes["META"]
    return max(4, card.shared // (2 * DecodePlan.stages * block * words + CONSTANTS) // 4 * 4)


def workspace(
    batch: int, heads: int, layout: Int2Layout, splits: int, rows: RowTable | None, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    """Partial outputs fp32[parts, batch, heads, v_dim] and log-sum-exps fp32[batch, heads, parts]."""
    parts = splits + (rows.parts() + 1 if rows is not None else 0)
    mid = torch.empty(parts, batch, heads, layout.v_dim, dtype=torch.float32, device=device)
    return mid, torch.empty(batch, heads, parts, dtype=torch.float32, device=device)


def launch_stage(
    q: torch.Tensor, pool: torch.Tensor, indptr: torch.Tensor, indices: torch.Tensor, layout: Int2Layout,
    sm_scale: float, cut: DecodePlan, mid: torch.Tensor, lse: torch.Tensor, rows: RowTable | None = None,
) -> None:  # fmt: skip
    """Write `cut.splits` partial results for q[batch, heads, k_dim] (any float type) into mid and lse."""
    batch, heads, _ = q.shape
    share = heads // layout.kv_heads
    join = layout.heads_per_tile(share)
    decode_stage[(layout.tiles(share), cut.splits, batch)](
        q, pool, indptr, indices, rows.row_of_slot if rows else indices, mid, lse, sm_scale,
        batch * heads, lse.stride(1), pool.shape[0] - 1,
        rows.sink if rows else 0, rows.window if rows else 0, cut.splits, cut.least,
        **layout.constants(join), SHARE=share, JOIN=join, HAS_ROWS=rows is not None, BLOCK=cut.block, STAGES=cut.stages,
        EARLY=starts_early(q.device), num_warps=1, maxnreg=cut.maxnreg,
    )  # fmt: skip


def decode(
    q: torch.Tensor, pool: torch.Tensor, indptr: torch.Tensor, indices: torch.Tensor, layout: Int2Layout,
    sm_scale: float, *, rotation: Rotation | None = None, rows: RowTable | None = None,
    out: torch.Tensor | None = None, cut: DecodePlan | None = None, impl: str = "triton",
    logit_cap: float | None = None, sinks: object | None = None, sliding_window: int | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """Attention of q[batch, heads, k_dim] over `indices[indptr[b]:indptr[b+1]]` of the pool.

    `indptr` int32 or int64 [batch + 1], `indices` int64 token slots (a page is a run of them), `pool` as
    `Int2Layout.allocate` makes it. `rotation` is the one that the pool was written with. Returns the output [batch,
    heads, v_dim] in q's type (in `out` if given) and the log-sum-exp fp32 [batch, heads], base 2; zero and -inf for an
    empty sequence. `impl` is "triton" or "torch"; nothing switches by itself. Raises `UnsupportedFeature` for the last
    three, `ValueError` for shapes that do not fit.
    """
    refuse(logit_cap=logit_cap, sinks=sinks, sliding_window=sliding_window)
    layout.check_pool(pool)
    batch, heads, k_dim = q.shape
    if not sm_scale > 0:
        raise ValueError(f"`sm_scale` {sm_scale} must be positive")
    if k_dim != layout.k_dim or heads % layout.kv_heads:
        raise ValueError(f"`q` {list(q.shape)} does not fit {layout}")
    if out is None:
        out = torch.empty(batch, heads, layout.v_dim, dtype=q.dtype, device=q.device)
    if impl == "torch":
        return torch_path.decode(q, pool, indptr, indices, layout, sm_scale, rotation, rows, out)
    q = q.contiguous()
    turned = rotation.rotate_query(q) if rotation else q
    cut = cut or plan(batch, layout, heads, card_of(q.device))
    mid, lse = workspace(batch, heads, layout, cut.splits, rows, q.device)
    lse_out = torch.empty(batch, heads, dtype=torch.float32, device=q.device)
    launch_stage(turned, pool, indptr, indices, layout, sm_scale, cut, mid, lse, rows)
    if rotation is None:
        if rows is not None:
            lse[..., cut.splits] = float("-inf")
            launch_rows(q, rows, indptr, indices, sm_scale, mid[cut.splits + 1 :], lse[..., cut.splits + 1 :])
        launch_merge(mid, lse, out, lse_out)
        return out, lse_out
    packed = torch.empty(batch, heads, layout.v_dim, dtype=torch.float32, device=q.device)
    if rows is None:
        launch_merge(mid, lse, packed, lse_out)
        return out.copy_(rotation.restore_output(packed)), lse_out
    launch_merge(mid[: cut.splits], lse[..., : cut.splits], packed, lse[..., cut.splits])
    torch.matmul(packed, rotation.v.T, out=mid[cut.splits])
    launch_rows(q, rows, indptr, indices, sm_scale, mid[cut.splits + 1 :], lse[..., cut.splits + 1 :])
    launch_merge(mid[cut.splits :], lse[..., cut.splits :], out, lse_out)
    return out, lse_out
