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
PLAIN, DENSE, WALSH = 0, 1, 2
"""What `TURN` says: no rotation, a full matrix, or Walsh-Hadamard as sums of eight runs that a small matrix turned."""

CUTS: dict[int, tuple[int, int, int | None]] = {PLAIN: (16, 2, None), DENSE: (128, 8, None), WALSH: (32, 2, None)}
"""Tokens per program, its warps, and a limit on registers per thread."""


@triton.jit
def load_run(x_at, J: tl.constexpr, WIDTH: tl.constexpr, PAD: tl.constexpr, ok):
    """Channels of code position J as they are, [BLOCK, PAD], zero outside."""
    column = tl.arange(0, PAD)
    return tl.load(
        x_at[:, None] + (J * WIDTH + column)[None, :], mask=ok[:, None] & (column < WIDTH)[None, :], other=0.0
    )


@triton.jit
def dense_run(x, rot_ptr, J: tl.constexpr, DIM: tl.constexpr, PAD: tl.constexpr, DIM_PAD: tl.constexpr):
    """Rotated channels of code position J, fp32[BLOCK, PAD]; `x` holds whole heads."""
    WIDTH: tl.constexpr = DIM // 8
    column = tl.arange(0, PAD)
    inner = tl.arange(0, DIM_PAD)
    matrix = tl.load(
        rot_ptr + inner[:, None] * DIM + (J * WIDTH + column)[None, :],
        mask=(inner < DIM)[:, None] & (column < WIDTH)[None, :], other=0.0,
    )  # fmt: skip
    return tl.dot(x, matrix)


@triton.jit
def walsh_runs(x_at, rot_ptr, DIM: tl.constexpr, PAD: tl.constexpr, ok):
    """All eight runs rotated by Walsh-Hadamard: H(8) over runs and H(DIM / 8) within them, both of exact signs."""
    column = tl.arange(0, PAD)
    small = tl.load(rot_ptr + column[:, None] * PAD + column[None, :])
    given = ()  # all loads first: the products' barriers would hold back what comes after them
    for j in tl.static_range(8):
        given = given + (load_run(x_at, j, PAD, PAD, ok),)
    runs = ()
    for j in tl.static_range(8):
        runs = runs + (tl.dot(given[j], small),)
    for stride in tl.static_range(3):
        mixed = ()
        for j in tl.static_range(8):
            if j // 2**stride % 2 == 0:
                mixed = mixed + (runs[j] + runs[j + 2**stride],)
            else:
                mixed = mixed + (runs[j - 2**stride] - runs[j],)
        runs = mixed
    scaled = ()
    for j in tl.static_range(8):
        scaled = scaled + (runs[j] * (DIM**-0.5),)
    return scaled


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
    x_at, rot_ptr, words_at, meta_at, ok, clip,
    DIM: tl.constexpr, GROUP: tl.constexpr, GROUPS: tl.constexpr, PAD: tl.constexpr, DIM_PAD: tl.constexpr,
    META: tl.constexpr, BLOCK: tl.constexpr, TURN: tl.constexpr,
):  # fmt: skip
    """Store codes, scales and zeros of K or of V. NaN is read as zero."""
    WIDTH: tl.constexpr = DIM // 8
    column = tl.arange(0, PAD)
    word_m = tl.arange(0, META)
    if TURN == 2:
        given = walsh_runs(x_at, rot_ptr, DIM, PAD, ok)
    else:
        given = ()
        if TURN == 1:
            inner = tl.arange(0, DIM_PAD)
            x = tl.load(x_at[:, None] + inner[None, :], mask=ok[:, None] & (inner < DIM)[None, :], other=0.0)
        for j in tl.static_range(8):
            if TURN == 1:
                given = given + (dense_run(x, rot_ptr, j, DIM, PAD, DIM_PAD),)
            else:
                given = given + (load_run(x_at, j, WIDTH, PAD, ok).to(tl.float32),)
    runs = ()
    for j in tl.static_range(8):
        runs = runs + (tl.where(given[j] == given[j], given[j], 0.0),)
    meta = tl.zeros([BLOCK, META], tl.float32)
    ranges = ()
    for g in tl.static_range(GROUPS):
        scale, zero = group_range(runs, g, WIDTH, GROUP, PAD, BLOCK, clip)
        ranges = ranges + ((scale, zero),)
        meta = tl.where(word_m[None, :] == g, scale[:, None], meta)
        meta = tl.where(word_m[None, :] == GROUPS + g, zero[:, None], meta)
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
    tl.store(
        meta_at[:, None] + word_m[None, :], meta.to(tl.float16).to(tl.int16, bitcast=True),
        mask=ok[:, None] & (word_m < 2 * GROUPS)[None, :],
    )  # fmt: skip


