"""Where the lines of one text are in another that was made from it by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rebasekit.edit.source import split_lines
from rebasekit.steps.fileforms import line_changes


@dataclass(frozen=True)
class Stretch:
    """Lines `start:end` of the old text became lines `new_start:new_end` (0-based, half open)."""

    start: int
    end: int
    new_start: int
    new_end: int

    @property
    def inserted(self) -> bool:
        return self.start == self.end


@dataclass
class LineMap:
    """The changed stretches between two texts. What was added beside a block is its own at most once."""

    old: str
    new: str
    stretches: list[Stretch] = field(default_factory=list)
    claimed: set[Stretch] = field(default_factory=set)

    def __post_init__(self) -> None:
        shift = 0
        for change in line_changes(self.old, self.new):
            start, end = change.at - 1, change.at - 1 + change.gone
            self.stretches.append(Stretch(start, end, start + shift, start + shift + len(change.lines)))
            shift += len(change.lines) - change.gone
        self.lines = split_lines(self.new)

    def block(self, first: int, last: int, *, extend: bool) -> tuple[bool, str]:
        """Whether lines `first:last` were touched, and their text now; with `extend`, lines added beside count too."""
        beside = {s for s in self._beside(first, last) if extend and s not in self.claimed}
        self.claimed |= beside
        touched = bool(beside)
        start, end = first, last
        for s in self.stretches:
            grown = s.new_end - s.new_start - (s.end - s.start)
            inside = s.start < last and s.end > first
            touched = touched or inside
            if s.start < first < s.end:
                start = s.new_start
            elif s.end <= first and s not in beside:
                start += grown
            if s.start < last < s.end:
                end = s.new_end
            elif s.end <= last and (s in beside or not s.inserted or s.start < last):
                end += grown
        return touched, "".join(self.lines[start:end])

    def _beside(self, first: int, last: int) -> Sequence[Stretch]:
        """Insertions that touch the block without a blank line between."""
        found = []
        for s in self.stretches:
            added = self.lines[s.new_start : s.new_end]
            at_end = s.inserted and s.start == last and added[0].strip()
            at_start = s.inserted and s.start == first and added[-1].strip()
            if at_end or at_start:
                found.append(s)
        return found
