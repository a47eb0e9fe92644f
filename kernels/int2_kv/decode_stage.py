"""The kernel of decode: one warp walks one split of one sequence for up to eight query heads.

Tokens are the rows and query heads the eight columns of every `mma`, so that no row of the tile is padding:
`S[token, head] = codes(K) @ Q` and `O[channel, head] = codes(V)^T @ P`. Scale and zero never touch a code:

* within a group q·k = scale · (q·code) + zero · sum(q). `meta @ unit` broadcasts a token's scale over the heads in the
  layout of S, and `meta @ qsum` adds all zeros at once: one `mma` each, where a shuffle per value would be needed;
* for V the scale goes into P, and the zeros into a 16-row accumulator `meta^T @ P` that is added at the end.

`codes` are fp16 subnormals times 4**e; the powers of four go into Q, and for V into the epilogue.
"""
# ruff: noqa: RUF005 -- Triton has no starred tuples

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents

from .bits import PACKED, codes, power_of_code

# Rescaling 64 registers at every step costs more than the softmax; do it when the maximum moved by 2**4. P then stays
# under 16, and P x scale under 65504 for every scale that `MAX_ABS` allows.
SLACK = tl.constexpr(4.0)
LOWEST = tl.constexpr(-1.0e30)


@triton.constexpr_function
def overlaps(J, G, WIDTH, GROUP):
    """Whether the channels at code position J and those of group G have one in common."""
    return (J * WIDTH < (G + 1) * GROUP) and ((J + 1) * WIDTH > G * GROUP)


@triton.constexpr_function
def fills(J, G, WIDTH, GROUP, PAD):
    """Whether the run at code position J lies in group G as a whole, without padding."""
    return PAD == WIDTH and J * WIDTH >= G * GROUP and (J + 1) * WIDTH <= (G + 1) * GROUP


@triton.constexpr_function
def pair_index(J, G, WIDTH, GROUP):
    """Index of (group, position) among the pairs that overlap, groups first."""
    before = [(g, j) for g in range(G + 1) for j in range(8) if (g, j) < (G, J)]
    return sum(1 for g, j in before if j * WIDTH < (g + 1) * GROUP and (j + 1) * WIDTH > g * GROUP)