@triton.jit
def store_stage(
    k_ptr, v_ptr, k_rot_ptr, v_rot_ptr, loc_ptr, pool_ptr, tokens, clip,
    k_token, k_head, v_token, v_head,
    KV_HEADS: tl.constexpr, K_DIM: tl.constexpr, V_DIM: tl.constexpr, K_GROUP: tl.constexpr, V_GROUP: tl.constexpr,
    K_GROUPS: tl.constexpr, V_GROUPS: tl.constexpr, K_PAD: tl.constexpr, V_PAD: tl.constexpr,
    META: tl.constexpr, ROW: tl.constexpr, TILE: tl.constexpr, RECORD: tl.constexpr,
    K_DIM_PAD: tl.constexpr, V_DIM_PAD: tl.constexpr, BLOCK: tl.constexpr, TURN: tl.constexpr,
):  # fmt: skip
    """K or V of one block of tokens of one head."""
    K_WIDTH: tl.constexpr = K_DIM // 8
    V_WIDTH: tl.constexpr = V_DIM // 8
    V_AT: tl.constexpr = TILE * K_WIDTH
    META_AT: tl.constexpr = V_AT + TILE * V_WIDTH
    head = tl.program_id(0)
    token = tl.program_id(1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    slot = tl.load(loc_ptr + token, mask=token < tokens, other=-1).to(tl.int64)
    ok = slot >= 0
    record = pool_ptr + slot * ROW + head // TILE * RECORD
    meta = record + META_AT + head % TILE * (2 * (K_GROUPS + V_GROUPS))
    if tl.program_id(2) == 0:
        store_half(
            k_ptr + token * k_token + head * k_head, k_rot_ptr, record + head % TILE * K_WIDTH, meta, ok, clip,
            K_DIM, K_GROUP, K_GROUPS, K_PAD, K_DIM_PAD, META, BLOCK, TURN,
        )  # fmt: skip
    else:
        store_half(
            v_ptr + token * v_token + head * v_head, v_rot_ptr, record + V_AT + head % TILE * V_WIDTH,
            meta + 2 * K_GROUPS, ok, clip, V_DIM, V_GROUP, V_GROUPS, V_PAD, V_DIM_PAD, META, BLOCK, TURN,
        )  # fmt: skip


def store(
    k: torch.Tensor, v: torch.Tensor, loc: torch.Tensor, pool: torch.Tensor, layout: Int2Layout, *,
    rotation: Rotation | None = None, clip: float = 1.0, impl: str = "triton",
) -> None:  # fmt: skip
    """Quantise k[n, kv_heads, k_dim] and v[n, kv_heads, v_dim] into `pool[loc]`; a negative slot is skipped.

    With `rotation` each head is rotated first, inside the kernel, in k's type with fp32 sums. `clip` in (0, 1] keeps
    that fraction of each group's range about its middle. NaN is stored as 0, values beyond ±6000 saturate. Raises
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
    turn = PLAIN if rotation is None else WALSH if rotation.walsh else DENSE
    k_matrix, v_matrix = k, v
    if rotation is not None:
        k_matrix, v_matrix = rotation.signs(k.dtype) if rotation.walsh else rotation.in_type(k.dtype)
    block, warps, registers = CUTS[turn]
    store_stage[(layout.kv_heads, triton.cdiv(tokens, block), 2)](
        k, v, k_matrix, v_matrix, loc, pool, tokens, clip,
        k.stride(0), k.stride(1), v.stride(0), v.stride(1),
        **layout.constants() | {"META": power(2 * max(layout.k_groups, layout.v_groups))},
        K_DIM_PAD=power(layout.k_dim), V_DIM_PAD=power(layout.v_dim), BLOCK=block, TURN=turn,
        num_warps=warps, maxnreg=registers,
    )  # fmt: skip
