"""The sides of a conflict as short texts: our change, upstream's change, and where they meet."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from rebasekit.model.placement import Conflict

_CONTEXT = 3


@dataclass(frozen=True)
class Side:
    """One part of a conflict: a title and lines of a diff or of a merge with conflict markers."""

    title: str
    lines: tuple[str, ...]
    upstream: bool = False


def sides(conflict: Conflict, base: str, tag: str) -> list[Side]:
    """What to show of a conflict, in the order in which one reads it."""
    found = [Side("our change to the scope", diff(conflict.base, conflict.ours))]
    if conflict.theirs is None:
        found.append(Side(f"upstream, {base} → {tag}: the scope is gone", ()))
    else:
        upstream = tuple(conflict.upstream_diff.splitlines()) or diff(conflict.base, conflict.theirs)
        title = f"upstream's change to the scope, {base} → {tag}"
        found.append(Side(title if upstream else f"{title}: none", upstream, upstream=True))
    if conflict.merged:
        found.append(Side("where both meet", regions(conflict.merged)))
    if conflict.alone and conflict.theirs is not None:
        found.append(Side("where the anchor alone puts it", diff(conflict.theirs, conflict.alone)))
    return [side for side in found if side.lines or side.title.endswith(("gone", "none"))]


def diff(before: str, after: str) -> tuple[str, ...]:
    """A unified diff without its file header."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=_CONTEXT)
    return tuple(lines)[2:]


def nearest(conflict: Conflict, lines: tuple[str, ...]) -> tuple[tuple[str, ...], int, int]:
    """The parts of upstream's diff that the conflict is about, how many they are, and how many there are in all.

    A part counts when it has one of the lines that stand between the markers; all count when none does.
    """
    inside: set[str] = set()
    marked = False
    for line in conflict.merged.splitlines():
        if line.startswith(("<<<<<<< ", ">>>>>>> ")):
            marked = line.startswith("<")
        elif marked and len(line.strip()) > 2:
            inside.add(line)
    starts = [number for number, line in enumerate(lines) if line.startswith("@@")]
    parts = [lines[a:b] for a, b in zip(starts, [*starts[1:], len(lines)], strict=True)]
    near = [part for part in parts if any(line[:1] in "+-" and line[1:] in inside for line in part)] or parts
    head = lines[: starts[0]] if starts else ()
    return (*head, *(line for part in near for line in part)), len(near), len(parts)


def regions(merged: str) -> tuple[str, ...]:
    """The parts of a merge that hold conflict markers, with a few lines around them."""
    lines = merged.splitlines()
    keep: set[int] = set()
    start: int | None = None
    for number, line in enumerate(lines):
        if line.startswith("<<<<<<<"):
            start = number
        elif line.startswith(">>>>>>>") and start is not None:
            keep.update(range(max(0, start - _CONTEXT), min(len(lines), number + _CONTEXT + 1)))
            start = None
    found: list[str] = []
    for number in sorted(keep):
        if found and number - 1 not in keep:
            found.append("…")
        found.append(lines[number])
    return tuple(found)
