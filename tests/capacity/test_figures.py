"""The figures of the article that this toolkit began with, and those that other documents of this project state."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebasekit.errors import UsageError
from rebasekit.model.tag import Tag
from rebasekit.probes.capacity import Memory, release_of
from rebasekit.probes.capacity.cells import cell_of, dense_bytes
from rebasekit.probes.capacity.chains import fit, slots_needed
from rebasekit.probes.capacity.states import per_request, states_of

from .figures import GIB, HYBRID_27B, V19, Model, pools, read

MIB = 1 << 20


def with_tokens(tokens: int):
    return pools(memory=Memory(64 * GIB, 7 * GIB), max_total_tokens=tokens, max_mamba_cache_size=400)


def test_three_chains_of_66_000_do_not_fit_148_058_tokens_and_two_do():
    found = with_tokens(148_058)
    assert found.tokens == 148_058
    three, two = (fit(found, 66_000, wanted, 4096) for wanted in (3, 2))
    assert (three.tokens_needed, three.ok, three.chains, three.limit) == (198_000, False, 2, "tokens")
    assert two.ok


@pytest.mark.parametrize(("chunk", "needed"), [(4096, (51, 52)), (8192, (25, 26))])
def test_210_000_tokens_leave_a_state_for_each_chunk(chunk, needed):
    assert slots_needed(210_000, chunk) == needed


def test_32_slots_hold_210_000_tokens_at_chunk_8192_only():
    found = pools(
        memory=Memory(64 * GIB, 7 * GIB),
        enable_int8_mamba_checkpoint=True,
        int8_mamba_ckpt_size=32,
        max_mamba_cache_size=10,
    )
    small, large = (fit(found, 210_000, 1, chunk) for chunk in (4096, 8192))
    assert (small.ok, small.limit, small.slots) == (False, "mamba slots", 32)
    assert large.ok


def test_a_state_in_16_bit_and_in_8_bit():
    """48 linear layers on two cards. The article has 38 MB and 23 MB; docs/capacity.md says what they can be.

    A test of checkpoint-pool holds the parts against the pool that each release builds.
    """
    states = states_of(HYBRID_27B, read(), 2)
    assert states is not None
    codes, scales, window = 48 * 24 * 128 * 128, 48 * 24 * 128 * 2, 48 * 5120 * 3 * 2
    assert (codes, scales, window) == (18_874_368, 294_912, 1_474_560)
    assert states.checkpoint == codes + scales + window == 20_643_840
    assert states.slot == 2 * codes + window == 39_223_296
    assert round(2 * codes / 1e6) == 38  # without the window
    assert round(states.checkpoints_bytes(8) / 8 / 1e6) == 23
    wide = replace(read(mamba_ssm_dtype="float32"), environment={"SGLANG_MAMBA_CONV_DTYPE": "float32"})
    found = states_of(HYBRID_27B, wide, 2)
    assert found is not None and found.checkpoint == codes + 2 * scales + 2 * window
    assert round(found.checkpoint / 1e6, 1) == 22.4 and round(found.checkpoints_bytes(32) / 32 / 1e6) == 23


@pytest.mark.parametrize(
    ("flags", "slots"),
    [
        ({"mamba_radix_cache_strategy": "extra_buffer"}, 5),
        ({"mamba_radix_cache_strategy": "extra_buffer_lazy"}, 4),
        ({"mamba_radix_cache_strategy": "extra_buffer", "disable_overlap_schedule": True}, 4),
        ({"mamba_radix_cache_strategy": "no_buffer", "disable_overlap_schedule": True}, 3),
        ({"disable_radix_cache": True}, 1),
        ({}, 5),
        ({"disable_overlap_schedule": True}, 3),
        ({"disable_overlap_schedule": True, "page_size": 64}, 4),
    ],
)
def test_slots_of_a_request_by_strategy(flags, slots):
    assert per_request(read(**flags)) == slots


def test_every_strategy_beside_the_others():
    from rebasekit.probes.capacity.states import every_strategy

    expected = {"extra_buffer": 5, "extra_buffer_lazy": 4, "no_buffer": 3, "no radix cache": 1}
    for flags in ({}, {"disable_radix_cache": True}, {"mamba_radix_cache_strategy": "no_buffer"}):
        assert every_strategy(read(**flags)) == expected


def test_a_lock_that_decode_skips_saves_a_slot_where_there_is_a_buffer():
    skips = {"SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK": "1"}
    for strategy, slots in (("extra_buffer", 4), ("extra_buffer_lazy", 3), ("no_buffer", 3)):
        flags = replace(read(mamba_radix_cache_strategy=strategy), environment=skips)
        assert per_request(flags) == slots


def test_a_token_of_the_27b_model_on_two_cards():
    expected = {"float16": 32_768, "fp8_e4m3": 16_384, "int2": 5124}
    for kind, count in expected.items():
        assert cell_of(HYBRID_27B, read(), 2, kind=kind).bytes == count
    rows = cell_of(HYBRID_27B, read(), 2, kind="int2", requests=8)
    assert (rows.row, rows.row_limit) == (32 << 10, 9 * 320)
    assert rows.rows_bytes(10**6) == pytest.approx(90 * MIB, rel=0.01)


@pytest.mark.parametrize(("group", "count"), [(32, 160 + 32), (64, 128 + 32), (128, 128 + 16), (0, 128 + 8)])
def test_groups_of_the_2_bit_cache(group, count):
    cell = cell_of(HYBRID_27B, read(kv_cache_quant_group_size=group), 2, kind="int2")
    assert cell.bytes == 16 * 2 * count + 4


def test_a_dense_copy_of_a_prefix_is_eight_times_its_codes():
    codes = 131_072 * 2 * (256 // 4 + 256 // 4)
    assert dense_bytes(HYBRID_27B, 2, 131_072) == 8 * codes == 256 * MIB
    assert 4 * dense_bytes(HYBRID_27B, 2, 131_072) == GIB  # about 1 GB at 128K, as the article saw it


STATES = Model(
    "36 layers", 12, 16, 2, 256, 256, 131_072, hidden=2048, intermediate=5120,
    linear=HYBRID_27B.linear.__class__(36, 16, 32, 128, 128, 4, "bfloat16"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "active", "checkpoint", "patched", "upstream"),
    [("bfloat16", 37.7, 20.0, 130, 270), ("float32", 73.7, 20.3, 88, 137)],
)
def test_the_table_of_the_checkpoint_pool(kind, active, checkpoint, patched, upstream):
    rest = 10 * GIB * 19 // 9
    memory = Memory(2 * rest, 0)
    flags = {
        "tp_size": 1,
        "mem_fraction_static": "0.5",
        "mamba_ssm_dtype": kind,
        "enable_int8_mamba_checkpoint": True,
        "disable_overlap_schedule": True,
    }
    ours, theirs = pools(STATES, memory, **flags), pools(STATES, memory, **flags, patched=False)
    assert ours.states is not None
    assert ours.states.slot / MIB == pytest.approx(active, abs=0.051)
    assert ours.states.checkpoint / MIB == pytest.approx(checkpoint, abs=0.051)
    assert (ours.state_slots, ours.checkpoint_slots) == (patched, 2 * patched)
    assert (theirs.state_slots, theirs.checkpoint_slots) == (upstream, 2 * upstream)
    assert ours.state_bytes + ours.checkpoint_bytes <= 10 * GIB


def test_chunks_that_a_release_chooses_by_the_cards_memory():
    assert [release_of(Tag(tag)).chunk_size(24 << 10) for tag in ("v0.5.19", "v0.5.20", "v0.5.23")] == [
        2048,
        4096,
        4096,
    ]
    assert [V19.chunk_size(mib) for mib in (12 << 10, 48 << 10, 80 << 10, 141 << 10, 192 << 10)] == [
        2048,
        4096,
        8192,
        8192,
        16384,
    ]
    assert V19.chunk_size(None) == 4096
    with pytest.raises(UsageError, match=r"older than v0\.5\.19"):
        release_of(Tag("v0.5.18"))
    assert release_of(Tag("v0.6.0")) is release_of(Tag("v0.5.23"))
