"""Answers that are known beforehand, and how far a server may be from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rebasekit.steps.smoke.client import Answer

TIE = 0.05  # logits: below that, fp16 may prefer the other token


class Wrong(Exception):
    """The server answered, and not what it should."""


@dataclass(frozen=True)
class Expected:
    """What the reference says of one prompt: the tokens after it, by how much each was ahead (logits), and the
    log-probability (nats) of each of the prompt's tokens but the first."""

    tokens: tuple[int, ...]
    margins: tuple[float, ...]
    scores: tuple[float, ...] = ()


def compare(prompt: Sequence[int], answer: Answer, expected: Expected) -> int:
    """Raise Wrong where the answer leaves the reference; 1 when it does so at a tie, which ends the comparison."""
    if len(answer.tokens) != len(expected.tokens):
        raise Wrong(f"{len(answer.tokens)} tokens instead of {len(expected.tokens)} ({answer.finish})")
    for number, (mine, theirs) in enumerate(zip(answer.tokens, expected.tokens, strict=True)):
        if mine != theirs:
            if expected.margins[number] < TIE:
                return 1
            ahead = f"which is ahead by {expected.margins[number]:.2f}"
            raise Wrong(f"token {number + 1} after {len(prompt)} is {mine}, the reference's {theirs}, {ahead}")
    return 0


def same(mine: Answer, theirs: Answer, tie: float) -> int:
    """Raise Wrong where two answers part, with their own words; 1 when both tokens were within `tie` logits there.

    `theirs` was asked with its runners-up, when `tie` is not 0.
    """
    if len(mine.tokens) != len(theirs.tokens):
        raise Wrong(f"{len(mine.tokens)} tokens and {len(theirs.tokens)}")
    for number, (a, b) in enumerate(zip(mine.tokens, theirs.tokens, strict=True)):
        if a != b:
            lead = theirs.margins[number] if number < len(theirs.margins) else math.inf
            if lead < tie:
                return 1
            ahead = "" if math.isinf(lead) else f", {lead:.2f} logits apart"
            raise Wrong(f"{list(mine.tokens)} and {list(theirs.tokens)}: token {number + 1} differs{ahead}")
    return 0


def distance(found: Sequence[float], expected: Sequence[float]) -> tuple[float, float]:
    """Mean and largest difference of log-probabilities, in nats. Raises Wrong when one is not finite."""
    if len(found) != len(expected):
        raise Wrong(f"{len(found)} log-probabilities instead of {len(expected)}")
    if odd := [number for number, value in enumerate(found) if not math.isfinite(value) or value > 0]:
        raise Wrong(f"the log-probability of token {odd[0] + 2} is {found[odd[0]]}; {len(odd)} are no probabilities")
    apart = [abs(a - b) for a, b in zip(found, expected, strict=True)]
    return sum(apart) / len(apart), max(apart)
