"""Quantise K and V of new tokens and store them into their slots, in one kernel."""
# ruff: noqa: RUF005 -- Triton has no starred tuples

from __future__ import annotations

import functools

import torch
import triton
import triton.language as tl

from . import torch_path
from .bits import PACKED
from .decode_stage import fills, overlaps
from .layout import MAX_ABS, Int2Layout
from .rotation import Rotation

LIMIT = tl.constexpr(MAX_ABS)
ROUNDER = tl.constexpr(1.5 * 2.0**23)
"""Added to a small fp32 number it leaves that number, rounded, in the lowest bits, and no other among the last 16."""
TIE = tl.constexpr(2.0**-22)
"""Halves go up, as in `naive`."""
PLAIN, DENSE, WALSH = 0, 1, 2
"""What `TURN` says: no rotation, a full matrix, or Walsh-Hadamard as sums of eight runs that a small matrix turned."""

CUTS: dict[int, tuple[int, int, int, int | None]] = {
    PLAIN: (16, 2, 1, None), DENSE: (128, 8, 3, None), WALSH: (32, 2, 1, None),
}  # fmt: skip
"""Tokens per program, its warps, pipeline stages over the matrix, and a limit on registers per thread."""
INNER = tl.constexpr(64)
"""Rows of a full matrix that one step multiplies: the program is half done with one when the next arrives."""


@triton.jit
def in_group(J: tl.constexpr, G: tl.constexpr, WIDTH: tl.constexpr, GROUP: tl.constexpr, PAD: tl.constexpr):
    """Which columns of run J are channels of group G: bool[1, PAD]."""
    column = tl.arange(0, PAD)
    channel = J * WIDTH + column
    return ((column < WIDTH) & (channel >= G * GROUP) & (channel < (G + 1) * GROUP))[None, :]


@triton.jit
def plain_runs(x_at, ok, WIDTH: tl.constexpr, PAD: tl.constexpr):
    """Eight runs fp32[BLOCK, PAD] of channels as they are, NaN as zero."""
    column = tl.arange(0, PAD)
    runs = ()
    for j in tl.static_range(8):
        inside = ok[:, None] & (column < WIDTH)[None, :]
        run = tl.load(x_at[:, None] + (j * WIDTH + column)[None, :], mask=inside, other=0.0).to(tl.float32)
        runs = runs + (tl.where(run == run, run, 0.0),)
    return runs


@triton.jit
def eight(z, BLOCK: tl.constexpr, WIDTH: tl.constexpr):
    """z[BLOCK, WIDTH, 8] as eight runs [BLOCK, WIDTH]; costs nothing where one thread holds all eight."""
    even, odd = tl.split(tl.reshape(z, (BLOCK, WIDTH, 4, 2)))
    even_0, even_1 = tl.split(tl.reshape(even, (BLOCK, WIDTH, 2, 2)))
    odd_0, odd_1 = tl.split(tl.reshape(odd, (BLOCK, WIDTH, 2, 2)))
    run_0, run_4 = tl.split(even_0)
    run_2, run_6 = tl.split(even_1)
    run_1, run_5 = tl.split(odd_0)
    run_3, run_7 = tl.split(odd_1)
    return (run_0, run_1, run_2, run_3, run_4, run_5, run_6, run_7)