@triton.jit
def load_query(q_ptr, J: tl.constexpr, G: tl.constexpr, WIDTH: tl.constexpr, GROUP: tl.constexpr, PAD: tl.constexpr,
               HEADS: tl.constexpr, JOIN: tl.constexpr, DIM: tl.constexpr, live, member):  # fmt: skip
    """Query channels of position J that lie in group G: fp32[HEADS, PAD], zero elsewhere and for other KV heads'
    words.
    """
    word = tl.arange(0, PAD)
    head = tl.arange(0, HEADS)
    channel = J * WIDTH + word % WIDTH
    inside = (word < JOIN * WIDTH) & (channel >= G * GROUP) & (channel < (G + 1) * GROUP)
    mine = live[:, None] & (member[:, None] == (word // WIDTH)[None, :])
    return tl.load(q_ptr + head[:, None] * DIM + channel[None, :], mask=inside[None, :] & mine, other=0.0).to(
        tl.float32
    )


@triton.jit
def load_slots(at):
    """Low halves of int64 slots, in a form that the pipeliner does not take for an indirection of its own.

    It would copy every index into shared memory, once for each layout that needs it, and wait for it there.
    """
    if not PACKED:
        return tl.load(at).to(tl.uint32)
    return tl.inline_asm_elementwise(
        "ld.global.nc.L2::256B.u32 $0, [$1];", "=r,l", [at.to(tl.int64)], dtype=tl.uint32, is_pure=True, pack=1
    )


@triton.jit
def split_bounds(tokens, split, splits, least, BLOCK: tl.constexpr):
    """Start and stop of a split: whole blocks, at least `least` tokens, so that short sequences use few splits."""
    share = tl.maximum(tl.cdiv(tl.cdiv(tokens, splits), BLOCK) * BLOCK, least)
    return tl.minimum(split * share, tokens), tl.minimum((split + 1) * share, tokens)


@triton.jit
def may_have_row(position, length, sink, window):
    """Whether a position lies among the sinks or in the recent window, where a 16-bit row may stand."""
    return (position < sink) | (position >= length - window)


@triton.jit
def decode_stage(
    q_ptr, pool_ptr, indptr_ptr, indices_ptr, row_of_slot_ptr, mid_ptr, lse_ptr, sm_scale,
    part_stride, lse_stride, last_slot, sink, window, splits, least,
    KV_HEADS: tl.constexpr, K_DIM: tl.constexpr, V_DIM: tl.constexpr, K_GROUP: tl.constexpr, V_GROUP: tl.constexpr,
    K_GROUPS: tl.constexpr, V_GROUPS: tl.constexpr, K_PAD: tl.constexpr, V_PAD: tl.constexpr,
    META: tl.constexpr, ROW: tl.constexpr, TILE: tl.constexpr, RECORD: tl.constexpr,
    SHARE: tl.constexpr, JOIN: tl.constexpr, HAS_ROWS: tl.constexpr,
    BLOCK: tl.constexpr, STAGES: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """Partial output mid[splits, batch, heads, v_dim] fp32 and lse[batch, heads, …] (base 2, -inf where empty).

    `part_stride` is batch * heads, `lse_stride` the parts per head that lse has room for. With HAS_ROWS, tokens that
    have a 16-bit row are left to `rows_stage`. EARLY lets the next kernel be launched before this one has ended.
    """
    K_WIDTH: tl.constexpr = K_DIM // 8
    V_WIDTH: tl.constexpr = V_DIM // 8
    V_AT: tl.constexpr = TILE * K_WIDTH
    META_AT: tl.constexpr = V_AT + TILE * V_WIDTH
    META_WORDS: tl.constexpr = 2 * (K_GROUPS + V_GROUPS)
    HEADS: tl.constexpr = 8
    BLOCKS: tl.constexpr = (SHARE + HEADS - 1) // HEADS
    kv_head = tl.program_id(0) // BLOCKS * JOIN
    first_head = (tl.program_id(0) % BLOCKS) * HEADS
    split = tl.program_id(1)
    batch = tl.program_id(2)
    head = tl.arange(0, HEADS)
    live = first_head + head < SHARE * JOIN
    member = head // SHARE if JOIN > 1 else head * 0
    own_meta = member * META_WORDS
    row_of_head = (batch * KV_HEADS + kv_head) * SHARE + first_head

    # Queries before bounds: both are on their way at once.
    q_at = q_ptr + row_of_head.to(tl.int64) * K_DIM
    runs = ()
    for g in tl.static_range(K_GROUPS):
        for j in tl.static_range(8):
            if overlaps(j, g, K_WIDTH, K_GROUP):
                run = load_query(q_at, j, g, K_WIDTH, K_GROUP, K_PAD, HEADS, JOIN, K_DIM, live, member)
                runs = runs + (run,)

    begin = tl.load(indptr_ptr + batch)
    length = (tl.load(indptr_ptr + batch + 1) - begin).to(tl.int32)
    start, stop = split_bounds(length, split, splits, least, BLOCK)
    lse_out = lse_ptr + (row_of_head + head).to(tl.int64) * lse_stride + split
    if start >= stop:
        tl.store(lse_out, tl.full([HEADS], float("-inf"), tl.float32), mask=live)
        return  # an end releases the next kernel too

    word_k = tl.arange(0, K_PAD)
    word_v = tl.arange(0, V_PAD)
    word_m = tl.arange(0, META)

    # A power of two per head brings any query, bf16 included, into fp16's range and loses nothing.
    peak = tl.zeros([HEADS], tl.float32)
    for n in tl.static_range(len(runs)):
        peak = tl.maximum(peak, tl.max(tl.abs(runs[n]), 1))
    lift = tl.exp2(-tl.ceil(tl.log2(tl.maximum(peak, 1e-20))))
    queries = ()
    qsum = tl.zeros([HEADS, META], tl.float32)
    for g in tl.static_range(K_GROUPS):
        total = tl.zeros([HEADS], tl.float32)
        for j in tl.static_range(8):
            if overlaps(j, g, K_WIDTH, K_GROUP):
                run = (runs[pair_index(j, g, K_WIDTH, K_GROUP)] * lift[:, None]).to(tl.float16)
                total += tl.sum(run.to(tl.float32), 1)
                queries = queries + ((run * (4.0 ** (4 - power_of_code(j)))).to(tl.float16),)
        qsum = tl.where(word_m[None, :] == own_meta[:, None] + K_GROUPS + g, 0.5 * total[:, None], qsum)
    # In two halves: these sums meet the zeros of whole groups, and one fp16 would be the largest error of the logits.
    qsum_high = qsum.to(tl.float16)
    qsum_low = (qsum - qsum_high.to(tl.float32)).to(tl.float16)

    row16 = tl.arange(0, 16)
    own_row = (row16 % 8 // SHARE if JOIN > 1 else row16 * 0) * META_WORDS + 2 * K_GROUPS + row16 // 8
    v_units = ()
    for g in tl.static_range(0, V_GROUPS, 2):
        pick = word_m[None, :] == own_row[:, None] + g
        v_units = v_units + (tl.where(pick, 1.0, tl.zeros([16, META], tl.float32)).to(tl.float16),)
    acc = ()
    for _ in tl.static_range(8):
        acc = acc + (tl.zeros([V_PAD, HEADS], tl.float32),)
    acc_zero = tl.zeros([META, HEADS], tl.float32)
    top = tl.full([HEADS], LOWEST, tl.float32)
    mass = tl.zeros([BLOCK, HEADS], tl.float32)
    # S comes out as lift/2 · q·k: codes carry 2**-24, queries 2**8, the unit vector 2**15.
    to_log2 = 2.0 * sm_scale * 1.4426950408889634 / lift
    record = pool_ptr + kv_head // TILE * RECORD
    k_at = record + kv_head % TILE * K_WIDTH
    v_at = record + V_AT + kv_head % TILE * V_WIDTH
    meta_at = (record + META_AT + kv_head % TILE * META_WORDS).to(tl.pointer_type(tl.float16))
    rows = tl.arange(0, BLOCK)
    # Short metadata repeats itself: a padded word must be finite, and masking it costs more than reading its sector
    # again. Spelt in eights where they are whole, so that the compiler sees runs of 16 bytes.
    if JOIN * META_WORDS % 8 == 0:
        meta_word = word_m // 8 * 8 % (JOIN * META_WORDS) + word_m % 8
    elif JOIN * META_WORDS % 4 == 0:
        meta_word = word_m // 4 * 4 % (JOIN * META_WORDS) + word_m % 4
    else:
        meta_word = word_m % (JOIN * META_WORDS)

    # Slots of the next step wait in registers. Rows past the end read the last token again: no load mask, and nothing
    # that could be NaN.
    coming = load_slots(indices_ptr + begin + tl.minimum(start + rows, stop - 1))
    for at in tl.range(start, stop, BLOCK, num_stages=STAGES):
        here = at + rows
        slot = tl.minimum(coming, tl.zeros([BLOCK], tl.uint32) + last_slot)  # no caller's index leaves the pool
        coming = load_slots(indices_ptr + begin + tl.minimum(here + BLOCK, stop - 1))
        offset = slot.to(tl.int64) * ROW
        if K_PAD == JOIN * K_WIDTH:
            kw = tl.load(k_at + offset[:, None] + word_k[None, :])
        else:
            kw = tl.load(k_at + offset[:, None] + word_k[None, :], mask=(word_k < JOIN * K_WIDTH)[None, :], other=0)
        if V_PAD == JOIN * V_WIDTH:
            vw = tl.load(v_at + offset[None, :] + word_v[:, None])
        else:
            vw = tl.load(v_at + offset[None, :] + word_v[:, None], mask=(word_v < JOIN * V_WIDTH)[:, None], other=0)
        # One copy in shared memory for both orientations: with an axis of one to move, Triton reads each out of it as
        # the operand it is. A plain transpose of two axes makes it load without a pipeline.
        given = tl.load(meta_at + offset[:, None, None] + meta_word[None, None, :])
        meta = tl.reshape(given, (BLOCK, META))
        meta_t = tl.reshape(tl.permute(given, (1, 2, 0)), (META, BLOCK))

        s = tl.dot(meta, tl.trans(qsum_low), tl.dot(meta, tl.trans(qsum_high)))
        for g in tl.static_range(K_GROUPS):
            d = tl.zeros([BLOCK, HEADS], tl.float32)
            for j in tl.static_range(8):
                if overlaps(j, g, K_WIDTH, K_GROUP):
                    d = tl.dot(codes(kw, j), tl.trans(queries[pair_index(j, g, K_WIDTH, K_GROUP)]), d)
            unit = tl.where(word_m[:, None] == own_meta[None, :] + g, 32768.0, tl.zeros([META, HEADS], tl.float32)).to(
                tl.float16
            )
            s += tl.dot(meta, unit) * d
        # Infinity, not a large number: with every token of a block left out, `s * to_log2 - top` of two large numbers
        # is the rounding error of their product once the card fuses it, and its exponential anything.
        if HAS_ROWS:
            row = tl.load(row_of_slot_ptr + slot, mask=may_have_row(here, length, sink, window), other=-1)
            s = tl.where(((here < stop) & (row < 0))[:, None], s, float("-inf"))
        elif at + BLOCK > stop:
            s = tl.where((here < stop)[:, None], s, float("-inf"))

        # Compare before reducing: a reduction over tokens is nine shuffles in a row, and rarely needed. As integers,
        # because the hardware reduces those over a warp in one instruction; only the sign matters.
        if tl.max((s * to_log2[None, :] - (top[None, :] + SLACK)).to(tl.int32, bitcast=True)) > 0:
            higher = tl.maximum(top, tl.max(s, 0) * to_log2)
            fade = tl.exp2(top - higher)
            faded = ()
            for j in tl.static_range(8):
                faded = faded + (acc[j] * fade[None, :],)
            acc = faded
            acc_zero *= fade[None, :]
            mass *= fade[None, :]
            top = higher
        p = tl.exp2(s * to_log2[None, :] - top[None, :])
        mass += p
        p16 = p.to(tl.float16)
        acc_zero = tl.dot(meta_t, p16, acc_zero)
        grown = ()
        scaled = ()
        # Scales of V with heads as rows, two groups in the sixteen rows: in that layout they multiply P as the
        # operand it becomes.
        for g in tl.static_range(0, V_GROUPS, 2):
            both = tl.dot(v_units[g // 2], meta_t).to(tl.float16)
            even, odd = tl.split(tl.permute(tl.reshape(both, [2, 8, BLOCK]), (1, 2, 0)))
            scaled = scaled + (p16 * tl.trans(even),)
            if g + 1 < V_GROUPS:
                scaled = scaled + (p16 * tl.trans(odd),)
        for j in tl.static_range(8):
            a = acc[j]
            for g in tl.static_range(V_GROUPS):
                if overlaps(j, g, V_WIDTH, V_GROUP):
                    if (j * V_WIDTH >= g * V_GROUP) and ((j + 1) * V_WIDTH <= (g + 1) * V_GROUP):
                        a = tl.dot(codes(vw, j), scaled[g], a)
                    else:
                        channel = j * V_WIDTH + word_v % V_WIDTH
                        inside = (channel >= g * V_GROUP) & (channel < (g + 1) * V_GROUP)
                        a = tl.dot(codes(tl.where(inside[:, None], vw, 0), j), scaled[g], a)
            grown = grown + (a,)
        acc = grown

    if EARLY:  # the next kernel may take its places now; it waits for the end of this one before it reads
        gdc_launch_dependents()
    total = tl.sum(mass, 0)
    scale_out = 1.0 / total
    mid = mid_ptr + (split.to(tl.int64) * part_stride + row_of_head + head) * V_DIM
    for j in tl.static_range(8):
        channel = j * V_WIDTH + word_v % V_WIDTH
        zero = tl.zeros([V_PAD, HEADS], tl.float32)
        for g in tl.static_range(V_GROUPS):
            if overlaps(j, g, V_WIDTH, V_GROUP):
                own_zero = own_meta + 2 * K_GROUPS + V_GROUPS + g
                row = tl.sum(tl.where(word_m[:, None] == own_zero[None, :], acc_zero, 0.0), 0)
                inside = (channel >= g * V_GROUP) & (channel < (g + 1) * V_GROUP)
                zero = tl.where(inside[:, None], row[None, :], zero)
        value = acc[j] * (scale_out * (16777216.0 / (4.0 ** power_of_code(j))))[None, :] + zero * scale_out[None, :]
        mine = (word_v < JOIN * V_WIDTH)[:, None] & ((word_v // V_WIDTH)[:, None] == member[None, :])
        tl.store(mid[None, :] + channel[:, None], value, mask=mine & live[None, :])
    tl.store(lse_out, tl.where(top > LOWEST, top + tl.log2(total), float("-inf")), mask=live)
