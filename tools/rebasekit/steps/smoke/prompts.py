"""Prompts: seeded, so that a run can be repeated, and disjoint, so that none is in another's cache."""

from __future__ import annotations

import random

NEW = 8  # tokens per answer
_SHORT, _CLIENTS = 40, 6


def seeded(seed: int, length: int) -> list[int]:
    """A prompt of that length; prompts of different seeds share no prefix."""
    source = random.Random(seed)  # noqa: S311  reproducible, not secret
    return [source.randrange(256) for _ in range(length)]


def prompts(context: int) -> list[list[int]]:
    """All prompts that have a reference: three short, two at the limit, one in the middle, and a batch."""
    lengths = [_SHORT // 2, _SHORT, _SHORT * 2, context - NEW - 2, context - 6, context // 2]
    lengths += [_SHORT // 2 + 13 * number for number in range(_CLIENTS)]
    return [seeded(number, length) for number, length in enumerate(lengths)]


def referenced(context: int) -> list[list[int]]:
    """The prompts whose answers are compared with the reference."""
    every = prompts(context)
    return [*every[:4], *every[6:]]