@triton.jit
def dense_runs(x_at, rot_ptr, ok, STAGES: tl.constexpr, DIM: tl.constexpr, PAD: tl.constexpr, DIM_PAD: tl.constexpr,
               BLOCK: tl.constexpr):  # fmt: skip
    """Eight runs of heads times a full matrix. NaN anywhere in a head leaves NaN everywhere in it."""
    WIDTH: tl.constexpr = DIM // 8
    inner = tl.arange(0, DIM_PAD)
    if PAD == WIDTH:
        part = tl.arange(0, INNER)
        y = tl.zeros([BLOCK, DIM], tl.float32)
        for at in tl.range(0, DIM, INNER, num_stages=STAGES):
            x = tl.load(x_at[:, None] + (at + part)[None, :], mask=ok[:, None], other=0.0)
            y = tl.dot(x, tl.load(rot_ptr + (at + part)[:, None] * DIM + inner[None, :]), y)
        # The product's layout has channels c, c + DIM/8, ... in one thread.
        runs = eight(tl.permute(tl.reshape(y, (BLOCK, 8, WIDTH)), (0, 2, 1)), BLOCK, WIDTH)
    else:
        column = tl.arange(0, PAD)
        x = tl.load(x_at[:, None] + inner[None, :], mask=ok[:, None] & (inner < DIM)[None, :], other=0.0)
        runs = ()
        for j in tl.static_range(8):
            matrix = tl.load(
                rot_ptr + inner[:, None] * DIM + (j * WIDTH + column)[None, :],
                mask=(inner < DIM)[:, None] & (column < WIDTH)[None, :], other=0.0,
            )  # fmt: skip
            runs = runs + (tl.dot(x, matrix),)
    return runs


