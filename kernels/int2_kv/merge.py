"""Merging partial attention by log-sum-exp."""

from __future__ import annotations

import functools

import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_wait

TILE = 1024
"""Values that a warp of `merge_parts` holds. A program has every part of some channels, so that the merge waits for
memory once; few channels, because sums over parts that stay in a warp need no barrier.
"""


@triton.jit
def merge_parts(
    mid_ptr, lse_ptr, out_ptr, lse_out_ptr, part_stride, lse_stride, lse_out_stride, parts,
    PARTS_PAD: tl.constexpr, DIM: tl.constexpr, BLOCK: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """out[row] = sum over parts of mid[part, row] weighted by 2**lse[row, part]; an empty part is not read."""
    if EARLY:
        gdc_wait()
    row = tl.program_id(0).to(tl.int64)
    channel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    part = tl.arange(0, PARTS_PAD)
    lse = tl.load(lse_ptr + row * lse_stride + part, mask=part < parts, other=float("-inf"))
    mid = tl.load(
        mid_ptr + ((part.to(tl.int64) * part_stride)[:, None] + row) * DIM + channel[None, :],
        mask=(lse > float("-inf"))[:, None] & (channel < DIM)[None, :], other=0.0,
    )  # fmt: skip
    top = tl.maximum(tl.max(lse, 0), -1.0e30)
    weight = tl.exp2(lse - top)
    total = tl.sum(weight, 0)
    value = tl.sum(mid * weight[:, None], 0) / tl.where(total > 0, total, 1.0)
    tl.store(out_ptr + row * DIM + channel, value, mask=channel < DIM)
    if tl.program_id(1) == 0:
        tl.store(lse_out_ptr + row * lse_out_stride, tl.where(total > 0, top + tl.log2(total), float("-inf")))


def launch_merge(mid: torch.Tensor, lse: torch.Tensor, out: torch.Tensor, lse_out: torch.Tensor) -> None:
    """Merge mid fp32[parts, batch, heads, dim] with base-2 lse[batch, heads, parts].

    Into out[batch, heads, dim] and lse_out[batch, heads], which may be a column of `lse`. On Hopper its programs are
    launched while the kernel ahead still ends, and wait for that end.
    """
    parts, batch, heads, dim = mid.shape
    early = starts_early(mid.device)
    padded = triton.next_power_of_2(parts)
    block = max(16, min(triton.next_power_of_2(dim), TILE // padded))
    warps = max(1, min(8, padded * block // TILE))
    merge_parts[(batch * heads, triton.cdiv(dim, block))](
        mid, lse, out, lse_out, batch * heads, lse.stride(1), lse_out.stride(1), parts,
        PARTS_PAD=padded, DIM=dim, BLOCK=block, EARLY=early, num_warps=warps,
        **({"launch_pdl": True} if early else {}),
    )  # fmt: skip


@functools.cache
def starts_early(device: torch.device) -> bool:
    """Whether a kernel may be launched before the one ahead of it has ended: NVIDIA's Hopper and later."""
    return device.type == "cuda" and torch.version.hip is None and torch.cuda.get_device_capability(device) >= (9, 0)


@triton.jit
def merge_into(
    acc_ptr, lse_ptr, part_ptr, part_lse_ptr, rows, heads, part_row, part_head, lse_row, lse_head,
    DIM: tl.constexpr, PAD: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Fold part[row] with natural part_lse into acc[row] with natural lse, in place; row = token * heads + head."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    channel = tl.arange(0, PAD)
    ok = row < rows
    here = ok[:, None] & (channel < DIM)[None, :]
    token, head = row // heads, row % heads
    old = tl.load(lse_ptr + row, mask=ok, other=float("-inf"))
    new = tl.load(part_lse_ptr + token * lse_row + head * lse_head, mask=ok, other=float("-inf"))
    top = tl.maximum(tl.maximum(old, new), -1.0e30)
    old_weight = tl.exp(old - top)
    new_weight = tl.exp(new - top)
    total = old_weight + new_weight
    acc_at = acc_ptr + row[:, None] * DIM + channel[None, :]
    part_at = part_ptr + (token * part_row + head * part_head)[:, None] + channel[None, :]
    acc = tl.load(acc_at, mask=here & (old > float("-inf"))[:, None], other=0.0).to(tl.float32)
    part = tl.load(part_at, mask=here & (new > float("-inf"))[:, None], other=0.0).to(tl.float32)
    value = (acc * old_weight[:, None] + part * new_weight[:, None]) / tl.where(total > 0, total, 1.0)[:, None]
    tl.store(acc_at, value, mask=here)
    tl.store(lse_ptr + row, tl.where(total > 0, top + tl.log(total), float("-inf")), mask=ok)


def fold(acc: torch.Tensor, lse: torch.Tensor, part: torch.Tensor, part_lse: torch.Tensor) -> None:
    """Fold `part[m, heads, dim]`, `part_lse[m, heads]` (any strides, natural log) into `acc`, `lse` fp32 in place.

    `acc` may start uninitialised where `lse` is -inf.
    """
    tokens, heads, dim = acc.shape
    rows = 8
    merge_into[(triton.cdiv(tokens * heads, rows),)](
        acc, lse, part, part_lse, tokens * heads, heads, part.stride(0), part.stride(1),
        part_lse.stride(0), part_lse.stride(1),
        DIM=dim, PAD=triton.next_power_of_2(dim), ROWS=rows, num_warps=4,
    )  # fmt: skip
