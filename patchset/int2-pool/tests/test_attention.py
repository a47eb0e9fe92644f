"""Decode and extend through the release's Triton backend, int2 against the same backend's 16-bit pool."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import tree

tree.require()

import torch
from small_engine import CONTEXT, HYBRID, INT2, PLAIN, Engine, made_up, part

MODELS = {"plain": PLAIN, "hybrid": HYBRID}
ALL_ROWS = {"int2_sink_tokens": 0, "int2_window_tokens": CONTEXT}
NO_ROWS = {"int2_sink_tokens": 0, "int2_window_tokens": 0}
SOME_ROWS = {"int2_sink_tokens": 5, "int2_window_tokens": 9}
ROUNDING = 2e-3  # fp16 outputs of two attentions that add in another order
QUANTISED = (
    0.8  # root mean square error over that of the outputs: Gaussian keys and values at 2 bits, no structure to keep
)


def conversation(engine: Any) -> list[torch.Tensor]:
    """Two requests: prefill, a second chunk of one, then both decode. All outputs of all layers, in order."""
    layers = len(engine.layers) if isinstance(engine, Engine) else engine.layer_count
    first, second = made_up(60, 1, layers), made_up(40, 2, layers)
    out = engine.extend([(1, 0, part(first, 0, 30)), (2, 0, part(second, 0, 27))])
    out += engine.extend([(1, 30, part(first, 30, 51))])
    for i in range(3):
        out += engine.decode([(2, 27 + i, part(second, 27 + i, 28 + i)), (1, 51 + i, part(first, 51 + i, 52 + i))])
    return out


@functools.cache
def exactly(name: str) -> list[torch.Tensor]:
    return conversation(Engine(MODELS[name]))


@pytest.mark.differs
@pytest.mark.parametrize("name", MODELS)
def test_a_window_as_long_as_the_context_is_the_16_bit_pool(name: str) -> None:
    engine = Engine(MODELS[name], **INT2, **ALL_ROWS)
    for want, got in zip(exactly(name), conversation(engine), strict=True):
        torch.testing.assert_close(got, want, atol=ROUNDING, rtol=0)


@pytest.mark.differs
@pytest.mark.parametrize("rows", [NO_ROWS, SOME_ROWS], ids=["none", "some"])
@pytest.mark.parametrize("name", MODELS)
def test_the_rest_is_read_at_two_bits(name: str, rows: dict[str, int]) -> None:
    """Token by token as the format says: sinks and window exact, all others after two bits."""
    engine = Engine(MODELS[name], **INT2, **rows)
    got = conversation(engine)
    from reference import Reference

    reference = Reference(rows["int2_sink_tokens"], rows["int2_window_tokens"])
    reference.layer_count = len(engine.layers)
    for want, out in zip(conversation(reference), got, strict=True):
        torch.testing.assert_close(out.double(), want, atol=ROUNDING, rtol=0)


@pytest.mark.differs
def test_the_error_of_two_bits_is_bounded() -> None:
    worst = {}
    for name, rows in {"none": NO_ROWS, "some": SOME_ROWS}.items():
        pairs = list(zip(exactly("plain"), conversation(Engine(PLAIN, **INT2, **rows)), strict=True))
        assert all(torch.isfinite(got).all() for _, got in pairs)
        worst[name] = max(
            float((got - want).float().square().mean().sqrt() / want.float().square().mean().sqrt())
            for want, got in pairs
        )
    assert 10 * ROUNDING < worst["some"] < worst["none"] < QUANTISED


SHARED = [NO_ROWS, ALL_ROWS, {"int2_sink_tokens": 4, "int2_window_tokens": 0}]


@pytest.mark.differs
@pytest.mark.parametrize("rows", SHARED, ids=["no rows", "all rows", "sinks"])
def test_a_prefix_hit_is_a_cold_run_that_was_cut_there(rows: dict[str, int]) -> None:
    """Bit for bit: the second request finds the first one's tokens, which have decoded on meanwhile."""
    tokens, other, depth = made_up(60, 3), made_up(60, 4), 33
    cold = Engine(PLAIN, **INT2, **rows)
    cold.extend([(1, 0, part(tokens, 0, depth))])
    want = cold.extend([(1, depth, part(tokens, depth, 50))])
    want += cold.decode([(1, 50, part(tokens, 50, 51))])

    warm = Engine(PLAIN, **INT2, **rows)
    warm.extend([(1, 0, part(tokens, 0, depth))])
    for i in range(3):
        warm.decode([(1, depth + i, part(other, i, i + 1))])
    warm.extend([(3, 0, part(other, 10, 40))])
    warm.table[2, :depth] = warm.table[1, :depth]
    got = warm.extend([(2, depth, part(tokens, depth, 50))])
    got += warm.decode([(2, 50, part(tokens, 50, 51))])
    for a, b in zip(want, got, strict=True):
        assert torch.equal(a, b)


@pytest.mark.differs
def test_a_freed_slot_brings_nothing_along() -> None:
    """A request in the slots of a finished one gives what it gives in fresh slots, with rows of the old one still there."""
    old, new = made_up(40, 5), made_up(40, 6)
    used = Engine(PLAIN, tokens=64, **INT2, **SOME_ROWS)
    used.extend([(1, 0, part(old, 0, 40))])
    taken = used.table[1, :40].long()
    used.allocator.free(taken)
    held = used.allocator.alloc(24)  # the rest of the pool: the next request gets what was freed
    fresh = Engine(PLAIN, tokens=64, **INT2, **SOME_ROWS)
    got, want = [], []
    for engine, out in ((used, got), (fresh, want)):
        out += engine.extend([(2, 0, part(new, 0, 20))])
        out += engine.extend([(2, 20, part(new, 20, 30))])
        out += engine.decode([(2, 30, part(new, 30, 31))])
    assert set(used.table[2, :31].tolist()) <= set(taken.tolist())
    assert held is not None
    for a, b in zip(want, got, strict=True):
        assert torch.equal(a, b)


@pytest.mark.differs
def test_a_captured_decode_is_planned_anew_at_each_replay() -> None:
    """The graph path: padded batches, the same tensors each time, the plan outside. Rows must be those of the eager path."""
    tokens = made_up(60, 7)
    eager, graph = Engine(HYBRID, **INT2, **SOME_ROWS), Engine(HYBRID, **INT2, **SOME_ROWS)
    for engine in (eager, graph):
        engine.extend([(1, 0, part(tokens, 0, 20)), (2, 0, part(tokens, 20, 45))])
    runner = graph.capture(batch=4)
    for i in range(4):
        steps = [(1, 20 + i, part(tokens, 46 + i, 47 + i)), (2, 25 + i, part(tokens, 50 + i, 51 + i))]
        for want, got in zip(eager.decode(steps), runner(steps), strict=True):
            assert torch.equal(want, got)
    assert torch.equal(eager.inner.slot_rows.row_of_slot, graph.inner.slot_rows.row_of_slot)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"logit_cap": 30.0}, "soft cap"),
        ({"sliding_window_size": 16}, "sliding window"),
        ({"xai_temperature_len": 8}, "length-scaled"),
    ],
)
@pytest.mark.differs
def test_a_layer_that_wants_more_is_refused_by_name(change: dict[str, Any], name: str) -> None:
    engine = Engine(PLAIN, **INT2, **NO_ROWS)
    for key, value in change.items():
        setattr(engine.layers[0], key, value)
    with pytest.raises(NotImplementedError, match=name):
        engine.extend([(1, 0, made_up(4, 0))])
