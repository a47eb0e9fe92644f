"""Every hunk over all tags that have a map."""

from __future__ import annotations

from dataclasses import dataclass

from rebasekit.model.placement import Outcome
from rebasekit.patches.maps import MapEntry, TagMap

_SIGNS = {
    Outcome.CARRIED: "●",
    Outcome.SHIFTED: "◐",
    Outcome.RELOCATED: "➜",
    Outcome.UPSTREAMED: "▲",
    Outcome.NOT_MEANT: "–",
    Outcome.CONFLICT: "✖",
    Outcome.MISSING: "?",
    Outcome.AMBIGUOUS: "≈",
}


@dataclass(frozen=True)
class Cell:
    """A hunk on one tag; the word is empty where the tag's map does not know the hunk."""

    tag: str
    word: str = ""
    sign: str = "·"
    title: str = ""
    findings: int = 0


@dataclass(frozen=True)
class Row:
    patch: str
    hunk: str
    cells: tuple[Cell, ...]


def legend() -> tuple[tuple[str, str], ...]:
    return tuple((sign, outcome.value) for outcome, sign in _SIGNS.items())


def rows(maps: tuple[TagMap, ...]) -> tuple[Row, ...]:
    """In the order of the newest map; hunks that only older maps know come last."""
    entries = {(kept.tag, entry.patch, entry.id): entry for kept in maps for entry in kept.hunks}
    names = dict.fromkeys((entry.patch, entry.id) for kept in reversed(maps) for entry in kept.hunks)
    return tuple(
        Row(patch, hunk, tuple(_cell(kept.tag, entries.get((kept.tag, patch, hunk))) for kept in maps))
        for patch, hunk in names
    )


def _cell(tag: str, entry: MapEntry | None) -> Cell:
    if entry is None:
        return Cell(tag, title=f"{tag}: not in the series")
    place = f"{entry.file}:{entry.line}" if entry.line else entry.file
    scope = f" in {entry.scope}" if entry.scope else ""
    reason = entry.reason or entry.method
    title = f"{tag}: {entry.placement.value}, {place}{scope}{f' ({reason})' if reason else ''}"
    return Cell(tag, entry.placement.value, _SIGNS[entry.placement], title, len(entry.findings))
