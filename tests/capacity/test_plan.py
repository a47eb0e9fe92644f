"""Pools, limits by name, and advice, on a card whose figures can be checked by hand."""

from __future__ import annotations

import pytest

from rebasekit.errors import StateError, UsageError
from rebasekit.model.tag import Tag
from rebasekit.probes.capacity import Memory, flags_from_arguments, release_of
from rebasekit.probes.capacity.chains import cached_slots
from rebasekit.probes.capacity.plan import Deployment, plan

from .figures import DENSE, GIB, HYBRID_27B, V19, pools, read

MIB = 1 << 20
CARD = Memory(int(11.4 * GIB), 7 * GIB, 12 * GIB)


def planned(model=HYBRID_27B, memory=CARD, patched=True, release=V19, length=0, count=1, copies=0, **flags):
    given = read(**{"tp_size": 2, "context_length": 131_072, "chunked_prefill_size": 4096, **flags})
    return plan(Deployment(model, given, memory, release, patched, length, count, copies))


def test_a_dense_model_gets_what_the_weights_leave():
    found = pools(DENSE, Memory(10 * GIB, 6 * GIB), tp_size=1, mem_fraction_static="0.8", page_size=16)
    assert (found.static, found.rest, found.reserve) == (8 * GIB, 2 * GIB, 2 * GIB)
    assert found.cell.bytes == 32 * 8 * 256 * 2
    assert found.tokens == 2 * GIB // found.cell.bytes // 16 * 16 == 16_384
    assert (found.states, found.state_slots, found.state_bytes, found.state_requests) == (None, 0, 0, None)
    assert (found.binding, found.requests, found.request_limit) == ("budget", 2048, "the default")


def test_states_take_their_slots_and_one_for_padding():
    found = pools(max_mamba_cache_size=20)
    assert found.states is not None
    assert (found.state_slots, found.state_bytes) == (20, 21 * found.states.slot)
    assert found.tokens == (found.rest - 21 * found.states.slot) // found.cell.bytes


@pytest.mark.parametrize(
    ("flags", "binding"),
    [
        ({}, "budget"),
        ({"max_total_tokens": 1000}, "cap"),
        ({"max_total_tokens": 10**9}, "budget"),
        ({"max_mamba_cache_size": 5}, "budget"),
        ({"max_mamba_cache_size": 50}, "mamba slots"),
        ({"max_mamba_cache_size": 50, "max_total_tokens": 1000}, "cap"),
        ({"enable_int8_mamba_checkpoint": True, "max_mamba_cache_size": 5, "int8_mamba_ckpt_size": 90}, "mamba slots"),
    ],
)
def test_the_limit_of_the_token_count_has_a_name(flags, binding):
    found = pools(memory=Memory(11 * GIB, 7 * GIB), **flags)
    assert found.binding == binding
    if binding == "cap":
        assert found.tokens == 1000 < found.uncapped


@pytest.mark.parametrize(
    ("flags", "count", "limit"),
    [
        ({"max_running_requests": 3, "max_mamba_cache_size": 20}, 3, "--max-running-requests"),
        ({"max_running_requests": 8, "max_mamba_cache_size": 20}, 4, "mamba slots"),
        ({"max_running_requests": 8, "max_mamba_cache_size": 20, "max_total_tokens": 6}, 3, "tokens"),
        ({"max_mamba_cache_size": 20}, 4, "mamba slots"),
    ],
)
def test_the_limit_of_requests_has_a_name(flags, count, limit):
    found = pools(**flags)
    assert (found.requests, found.request_limit) == (count, limit)


def test_chains_share_active_slots_with_one_running_request():
    assert cached_slots(pools(max_mamba_cache_size=32)) == 27
    assert cached_slots(pools(max_mamba_cache_size=3, max_running_requests=1, disable_radix_cache=True)) == 2
    both = pools(max_mamba_cache_size=10, enable_int8_mamba_checkpoint=True, int8_mamba_ckpt_size=24)
    assert cached_slots(both) == 24
    assert cached_slots(pools(DENSE, Memory(30 * GIB, 6 * GIB))) is None


