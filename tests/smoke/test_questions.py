"""Questions about approximations: log-probabilities, a launch that has to equal another, hits at a chunk's end."""

from __future__ import annotations

import math

import pytest

from rebasekit.steps.smoke.client import Answer
from rebasekit.steps.smoke.compare import Expected, Wrong, compare, distance, same
from rebasekit.steps.smoke.prompts import prompts

from .conftest import CONTEXT, expect


def answer(*tokens, margins=()):
    return Answer(tokens, 0, 4, "length", margins=margins)


def test_a_difference_counts_as_a_tie_only_where_the_reference_nearly_tied():
    assert compare([1], answer(5, 6), Expected((5, 6), (1.0, 1.0))) == 0
    assert compare([1], answer(5, 7), Expected((5, 6), (1.0, 0.04))) == 1
    with pytest.raises(Wrong, match=r"token 2 after 1 is 7, the reference's 6, which is ahead by 0\.06"):
        compare([1], answer(5, 7), Expected((5, 6), (1.0, 0.06)))
    with pytest.raises(Wrong, match="1 tokens instead of 2"):
        compare([1], answer(5), Expected((5, 6), (1.0, 1.0)))


def test_two_answers_are_the_same_or_tied_where_they_part():
    assert same(answer(5, 6), answer(5, 6), 0.0) == 0
    with pytest.raises(Wrong, match="token 2 differs"):
        same(answer(5, 7), answer(5, 6), 0.0)
    assert same(answer(5, 7), answer(5, 6, margins=(2.0, 0.1)), 0.25) == 1
    with pytest.raises(Wrong, match=r"0\.30 logits apart"):
        same(answer(5, 7), answer(5, 6, margins=(2.0, 0.3)), 0.25)
    with pytest.raises(Wrong, match="1 tokens and 2"):
        same(answer(5), answer(5, 6), 0.25)


def test_distances_are_of_finite_numbers():
    assert distance([-1.0, -2.0], [-1.5, -2.0]) == (0.25, 0.5)
    for odd in (math.nan, -math.inf, 0.1):
        with pytest.raises(Wrong, match="token 3 is"):
            distance([-1.0, odd], [-1.0, -1.0])
    with pytest.raises(Wrong, match="1 log-probabilities instead of 2"):
        distance([-1.0], [-1.0, -1.0])


def test_logits_within_the_bound(served):
    found = served.smoke(steps=("logits",), bound=0.1)
    assert found["logits"] == ("ok", "93 log-probabilities are finite, 0.000 nats from the reference's in the mean, 0.00 at most (bound 0.1)")  # fmt: skip # noqa: E501


def test_logits_beyond_the_bound(served):
    assert "0.50 at most, and the bound is 0.1" in served.smoke("off", steps=("logits",), bound=0.1)["logits"][1]


def test_logits_that_are_no_numbers(served):
    outcome, text = served.smoke("nan", steps=("logits",), bound=9.0)["logits"]
    assert outcome == "FAIL" and "log-probability of token 9 is nan; 1 are no probabilities" in text


def test_a_hit_at_a_chunks_end_equals_a_cold_run(served):
    found = served.smoke(steps=("aligned-prefix",))
    assert found["aligned-prefix"] == ("ok", "a hit of 48 of 68 tokens equals a cold run, 8 tokens")


def test_a_hit_elsewhere_is_not_compared(served):
    """The server gives one token less than was asked for again, as one does that keeps the last state back."""
    served.write(
        "server", (served.root / "served/server.py").read_text().replace("known = min(known,", "known = min(known - 1,")
    )
    outcome, text = served.smoke(steps=("aligned-prefix",))["aligned-prefix"]
    assert outcome == "FAIL" and "47 of 48 known tokens came from the cache: not whole chunks" in text


def test_a_hit_that_changes_the_answer_needs_a_tie(served):
    outcome, text = served.smoke("stale-cache", steps=("aligned-prefix",))["aligned-prefix"]
    assert outcome == "FAIL" and "token 8 differs" in text
    outcome, text = served.smoke("stale-cache", steps=("aligned-prefix",), tie=0.25)["aligned-prefix"]
    assert outcome == "ok" and "up to where two were within 0.25 logits" in text


def test_where_chunks_end_elsewhere_two_that_nearly_tie_may_change_places(served):
    """A hit and a cold run round differently there; where chunks end alike they may not."""
    server = (served.root / "served/server.py").read_text()
    served.write("server", server.replace("[-0.6, 0, None]", "[-0.53, 0, None]"))
    found = served.smoke("stale-cache", steps=("prefix", "aligned-prefix"))
    assert found["prefix"][0] == "ok" and "up to where two were within 0.05 logits" in found["prefix"][1]
    assert found["aligned-prefix"][0] == "FAIL" and "token 8 differs" in found["aligned-prefix"][1]


def test_a_launch_has_to_give_another_ones_tokens(served):
    mine = {tuple(prompt): expect(prompt).tokens for prompt in prompts(CONTEXT)[:3]}
    found = served.smoke(steps=("greedy",), equals="other", answers={"other": mine})
    assert found["greedy"] == ("ok", "24 tokens equal the reference's and the other launch's")
    assert served.run.answers["main"] == mine
    changed = {key: (*tokens[:-1], tokens[-1] ^ 1) for key, tokens in mine.items()}
    outcome, text = served.smoke(steps=("greedy",), equals="other", answers={"other": changed})["greedy"]
    assert outcome == "FAIL" and "the other launch says" in text
