"""Quantise K and V of new tokens and store them into their slots, in one kernel."""
# ruff: noqa: RUF005 -- Triton has no starred tuples

from __future__ import annotations

import torch
import triton
import triton.language as tl

from . import torch_path
from .decode_stage import overlaps
from .layout import MAX_ABS, Int2Layout
from .rotation import Rotation

LIMIT = tl.constexpr(MAX_ABS)


@triton.jit
def load_run(x_at, rot_ptr, x, J: tl.constexpr, DIM: tl.constexpr, PAD: tl.constexpr, DIM_PAD: tl.constexpr,
             ROTATE: tl.constexpr, ok):  # fmt: skip
    """Channels of code position J, rotated if asked: fp32[BLOCK, PAD], NaN read as zero."""
    WIDTH: tl.constexpr = DIM // 8
    column = tl.arange(0, PAD)
    if ROTATE:
        inner = tl.arange(0, DIM_PAD)
        matrix = tl.load(
            rot_ptr + inner[:, None] * DIM + (J * WIDTH + column)[None, :],
            mask=(inner < DIM)[:, None] & (column < WIDTH)[None, :], other=0.0,
        )  # fmt: skip
        run = tl.dot(x, matrix)
    else:
        inside = ok[:, None] & (column < WIDTH)[None, :]
        run = tl.load(x_at[:, None] + (J * WIDTH + column)[None, :], mask=inside, other=0.0).to(tl.float32)
    return tl.where(run == run, run, 0.0)


@triton.jit
def group_range(runs, G: tl.constexpr, WIDTH: tl.constexpr, GROUP: tl.constexpr, PAD: tl.constexpr,
                BLOCK: tl.constexpr, clip):  # fmt: skip
    """Scale and zero fp32[BLOCK] of group G, rounded to fp16 as they will be stored."""
    column = tl.arange(0, PAD)
    low = tl.full([BLOCK], float("inf"), tl.float32)
    high = tl.full([BLOCK], float("-inf"), tl.float32)
    for j in tl.static_range(8):
        if overlaps(j, G, WIDTH, GROUP):
            channel = j * WIDTH + column
            inside = ((column < WIDTH) & (channel >= G * GROUP) & (channel < (G + 1) * GROUP))[None, :]
            low = tl.minimum(low, tl.min(tl.where(inside, runs[j], float("inf")), 1))
            high = tl.maximum(high, tl.max(tl.where(inside, runs[j], float("-inf")), 1))
    # Codes saturate by themselves, so it is enough to bound the range.
    low, high = tl.maximum(tl.minimum(low, LIMIT), -LIMIT), tl.maximum(tl.minimum(high, LIMIT), -LIMIT)
    half = (high - low) * 0.5 * clip
    zero = ((low + high) * 0.5 - half).to(tl.float16).to(tl.float32)
    return (half * (2.0 / 3.0)).to(tl.float16).to(tl.float32), zero


@triton.jit
def store_half(
    x_at, rot_ptr, words_at, ok, clip, meta, meta_first: tl.constexpr,
    DIM: tl.constexpr, GROUP: tl.constexpr, GROUPS: tl.constexpr, PAD: tl.constexpr, DIM_PAD: tl.constexpr,
    META: tl.constexpr, BLOCK: tl.constexpr, ROTATE: tl.constexpr,
):  # fmt: skip
    """Store the codes of K or of V; returns `meta` with their scales and zeros filled in."""
    WIDTH: tl.constexpr = DIM // 8
    column = tl.arange(0, PAD)
    word_m = tl.arange(0, META)
    x = 0.0
    if ROTATE:
        inner = tl.arange(0, DIM_PAD)
        x = tl.load(x_at[:, None] + inner[None, :], mask=ok[:, None] & (inner < DIM)[None, :], other=0.0)
    runs = ()
    for j in tl.static_range(8):
        runs = runs + (load_run(x_at, rot_ptr, x, j, DIM, PAD, DIM_PAD, ROTATE, ok),)
    ranges = ()
    for g in tl.static_range(GROUPS):
        scale, zero = group_range(runs, g, WIDTH, GROUP, PAD, BLOCK, clip)
        ranges = ranges + ((scale, zero),)
        meta = tl.where(word_m[None, :] == meta_first + g, scale[:, None], meta)
        meta = tl.where(word_m[None, :] == meta_first + GROUPS + g, zero[:, None], meta)
    words = tl.zeros([BLOCK, PAD], tl.int32)
    for j in tl.static_range(8):
        for g in tl.static_range(GROUPS):
            if overlaps(j, g, WIDTH, GROUP):
                scale, zero = ranges[g]
                per_scale = tl.where(scale > 0, 1.0 / scale, 0.0)
                level = tl.minimum(tl.maximum((runs[j] - zero[:, None]) * per_scale[:, None] + 0.5, 0.0), 3.0)
                channel = j * WIDTH + column
                inside = (channel >= g * GROUP) & (channel < (g + 1) * GROUP)
                level = tl.where(inside[None, :] & (scale > 0)[:, None], level, 0.0)
                words += level.to(tl.int32) << (2 * j)
    tl.store(words_at[:, None] + column[None, :], words.to(tl.int16), mask=ok[:, None] & (column < WIDTH)[None, :])
    return meta


