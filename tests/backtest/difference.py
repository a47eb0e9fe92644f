"""What a fork changed in its base: the difference to the nearest release, less what is upstream's own.

A fork is seldom made of a release to the byte: its base is a commit between two of them. Where it still has the text
of the release before, a three-way merge takes the base's; where that conflicts, the fork's lines stay.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from rebasekit.edit.source import Source, Unreadable, split_lines
from rebasekit.model.tag import Tag
from rebasekit.upstream.merge import merge3_lines
from rebasekit.upstream.patchfile import FileChange
from rebasekit.upstream.repository import Repository


@dataclass(frozen=True)
class Sheet:
    """The maintainer's own rebase: his next version, and the release that it is made of."""

    fork: Repository
    tag: Tag
    target: Tag


@dataclass(frozen=True)
class Difference:
    """The fork's changes by file, and how many files were left out and why."""

    changes: tuple[FileChange, ...]
    left_out: Counter[str] = field(default_factory=Counter)


def difference(
    upstream: Repository, base: Tag, before: Tag | None, fork: Repository, version: Tag, sheet: Sheet | None = None
) -> Difference:
    """The changes of Python files from `base` to the fork's `version`. `before` is the release before the base.

    Files that the fork lacks are left out: a wheel need not hold all of a tree. With a sheet, so are files of the base
    in which the maintainer carries nothing to the target: what they differ in came from upstream's own branch.
    """
    mine, theirs = fork.files(version), upstream.files(base)
    older = upstream.files(before) if before else {}
    found, left = [], Counter[str]()
    for path in sorted(p for p in mine if p.endswith(".py")):
        if mine[path] == theirs.get(path):
            continue
        if mine[path] == older.get(path):
            left["the release before has the same file"] += 1
        elif (
            sheet and path in theirs and sheet.fork.files(sheet.tag).get(path) == upstream.files(sheet.target).get(path)
        ):
            left["the maintainer carries nothing in it"] += 1
        elif change := _change(upstream, base, before, fork.read(version, path) or b"", path):
            found.append(change)
        else:
            left["every line is upstream's"] += 1
    return Difference(tuple(found), left)


def _change(upstream: Repository, base: Tag, before: Tag | None, new: bytes, path: str) -> FileChange | None:
    old, older = upstream.read(base, path), upstream.read(before, path) if before else None
    if old is not None and older is not None:
        new = _caught_up(older, new, old)
    return FileChange(path, old, new) if new != old else None


def _caught_up(older: bytes, new: bytes, old: bytes) -> bytes:
    """The fork's file with the base's text where it has the older release's."""
    try:
        sides = [split_lines(data.decode()) for data in (older, new, old)]
        text = "".join("".join(run.ours) for run in merge3_lines(*sides)).encode()
        Source.of(text)
    except (UnicodeDecodeError, Unreadable):
        return new
    return text
