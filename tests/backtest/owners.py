"""Whose each line of a finished file is, followed from hunk to hunk; and which of the release's lines each took out."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tests.backtest.units import Step


@dataclass
class Owners:
    """One file. `lines` says for each line who put it there: a hunk, or the line of the release (from 1)."""

    lines: list[str | int]
    gone: dict[str, set[int]] = field(default_factory=dict)

    def of(self, hunk: str) -> set[int]:
        """The lines of the finished file (from 1) that a hunk put there."""
        return {number for number, owner in enumerate(self.lines, 1) if owner == hunk}

    def take(self, hunk: str, before: bytes, after: bytes) -> None:
        """Follow one hunk."""
        for start, end, count in reversed(list(_changes(before.split(b"\n"), after.split(b"\n")))):
            taken = {owner for owner in self.lines[start:end] if isinstance(owner, int)}
            self.gone.setdefault(hunk, set()).update(taken)
            self.lines[start:end] = [hunk] * count


def follow(steps: Iterable[Step]) -> dict[str, Owners]:
    """The owners of every file that the steps changed; a file that is gone in the end has none."""
    found: dict[str, Owners] = {}
    for step in steps:
        for path, after in step.after.items():
            before = step.before.get(path)
            if path not in found:
                found[path] = Owners(list(range(1, before.count(b"\n") + 2)) if before is not None else [""])
            found[path].take(step.hunk, before or b"", after or b"")
    return found


def _changes(old: list[bytes], new: list[bytes]) -> Iterator[tuple[int, int, int]]:
    """Changed runs: from and to in the old lines, and how many new ones are there instead."""
    head, short = 0, min(len(old), len(new))
    while head < short and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < short - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    left, right = old[head : len(old) - tail], new[head : len(new) - tail]
    for kind, i, j, k, m in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if kind != "equal":
            yield head + i, head + j, m - k
