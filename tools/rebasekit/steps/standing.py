"""Whether a hunk's lines stand in the patched file as the hunk says them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rebasekit.edit.places import STATEMENT_PLACES
from rebasekit.model.hunk import Place
from rebasekit.model.placement import Placement

_SAID = (*STATEMENT_PLACES, Place.NEW_FILE)


def lost_line(placement: Placement, text: str, others: Iterable[Placement]) -> str:
    """The first line of the hunk that is not on the hunk's lines of the patched text; empty when all are.

    Indentation does not count here. A line into which a later hunk put something of its own is as it should be.
    """
    form = placement.form
    if form is None or form.place not in _SAID:
        return ""
    lines = text.split("\n")
    shared = {n for other in others if other.file == placement.file for n in other.lines} & set(placement.lines)
    have = Counter(_bare(lines[n - 1]) for n in placement.lines if n <= len(lines) and n not in shared)
    count = max(form.count, 1) if form.at else 1
    lost = []
    for line, times in Counter(bare for line in form.lines.split("\n") if (bare := _bare(line))).items():
        lost += [line] * (times * count - have[line])
    return lost[0] if len(lost) > len(shared) else ""


def _bare(line: str) -> str:
    """The line without what surrounds it; a byte order mark belongs to the file."""
    return line.removeprefix("\ufeff").strip()