@triton.jit
def walsh_runs(x_ptr, x_token, rot_ptr, first, tokens, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    """Eight runs of heads times signs: H(8) over runs and H(WIDTH) within them; DIM**0.5 times too large.

    Rows of the product are runs, position first, so that one thread gets all eight positions of its channels and H(8)
    is sums of registers.
    """
    column = tl.arange(0, WIDTH)
    row = tl.arange(0, 8 * BLOCK)
    token = first + row % BLOCK
    small = tl.load(rot_ptr + column[:, None] * WIDTH + column[None, :])
    x = tl.load(
        x_ptr + (token * x_token + row // BLOCK * WIDTH)[:, None] + column[None, :],
        mask=(token < tokens)[:, None], other=0.0,
    )  # fmt: skip
    runs = eight(tl.permute(tl.reshape(tl.dot(x, small), (8, BLOCK, WIDTH)), (1, 2, 0)), BLOCK, WIDTH)
    for stride in tl.static_range(3):
        mixed = ()
        for j in tl.static_range(8):
            if j // 2**stride % 2 == 0:
                mixed = mixed + (runs[j] + runs[j + 2**stride],)
            else:
                mixed = mixed + (runs[j - 2**stride] - runs[j],)
        runs = mixed
    return runs


@triton.jit
def bounds_of(run, J: tl.constexpr, G: tl.constexpr, WIDTH: tl.constexpr, GROUP: tl.constexpr, PAD: tl.constexpr):
    """Run J twice: where it has no channel of group G as infinity, and as minus infinity."""
    if fills(J, G, WIDTH, GROUP, PAD):
        return run, run
    inside = in_group(J, G, WIDTH, GROUP, PAD)
    return tl.where(inside, run, float("inf")), tl.where(inside, run, float("-inf"))


@triton.jit
def group_range(runs, G: tl.constexpr, WIDTH: tl.constexpr, GROUP: tl.constexpr, PAD: tl.constexpr,
                UNIT: tl.constexpr, clip):  # fmt: skip
    """Scale and zero fp32[BLOCK] of group G of runs times UNIT, rounded to fp16 as they will be stored."""
    FIRST: tl.constexpr = G * GROUP // WIDTH
    low, high = bounds_of(runs[FIRST], FIRST, G, WIDTH, GROUP, PAD)
    for j in tl.static_range(FIRST + 1, 8):
        if overlaps(j, G, WIDTH, GROUP):
            least, most = bounds_of(runs[j], j, G, WIDTH, GROUP, PAD)
            low, high = tl.minimum(low, least), tl.maximum(high, most)
    bottom, ceiling = tl.min(low, 1) * UNIT, tl.max(high, 1) * UNIT
    some = bottom <= ceiling  # minima pass over NaN; a head of nothing else is zero
    # Codes saturate by themselves, so it is enough to bound the range.
    bottom = tl.where(some, tl.maximum(tl.minimum(bottom, LIMIT), -LIMIT), 0.0)
    ceiling = tl.where(some, tl.maximum(tl.minimum(ceiling, LIMIT), -LIMIT), 0.0)
    half = (ceiling - bottom) * 0.5 * clip
    zero = ((bottom + ceiling) * 0.5 - half).to(tl.float16).to(tl.float32)
    return (half * (2.0 / 3.0)).to(tl.float16).to(tl.float32), zero


@triton.jit
def saturate(x, slope, offset):
    """`x * slope + offset` within 0...1, zero for NaN: one instruction."""
    if not PACKED:
        return tl.minimum(tl.maximum(x * slope + offset, 0.0), 1.0)
    return tl.inline_asm_elementwise(
        "fma.rn.sat.f32 $0, $1, $2, $3;", "=r,r,r,r", [x, slope, offset], dtype=tl.float32, is_pure=True, pack=1
    )


@triton.jit
def write_codes(
    runs, words_at, meta_at, ok, clip,
    DIM: tl.constexpr, GROUP: tl.constexpr, GROUPS: tl.constexpr, PAD: tl.constexpr, META: tl.constexpr,
    BLOCK: tl.constexpr, UNIT: tl.constexpr,
):  # fmt: skip
    """Store codes, scales and zeros of eight runs times UNIT."""
    WIDTH: tl.constexpr = DIM // 8
    column = tl.arange(0, PAD)
    word_m = tl.arange(0, META)
    meta = tl.zeros([BLOCK, META], tl.float32)
    lines = ()
    for g in tl.static_range(GROUPS):
        scale, zero = group_range(runs, g, WIDTH, GROUP, PAD, UNIT, clip)
        meta = tl.where(word_m[None, :] == g, scale[:, None], meta)
        meta = tl.where(word_m[None, :] == GROUPS + g, zero[:, None], meta)
        third = tl.where(scale > 0, (1.0 / 3.0) / scale, 0.0)
        offset = tl.where(scale > 0, TIE - zero * third, 0.0)
        lines = lines + (((third * UNIT)[:, None], offset[:, None]),)
    words = tl.zeros([BLOCK, PAD], tl.int32)
    for j in tl.static_range(8):
        level = tl.zeros([BLOCK, PAD], tl.float32)
        for g in tl.static_range(GROUPS):
            if overlaps(j, g, WIDTH, GROUP):
                third_of_code = saturate(runs[j], lines[g][0], lines[g][1])
                if fills(j, g, WIDTH, GROUP, PAD):
                    level = third_of_code
                else:
                    level = tl.where(in_group(j, g, WIDTH, GROUP, PAD), third_of_code, level)
        words += (level * 3.0 + ROUNDER).to(tl.int32, bitcast=True) << (2 * j)
    tl.store(words_at[:, None] + column[None, :], words.to(tl.int16), mask=ok[:, None] & (column < WIDTH)[None, :])
    tl.store(
        meta_at[:, None] + word_m[None, :], meta.to(tl.float16).to(tl.int16, bitcast=True),
        mask=ok[:, None] & (word_m < 2 * GROUPS)[None, :],
    )  # fmt: skip


@triton.jit
def store_half(
    x_ptr, x_token, rot_ptr, words_at, meta_at, ok, first, tokens, clip,
    DIM: tl.constexpr, GROUP: tl.constexpr, GROUPS: tl.constexpr, PAD: tl.constexpr, DIM_PAD: tl.constexpr,
    META: tl.constexpr, BLOCK: tl.constexpr, TURN: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Store one half of what `store_stage` stores. NaN is read as zero."""
    WIDTH: tl.constexpr = DIM // 8
    x_at = x_ptr + (first + tl.arange(0, BLOCK)) * x_token
    if TURN == 2:
        runs = walsh_runs(x_ptr, x_token, rot_ptr, first, tokens, WIDTH, BLOCK)
        write_codes(runs, words_at, meta_at, ok, clip, DIM, GROUP, GROUPS, WIDTH, META, BLOCK, DIM**-0.5)
    elif TURN == 1:
        runs = dense_runs(x_at, rot_ptr, ok, STAGES, DIM, PAD, DIM_PAD, BLOCK)
        write_codes(runs, words_at, meta_at, ok, clip, DIM, GROUP, GROUPS, PAD, META, BLOCK, 1.0)
    else:
        runs = plain_runs(x_at, ok, WIDTH, PAD)
        write_codes(runs, words_at, meta_at, ok, clip, DIM, GROUP, GROUPS, PAD, META, BLOCK, 1.0)


@triton.jit
def store_stage(
    k_ptr, v_ptr, k_rot_ptr, v_rot_ptr, loc_ptr, pool_ptr, tokens, clip,
    k_token, k_head, v_token, v_head,
    KV_HEADS: tl.constexpr, K_DIM: tl.constexpr, V_DIM: tl.constexpr, K_GROUP: tl.constexpr, V_GROUP: tl.constexpr,
    K_GROUPS: tl.constexpr, V_GROUPS: tl.constexpr, K_PAD: tl.constexpr, V_PAD: tl.constexpr,
    META: tl.constexpr, ROW: tl.constexpr, TILE: tl.constexpr, RECORD: tl.constexpr,
    K_DIM_PAD: tl.constexpr, V_DIM_PAD: tl.constexpr, BLOCK: tl.constexpr, TURN: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """K or V of one block of tokens of one head."""
    K_WIDTH: tl.constexpr = K_DIM // 8
    V_WIDTH: tl.constexpr = V_DIM // 8
    V_AT: tl.constexpr = TILE * K_WIDTH
    META_AT: tl.constexpr = V_AT + TILE * V_WIDTH
    head = tl.program_id(0)
    first = tl.program_id(1).to(tl.int64) * BLOCK
    token = first + tl.arange(0, BLOCK)
    slot = tl.load(loc_ptr + token, mask=token < tokens, other=-1).to(tl.int64)
    ok = slot >= 0
    record = pool_ptr + slot * ROW + head // TILE * RECORD
    meta = record + META_AT + head % TILE * (2 * (K_GROUPS + V_GROUPS))
    if tl.program_id(2) == 0:
        store_half(
            k_ptr + head * k_head, k_token, k_rot_ptr, record + head % TILE * K_WIDTH, meta, ok, first, tokens, clip,
            K_DIM, K_GROUP, K_GROUPS, K_PAD, K_DIM_PAD, META, BLOCK, TURN, STAGES,
        )  # fmt: skip
    else:
        store_half(
            v_ptr + head * v_head, v_token, v_rot_ptr, record + V_AT + head % TILE * V_WIDTH, meta + 2 * K_GROUPS,
            ok, first, tokens, clip,
            V_DIM, V_GROUP, V_GROUPS, V_PAD, V_DIM_PAD, META, BLOCK, TURN, STAGES,
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
    block, warps, stages, registers = CUTS[turn]
    if turn == DENSE and shared_memory(k.device) < 160 << 10:  # three stages take 144 KiB at 256 channels, two 96
        stages = min(stages, 2)
    if turn == WALSH and registers is None and max(layout.k_dim, layout.v_dim) > 128:
        registers = 168  # six programs on a multiprocessor instead of four; narrower heads take less anyway
    store_stage[(layout.kv_heads, triton.cdiv(tokens, block), 2)](
        k, v, k_matrix, v_matrix, loc, pool, tokens, clip,
        k.stride(0), k.stride(1), v.stride(0), v.stride(1),
        **layout.constants() | {"META": power(2 * max(layout.k_groups, layout.v_groups))},
        K_DIM_PAD=power(layout.k_dim), V_DIM_PAD=power(layout.v_dim), BLOCK=block, TURN=turn, STAGES=stages,
        num_warps=warps, maxnreg=registers,
    )  # fmt: skip


@functools.cache
def shared_memory(device: torch.device) -> int:
    """Bytes of shared memory that one program may take; 0 on the CPU."""
    if device.type != "cuda":
        return 0
    return int(triton.runtime.driver.active.utils.get_device_properties(device.index or 0)["max_shared_mem"])