@triton.jit
def store_stage(
    k_ptr, v_ptr, k_rot_ptr, v_rot_ptr, loc_ptr, pool_ptr, tokens, clip,
    k_token, k_head, v_token, v_head,
    KV_HEADS: tl.constexpr, K_DIM: tl.constexpr, V_DIM: tl.constexpr, K_GROUP: tl.constexpr, V_GROUP: tl.constexpr,
    K_GROUPS: tl.constexpr, V_GROUPS: tl.constexpr, K_PAD: tl.constexpr, V_PAD: tl.constexpr,
    META: tl.constexpr, ROW: tl.constexpr, K_DIM_PAD: tl.constexpr, V_DIM_PAD: tl.constexpr,
    BLOCK: tl.constexpr, ROTATE: tl.constexpr,
):  # fmt: skip
    """One block of tokens of one head: codes and scales of K and V."""
    V_AT: tl.constexpr = KV_HEADS * (K_DIM // 8)
    META_AT: tl.constexpr = V_AT + KV_HEADS * (V_DIM // 8)
    META_WORDS: tl.constexpr = 2 * (K_GROUPS + V_GROUPS)
    head = tl.program_id(0)
    token = tl.program_id(1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    slot = tl.load(loc_ptr + token, mask=token < tokens, other=-1).to(tl.int64)
    ok = slot >= 0
    row = pool_ptr + slot * ROW
    meta = tl.zeros([BLOCK, META], tl.float32)
    meta = store_half(
        k_ptr + token * k_token + head * k_head, k_rot_ptr, row + head * (K_DIM // 8), ok, clip, meta, 0,
        K_DIM, K_GROUP, K_GROUPS, K_PAD, K_DIM_PAD, META, BLOCK, ROTATE,
    )  # fmt: skip
    meta = store_half(
        v_ptr + token * v_token + head * v_head, v_rot_ptr, row + V_AT + head * (V_DIM // 8), ok, clip, meta,
        2 * K_GROUPS, V_DIM, V_GROUP, V_GROUPS, V_PAD, V_DIM_PAD, META, BLOCK, ROTATE,
    )  # fmt: skip
    word_m = tl.arange(0, META)
    tl.store(
        (row + META_AT + head * META_WORDS)[:, None] + word_m[None, :], meta.to(tl.float16).to(tl.int16, bitcast=True),
        mask=ok[:, None] & (word_m < META_WORDS)[None, :],
    )  # fmt: skip


def store(
    k: torch.Tensor, v: torch.Tensor, loc: torch.Tensor, pool: torch.Tensor, layout: Int2Layout, *,
    rotation: Rotation | None = None, clip: float = 1.0, impl: str = "triton",
) -> None:  # fmt: skip
    """Quantise k[n, kv_heads, k_dim] and v[n, kv_heads, v_dim] into `pool[loc]`; a negative slot is skipped.

    With `rotation` each head is rotated first, inside the kernel, in k's type with fp32 sums. `clip` in (0, 1] keeps
    that
    fraction of each group's range about its middle. NaN is stored as 0, values beyond ±6000 saturate. Raises
    `ValueError` for shapes that do not fit.
    """
    layout.check_pool(pool)
    tokens = k.shape[0]
    if k.shape[1:] != (layout.kv_heads, layout.k_dim) or v.shape != (tokens, layout.kv_heads, layout.v_dim):
        raise ValueError(f"`k` {list(k.shape)} and `v` {list(v.shape)} do not fit {layout}")
    if k.stride(-1) != 1 or v.stride(-1) != 1 or loc.shape != (tokens,):
        raise ValueError("`k` and `v` need dense channels, `loc` one slot per token")
    if not 0.0 < clip <= 1.0:
        raise ValueError(f"`clip` {clip} is not in (0, 1]")
    if tokens == 0:
        return
    if impl == "torch":
        torch_path.store(k, v, loc, pool, layout, rotation, clip)
        return
    power = triton.next_power_of_2
    block = 64 if rotation is not None else 16
    turn_k, turn_v = rotation.in_type(k.dtype) if rotation else (k, v)
    store_stage[(layout.kv_heads, triton.cdiv(tokens, block))](
        k, v, turn_k, turn_v, loc, pool, tokens, clip,
        k.stride(0), k.stride(1), v.stride(0), v.stride(1), **layout.constants(),
        K_DIM_PAD=power(layout.k_dim), V_DIM_PAD=power(layout.v_dim), BLOCK=block, ROTATE=rotation is not None,
        num_warps=4 if rotation is not None else 2,
    )  # fmt: skip