def test_upstream_pays_checkpoints_from_outside_the_budget():
    flags = {"max_mamba_cache_size": 10, "enable_int8_mamba_checkpoint": True, "int8_mamba_ckpt_size": 24}
    ours, theirs = planned(**flags), planned(**flags, patched=False)
    assert theirs.pools.checkpoint_bytes == ours.pools.checkpoint_bytes > 0
    kept = (theirs.pools.tokens - ours.pools.tokens) * ours.pools.cell.bytes
    assert abs(kept - ours.pools.checkpoint_bytes) < 2 * ours.pools.cell.bytes
    assert not ours.advice
    (advice,) = theirs.advice
    assert advice.flags[0] == "--int8-mamba-ckpt-size 24"
    assert advice.flags[1] == "--mem-fraction-static 0.857"  # 492 MiB of 11.4 GiB less than 0.9


@pytest.mark.parametrize("release", ["v0.5.22", "v0.5.23"])
def test_data_parallel_attention_splits_requests_and_slots(release):
    flags = {"tp_size": 4, "attn_dp_size": 2, "max_running_requests": 1, "max_mamba_cache_size": 40}
    asked = read(context_length=4096, **flags)
    deployment = Deployment(HYBRID_27B, asked, Memory(40 * GIB, 8 * GIB), release_of(Tag(release)))
    assert deployment.ranks == 2
    if release == "v0.5.22":
        with pytest.raises(StateError):
            plan(deployment)
    else:
        found = plan(deployment).pools
        assert (found.requests, found.state_slots) == (1, 20)


def test_a_release_knows_data_parallel_attention_by_its_own_argument():
    asked = read(tp_size=4, dp_size=2, enable_dp_attention=True)
    assert asked.attention_ranks(V19) == (2, 2)
    assert read(tp_size=4, dp_size=2).attention_ranks(V19) == (4, 1)
    assert read(tp_size=4, attn_dp_size=2).attention_ranks(release_of(Tag("v0.5.22"))) == (2, 2)
    with pytest.raises(UsageError, match="cannot be split"):
        read(tp_size=4, dp_size=3, enable_dp_attention=True).attention_ranks(V19)


def test_a_cap_that_binds_and_one_that_does_not():
    low, high = planned(max_total_tokens=5000), planned(max_total_tokens=10**8)
    assert f"--max-total-tokens {low.pools.uncapped}" in low.advice[0].flags
    assert "a cap, not a size" in high.advice[0].why
    assert high.pools.tokens == high.pools.uncapped == low.pools.uncapped


def test_requests_and_slots_are_changed_together():
    found = planned(max_running_requests=8, max_mamba_cache_size=20)
    assert not found.ok
    (advice,) = found.advice
    assert advice.flags == ("--max-running-requests 8", "--max-mamba-cache-size 40")
    assert planned(max_running_requests=8, max_mamba_cache_size=40).ok


def test_larger_chunks_come_with_a_smaller_static_part():
    """27 slots for 51 states: more slots would take the tokens' memory, half as many states do not."""
    flags = {"kv_cache_dtype": "fp8_e4m3", "max_mamba_cache_size": 32, "max_running_requests": 1}
    memory = Memory(CARD.free, int(5.3 * GIB))
    found = planned(memory=memory, length=66_000, count=3, **flags)
    assert not found.ok
    (advice,) = found.advice
    chunk, fraction = advice.flags
    assert (chunk, fraction) == ("--chunked-prefill-size 8192", "--mem-fraction-static 0.861")
    assert (0.9 - 0.861) * CARD.free >= 4096 * HYBRID_27B.activation_per_token(2)
    changed = {**flags, "chunked_prefill_size": 8192, "mem_fraction_static": "0.861"}
    again = planned(memory=memory, length=66_000, count=3, **changed)
    assert again.ok and not again.advice
    assert not planned(memory=memory, length=66_000, count=3, **{**flags, "max_mamba_cache_size": 56}).ok


