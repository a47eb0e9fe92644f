"""What holds for every card, model and length."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rebasekit.errors import RebasekitError
from rebasekit.probes.capacity import Linear, Memory, Model, Situation, solve
from rebasekit.probes.capacity.chains import fit, slots_needed
from rebasekit.probes.capacity.flags import known_name
from rebasekit.probes.capacity.plan import Deployment, plan
from rebasekit.probes.capacity.together import together

from .figures import DENSE, GIB, HYBRID_27B, V19, read

models = st.builds(
    Model,
    name=st.just("m"),
    attention_layers=st.integers(1, 64),
    query_heads=st.just(32),
    kv_heads=st.sampled_from([1, 2, 4, 8]),
    head_dim=st.sampled_from([64, 128, 256]),
    v_head_dim=st.sampled_from([64, 128, 256]),
    context=st.integers(512, 1 << 20),
    type=st.sampled_from(["float16", "bfloat16"]),
    hidden=st.integers(64, 8192),
    intermediate=st.integers(64, 32_768),
    linear=st.none()
    | st.builds(
        Linear,
        layers=st.integers(1, 64),
        key_heads=st.sampled_from([8, 16]),
        value_heads=st.sampled_from([16, 32, 48]),
        key_dim=st.sampled_from([64, 128]),
        value_dim=st.sampled_from([64, 128]),
        conv_kernel=st.integers(2, 8),
        state_type=st.sampled_from(["float32", "float16"]),
    ),
)
asked = st.fixed_dictionaries(
    {
        "tp_size": st.sampled_from([1, 2, 4, 8]),
        "page_size": st.sampled_from([1, 16, 64]),
        "kv_cache_dtype": st.sampled_from(["auto", "fp8_e4m3", "int2"]),
        "max_running_requests": st.none() | st.integers(1, 512),
        "max_mamba_cache_size": st.none() | st.integers(1, 64),
        "max_total_tokens": st.none() | st.integers(64, 1 << 22),
        "enable_int8_mamba_checkpoint": st.booleans(),
        "int8_mamba_ckpt_size": st.none() | st.integers(1, 64),
        "mem_fraction_static": st.sampled_from(["0.5", "0.875", "0.9", "0.999"]),
        "int2_window_tokens": st.sampled_from([0, 256]),
        "int2_sink_tokens": st.sampled_from([0, 64]),
    }
)
memories = st.builds(Memory, st.integers(GIB, 200 * GIB), st.integers(0, 100 * GIB))


def solved(model, flags, memory):
    try:
        return solve(model, flags, memory, V19)
    except RebasekitError:
        assume(False)


@settings(max_examples=300, deadline=None)
@given(models, asked, memories)
def test_the_budget_is_used_and_never_exceeded(model, values, memory):
    flags = read(**values)
    found = solved(model, flags, memory)
    page = flags.page_size or 1
    left = found.rest - found.state_bytes - found.checkpoint_bytes
    if flags.kv_cache_dtype == "int2":
        assert found.kv_bytes <= left
    assert found.tokens * found.cell.bytes <= left
    assert found.tokens % page == 0
    if found.binding != "cap":
        more = found.tokens + page
        need = found.cell.pool_bytes(more, page) if flags.kv_cache_dtype == "int2" else more * found.cell.bytes
        assert need > left
    for value in (found.static, found.rest, found.tokens, found.kv_bytes, found.state_slots, found.requests):
        assert type(value) is int
    assert found.static + found.reserve == memory.free


@settings(max_examples=200, deadline=None)
@given(models, asked, memories, st.integers(1, 10 * GIB))
def test_more_memory_never_holds_less(model, values, memory, more):
    flags = read(**{**values, "max_mamba_cache_size": values["max_mamba_cache_size"] or 32})
    small = solved(model, flags, memory)
    large = solve(model, flags, replace(memory, free=memory.free + more), V19)
    assert large.tokens >= small.tokens
    assert large.requests >= small.requests
    lighter = solve(model, flags, replace(memory, weights=memory.weights // 2), V19)
    assert lighter.tokens >= small.tokens


@settings(max_examples=200, deadline=None)
@given(models, asked, memories, st.integers(1, 10 * GIB))
def test_states_that_are_fitted_to_memory_grow_with_it(model, values, memory, more):
    assume(model.linear is not None)
    flags = read(**{**values, "max_mamba_cache_size": None})
    small = solved(model, flags, memory)
    large = solve(model, flags, replace(memory, free=memory.free + more), V19)
    assert large.state_slots >= small.state_slots
    per_state = found.slot if (found := small.states) else 0
    both = per_state + (2 * (found.checkpoint + 8) if found else 0)  # one more active state takes two checkpoints along
    assert large.tokens * large.cell.bytes >= small.tokens * small.cell.bytes - both - large.cell.bytes * 64


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 1 << 24), st.integers(1, 1 << 16), st.integers(0, 1 << 16))
def test_longer_chains_and_smaller_chunks_never_need_fewer_states(length, chunk, more):
    low, high = slots_needed(length, chunk)
    assert 1 <= low <= high <= low + 1
    assert (high - 1) * chunk < length <= high * chunk
    assert slots_needed(length + more, chunk) >= (low, high)
    assert slots_needed(length, chunk + more)[1] <= high


@settings(max_examples=100, deadline=None)
@given(models, asked, memories, st.integers(1, 100_000), st.integers(1, 8), st.integers(0, 3))
def test_the_card_fills_up_with_context(model, values, memory, length, count, copies):
    flags = read(**values)
    solved(model, flags, memory)
    found = plan(Deployment(model, flags, memory, V19, length=length, count=count, dense_copies=copies))
    sums = [share.sum for share in found.shares([length, 2 * length, 3 * length])]
    assert sums == sorted(sums)
    for advice in found.advice:
        assert advice.flags and advice.why
    assert found.fit is not None
    assert found.fit.chains <= found.pools.tokens // length


small = st.fixed_dictionaries(
    {
        "tp_size": st.just(2),
        "kv_cache_dtype": st.sampled_from(["auto", "fp8_e4m3"]),
        "max_running_requests": st.integers(1, 8),
        "max_mamba_cache_size": st.none() | st.integers(8, 48),
        "max_total_tokens": st.none() | st.integers(10_000, 400_000),
        "enable_int8_mamba_checkpoint": st.booleans(),
        "mem_fraction_static": st.sampled_from(["0.85", "0.9", "0.95"]),
        "chunked_prefill_size": st.sampled_from([1024, 2048, 4096]),
    }
)


@settings(max_examples=300, deadline=None)
@given(small, st.integers(9 * GIB, 16 * GIB), st.integers(10_000, 200_000), st.integers(1, 8))
def test_what_advice_promises_comes_true(values, free, length, count):
    """The flags of the advice about chains, put over the others, hold them all and serve as many requests."""
    flags, memory = read(**values), Memory(free, 7 * GIB)
    found = solved(HYBRID_27B, flags, memory)
    now = fit(found, length, count, values["chunked_prefill_size"])
    advice = list(together(Situation(HYBRID_27B, flags, memory, V19, found, now, True)))
    assert (advice == []) == now.ok
    if now.ok or advice[0].flags == ("fewer or shorter chains",):
        return
    changed = {}
    for flag in advice[0].flags:
        name, _, value = flag.partition(" ")
        changed[known_name(name.removeprefix("--"))] = value or True
    after = plan(Deployment(HYBRID_27B, read(**{**values, **changed}), memory, V19, True, length, count))
    assert after.fit is not None and after.fit.ok
    assert after.pools.requests >= found.requests
    assert f"{after.pools.tokens:,} tokens" in advice[0].after


@settings(max_examples=100, deadline=None)
@given(models, asked, memories, st.integers(1, 1 << 20), st.integers(1, 8))
def test_fewer_and_shorter_chains_fit_where_more_do(model, values, memory, length, count):
    found = solved(model, read(**values), memory)
    if fit(found, length, count, 4096).ok:
        assert fit(found, length, max(count - 1, 1), 4096).ok
        assert fit(found, -(-length // 2), count, 4096).ok


@given(st.integers(1, 10**15), st.integers(1, 999))
def test_a_fraction_is_exact(free, thousandth):
    from rebasekit.probes.capacity.flags import flags_from

    flags = flags_from({"mem_fraction_static": f"0.{thousandth:03}"})
    assert flags.mem_fraction_static == Fraction(thousandth, 1000)
    found = free * thousandth // 1000
    try:
        assert solve(DENSE, flags, Memory(free, 0), V19).static == found
    except RebasekitError:
        assert found < 10**9
