"""Packed records back to dense K and V, still in the pool's (rotated) space."""
# ruff: noqa: RUF005 -- Triton has no starred tuples

from __future__ import annotations

import torch
import triton
import triton.language as tl

from . import torch_path
from .decode_stage import overlaps
from .layout import Int2Layout


@triton.jit
def load_half(
    words_at, meta_at, out_at, ok,
    DIM: tl.constexpr, GROUP: tl.constexpr, GROUPS: tl.constexpr, PAD: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Expand K or V of a block of records into `out_at[BLOCK] + channel`."""
    WIDTH: tl.constexpr = DIM // 8
    column = tl.arange(0, PAD)
    inside = ok[:, None] & (column < WIDTH)[None, :]
    words = tl.load(words_at[:, None] + column[None, :], mask=inside, other=0).to(tl.int32)
    ranges = ()
    for g in tl.static_range(GROUPS):
        scale = tl.load(meta_at + g, mask=ok, other=0).to(tl.float16, bitcast=True).to(tl.float32)
        zero = tl.load(meta_at + GROUPS + g, mask=ok, other=0).to(tl.float16, bitcast=True).to(tl.float32)
        ranges = ranges + ((scale, zero),)
    for j in tl.static_range(8):
        code = ((words >> (2 * j)) & 3).to(tl.float32)
        value = tl.zeros([BLOCK, PAD], tl.float32)
        for g in tl.static_range(GROUPS):
            if overlaps(j, g, WIDTH, GROUP):
                scale, zero = ranges[g]
                channel = j * WIDTH + column
                here = (channel >= g * GROUP) & (channel < (g + 1) * GROUP)
                value = tl.where(here[None, :], zero[:, None] + scale[:, None] * code, value)
        tl.store(out_at[:, None] + (j * WIDTH + column)[None, :], value.to(out_at.dtype.element_ty), mask=inside)


@triton.jit
def load_stage(
    pool_ptr, indices_ptr, k_ptr, v_ptr, tokens,
    KV_HEADS: tl.constexpr, K_DIM: tl.constexpr, V_DIM: tl.constexpr, K_GROUP: tl.constexpr, V_GROUP: tl.constexpr,
    K_GROUPS: tl.constexpr, V_GROUPS: tl.constexpr, K_PAD: tl.constexpr, V_PAD: tl.constexpr,
    META: tl.constexpr, ROW: tl.constexpr, TILE: tl.constexpr, RECORD: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """One block of tokens of one head."""
    V_AT: tl.constexpr = TILE * (K_DIM // 8)
    META_AT: tl.constexpr = V_AT + TILE * (V_DIM // 8)
    META_WORDS: tl.constexpr = 2 * (K_GROUPS + V_GROUPS)
    head = tl.program_id(0)
    token = tl.program_id(1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    ok = token < tokens
    slot = tl.load(indices_ptr + token, mask=ok, other=0).to(tl.int64)
    row = pool_ptr + slot * ROW + head // TILE * RECORD
    meta = row + META_AT + head % TILE * META_WORDS
    out = token * KV_HEADS + head
    load_half(row + head % TILE * (K_DIM // 8), meta, k_ptr + out * K_DIM, ok, K_DIM, K_GROUP, K_GROUPS, K_PAD, BLOCK)
    load_half(
        row + V_AT + head % TILE * (V_DIM // 8), meta + 2 * K_GROUPS, v_ptr + out * V_DIM, ok,
        V_DIM, V_GROUP, V_GROUPS, V_PAD, BLOCK,
    )  # fmt: skip


def load(
    pool: torch.Tensor, slots: torch.Tensor, layout: Int2Layout, dtype: torch.dtype, *,
    out: tuple[torch.Tensor, torch.Tensor] | None = None, impl: str = "triton",
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """Dense k[n, kv_heads, k_dim] and v[n, kv_heads, v_dim] of `slots` int64[n], in `out` if given.

    Computed in fp32 and rounded once to `dtype`.
    """
    layout.check_pool(pool)
    if impl == "torch":
        return torch_path.load(pool, slots, layout, dtype)
    tokens = slots.shape[0]
    if out is None:
        out = (
            torch.empty(tokens, layout.kv_heads, layout.k_dim, dtype=dtype, device=pool.device),
            torch.empty(tokens, layout.kv_heads, layout.v_dim, dtype=dtype, device=pool.device),
        )
    if tokens == 0:
        return out
    block = 32
    load_stage[(layout.kv_heads, triton.cdiv(tokens, block))](
        pool, slots, out[0], out[1], tokens, **layout.constants(), BLOCK=block, num_warps=4
    )
    return out