def test_what_advice_promises_comes_true():
    """Whatever is wrong at once, the proposed flags together solve it."""
    found = planned(length=66_000, count=3, kv_cache_dtype="fp8_e4m3", max_mamba_cache_size=32, max_running_requests=2)
    advice = found.advice[0]
    assert "198,000 tokens" in advice.why and "51 states" in advice.why
    words = [word for flag in advice.flags for word in flag.split()]
    base = "--tp 2 --context-length 131072 --max-running-requests 2 --mem-fraction-static 0.9 --max-mamba-cache-size 32"
    flags = flags_from_arguments([*base.split(), "--chunked-prefill-size", "4096", *words])
    again = plan(Deployment(HYBRID_27B, flags, CARD, V19, True, 66_000, 3))
    assert again.ok
    assert f"{again.pools.tokens:,} tokens" in advice.after


def test_nothing_helps_what_no_card_holds():
    found = planned(length=131_072, count=1000, max_running_requests=1)
    assert found.advice[0].flags == ("fewer or shorter chains",)


def test_dense_copies_come_out_of_the_reserve():
    none, four = planned(), planned(copies=4)
    assert four.pools == none.pools
    before, after = none.shares([131_072])[0], four.shares([131_072])[0]
    assert after.parts["dense prefix copy"] == GIB
    assert before.parts["reserve"] - after.parts["reserve"] == GIB
    assert after.sum == before.sum
    twice = four.shares([262_144])[0]  # more than the reserve: it has to come from somewhere
    assert twice.parts["reserve"] == 0
    assert twice.sum - none.shares([262_144])[0].sum == 2 * GIB - none.pools.reserve


def test_dense_copies_that_the_reserve_does_not_hold():
    flags = {"max_mamba_cache_size": 32, "max_running_requests": 1, "length": 66_000, "kv_cache_dtype": "fp8_e4m3"}
    assert planned(copies=4, **flags).ok  # 516 of 1167 MiB
    found = planned(copies=10, **flags)
    assert not found.ok
    (advice,) = found.advice
    assert advice.flags == ("--mem-fraction-static 0.889",)  # 122 MiB of 11.4 GiB less
    again = planned(copies=10, mem_fraction_static="0.889", **flags)
    assert again.ok and f"{again.pools.tokens:,} tokens" == advice.after


@pytest.mark.parametrize(
    ("flags", "error", "message"),
    [
        ({"mem_fraction_static": None}, UsageError, "static fraction"),
        ({"speculative_algorithm": "EAGLE"}, UsageError, "--speculative-algorithm"),
        ({"pp_size": 2}, UsageError, "--pp-size"),
        ({"kv_cache_dtype": "nvfp4"}, UsageError, "nvfp4"),
        ({"kv_cache_dtype": "int2", "kv_cache_quant_group_size": 48}, UsageError, "none of 0, 32, 64, 128"),
        ({"mem_fraction_static": "1.5"}, UsageError, "between 0 and 1"),
        ({"mem_fraction_static": "much"}, UsageError, "needs a number"),
        ({"tp_size": 0}, UsageError, "out of range"),
        ({"tp_size": 5}, UsageError, "48 value heads"),
        ({"mamba_radix_cache_strategy": "lots"}, UsageError, "not known"),
        ({"mamba_radix_cache_strategy": "extra_buffer_lazy", "disable_overlap_schedule": True}, UsageError, "overlap"),
        ({"mamba_ssm_dtype": "int4"}, UsageError, "int4"),
        ({"mem_fraction_static": "0.5"}, StateError, "are missing"),
        ({"max_mamba_cache_size": 500}, StateError, "no token fits"),
        ({"max_mamba_cache_size": 4, "max_running_requests": 2}, StateError, "serve no request"),
    ],
)
def test_what_cannot_be_is_said_by_name(flags, error, message):
    with pytest.raises(error, match=message):
        planned(**flags)


def test_int2_is_not_upstreams():
    with pytest.raises(UsageError, match="upstream has no"):
        planned(kv_cache_dtype="int2", patched=False)


def test_images_take_a_part_of_the_budget():
    from dataclasses import replace

    seeing = planned(replace(HYBRID_27B, multimodal=True))
    assert planned().pools.rest - seeing.pools.rest == 100 * MIB
    assert planned(replace(HYBRID_27B, multimodal=True), enable_multimodal=False).pools.rest == planned().pools.rest
