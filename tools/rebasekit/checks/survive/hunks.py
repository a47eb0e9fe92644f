"""What the check is asked about: hunks, each with its own lines in a file of either tree."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sight:
    """A hunk's own lines in one patched tree: 1-based numbers, and the whole file's bytes."""

    file: str
    lines: tuple[int, ...]
    source: bytes


@dataclass(frozen=True)
class UsedHunk:
    """A hunk as it stands on the tag of its pin (`old`) and on the new tag (`new`).

    `old` is None for a hunk that was never seen elsewhere (a variant that begins at the new tag), `new` for one
    that has no place there yet: its uses are checked all the same. `uses` are the dotted names that the hunk lists.
    """

    patch: str
    id: str
    old: Sight | None
    new: Sight | None
    uses: tuple[str, ...] = ()
