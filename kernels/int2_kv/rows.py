"""The 16-bit rows of sink and recent tokens, and the decode kernel that reads them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl

from .decode_stage import may_have_row


@dataclass(frozen=True)
class RowTable:
    """Which slots have a 16-bit copy, and where.

    `row_of_slot` int32[slots], -1 for none; `k` [rows, kv_heads, k_dim] and `v` [rows, kv_heads, v_dim] fp16 or bf16,
    not rotated. Looked up only for the first `sink` and the last `window` positions of a sequence, so it
    costs nothing elsewhere; a token there without a row is read packed like any other.
    """

    row_of_slot: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    sink: int
    window: int

    def positions(self, length: int) -> torch.Tensor:
        """Positions of a sequence that may have a row, ascending, on the table's device."""
        first = min(self.sink, length)
        last = max(length - self.window, first)
        at = self.row_of_slot.device
        return torch.cat([torch.arange(first, device=at), torch.arange(last, length, device=at)])

    def parts(self) -> int:
        """Partial results per sequence that `rows_stage` writes."""
        return triton.cdiv(self.sink + self.window, ROWS_BLOCK)


ROWS_BLOCK = 64


@triton.jit
def rows_stage(
    q_ptr, k_ptr, v_ptr, row_of_slot_ptr, indptr_ptr, indices_ptr, mid_ptr, lse_ptr, sm_scale,
    part_stride, lse_stride, kv_heads, sink, window,
    SHARE: tl.constexpr, K_DIM: tl.constexpr, V_DIM: tl.constexpr, K_PAD: tl.constexpr, V_PAD: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Attention over the tokens that have a 16-bit row, one block of them per program.

    mid fp32[parts, batch, heads, v_dim] and lse[batch, heads, …] (base 2, -inf where no token has a row).
    """
    HEADS: tl.constexpr = 16
    BLOCKS: tl.constexpr = (SHARE + HEADS - 1) // HEADS
    kv_head = tl.program_id(0) // BLOCKS
    first_head = (tl.program_id(0) % BLOCKS) * HEADS
    part = tl.program_id(1)
    batch = tl.program_id(2)
    head = tl.arange(0, HEADS)
    live = first_head + head < SHARE
    row_of_head = (batch * kv_heads + kv_head) * SHARE + first_head
    at = part.to(tl.int64) * part_stride + row_of_head + head

    begin = tl.load(indptr_ptr + batch)
    length = (tl.load(indptr_ptr + batch + 1) - begin).to(tl.int32)
    first = tl.minimum(sink, length)
    nth = part * BLOCK + tl.arange(0, BLOCK)
    position = tl.where(nth < first, nth, tl.maximum(length - window, first) + nth - first)
    ok = (position < length) & may_have_row(position, length, sink, window)
    slot = tl.load(indices_ptr + begin + position, mask=ok, other=0)
    row = tl.load(row_of_slot_ptr + slot, mask=ok, other=-1)
    ok = ok & (row >= 0)
    row = tl.where(ok, row, 0).to(tl.int64)

    # Heads are the rows of both products: with 64 or more rows Triton takes `wgmma`, and 3.6 reads V past its shared
    # memory there when the first operand lies transposed.
    in_k = tl.arange(0, K_PAD)
    in_v = tl.arange(0, V_PAD)
    q = tl.load(
        q_ptr + (row_of_head + head).to(tl.int64)[:, None] * K_DIM + in_k[None, :],
        mask=(in_k < K_DIM)[None, :] & live[:, None], other=0.0,
    )  # fmt: skip
    k = tl.load(
        k_ptr + (row * kv_heads + kv_head)[None, :] * K_DIM + in_k[:, None],
        mask=ok[None, :] & (in_k < K_DIM)[:, None], other=0.0,
    )  # fmt: skip
    v = tl.load(
        v_ptr + (row * kv_heads + kv_head)[:, None] * V_DIM + in_v[None, :],
        mask=ok[:, None] & (in_v < V_DIM)[None, :], other=0.0,
    )  # fmt: skip
    s = tl.dot(q.to(k.dtype), k) * (sm_scale * 1.4426950408889634)
    s = tl.where(ok[None, :], s, float("-inf"))
    top = tl.maximum(tl.max(s, 1), -1.0e30)
    p = tl.exp2(s - top[:, None])
    total = tl.sum(p, 1)
    out = tl.dot(p.to(v.dtype), v) / tl.where(total > 0, total, 1.0)[:, None]
    tl.store(mid_ptr + (at * V_DIM)[:, None] + in_v[None, :], out, mask=(in_v < V_DIM)[None, :] & live[:, None])
    tl.store(
        lse_ptr + (row_of_head + head).to(tl.int64) * lse_stride + part,
        tl.where(total > 0, top + tl.log2(total), float("-inf")),
        mask=live,
    )


def launch_rows(
    q: torch.Tensor, rows: RowTable, indptr: torch.Tensor, indices: torch.Tensor, sm_scale: float,
    mid: torch.Tensor, lse: torch.Tensor,
) -> None:  # fmt: skip
    """Write `rows.parts()` partial results for q[batch, heads, k_dim] into mid and lse."""
    batch, heads, k_dim = q.shape
    kv_heads, v_dim = rows.v.shape[1:]
    share = heads // kv_heads
    rows_stage[(kv_heads * triton.cdiv(share, 16), rows.parts(), batch)](
        q, rows.k, rows.v, rows.row_of_slot, indptr, indices, mid, lse, sm_scale,
        batch * heads, lse.stride(1), kv_heads, rows.sink, rows.window,
        SHARE=share, K_DIM=k_dim, V_DIM=v_dim, K_PAD=triton.next_power_of_2(k_dim),
        V_PAD=triton.next_power_of_2(v_dim), BLOCK=ROWS_BLOCK, num_warps=4,
    )  # fmt: skip
