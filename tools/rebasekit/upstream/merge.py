"""Three-way merge by git itself, diff3 style: exact lines, no whitespace leniency, nothing of the user's settings.

Lines are replaced by numbers before git sees them. git compares whole lines only, so the result is the same as on
the text (tests/upstream/test_merge.py holds it against that), while line ends, NUL bytes, a missing last newline
and lines that look like conflict markers cannot disturb it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rebasekit.upstream import command

Kind = Literal["clean", "conflict"]


@dataclass(frozen=True)
class TokenSegment:
    """A run of a merge. In a clean one, `ours`, `base` and `theirs` are all the merged tokens."""

    kind: Kind
    ours: tuple[str, ...]
    base: tuple[str, ...]
    theirs: tuple[str, ...]


@dataclass(frozen=True)
class MergeSegment:
    """A run of a merge as text, line ends kept. In a clean one, all three are the merged text."""

    kind: Kind
    ours: str
    base: str
    theirs: str


@dataclass(frozen=True)
class Merge:
    """`text` has conflict markers where `conflicts` is not 0; `segments` put together are the same merge."""

    text: str
    conflicts: int
    segments: tuple[MergeSegment, ...]


def merge3(base: str, ours: str, theirs: str, *, labels: tuple[str, str, str] = ("ours", "base", "theirs")) -> Merge:
    """Merge two changes of `base` by lines; `labels` name ours, base and theirs in the markers.

    A line ends with `\\n` only, so `\\r` is content. Raises StateError when git cannot run.
    """
    runs = merge3_lines(*(_lines(text) for text in (base, ours, theirs)))
    segments = tuple(MergeSegment(r.kind, "".join(r.ours), "".join(r.base), "".join(r.theirs)) for r in runs)
    text = "".join(s.ours if s.kind == "clean" else _marked(s, labels) for s in segments)
    return Merge(text, sum(s.kind == "conflict" for s in segments), segments)


def merge3_lines(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> list[TokenSegment]:
    """Merge two changes of a list of tokens; a token may be any text. No process runs when two sides are equal."""
    base, ours, theirs = list(base), list(ours), list(theirs)
    for one, other, result in ((ours, theirs, ours), (base, ours, theirs), (base, theirs, ours)):
        if one == other:
            return [_clean(result)] if result else []
    if apart := _apart(base, ours, theirs):
        return [_clean(apart)]
    numbers: dict[str, int] = {}
    with tempfile.TemporaryDirectory(prefix="rebasekit-merge-") as name:
        for side, tokens in (("ours", ours), ("base", base), ("theirs", theirs)):
            text = "".join(f"{numbers.setdefault(token, len(numbers))}\n" for token in tokens)
            Path(name, side).write_text(text, encoding="ascii", newline="")
        env = command.environment(None) | {"GIT_CEILING_DIRECTORIES": str(Path(name).parent)}
        # The status is the number of conflicts, at most 127; 255 is an error.
        args = ["merge-file", "-p", "--diff3", "ours", "base", "theirs"]
        merged = command.run(args, git_dir=None, cwd=Path(name), env=env, ok=range(128))
    return _parse(merged.decode("ascii").splitlines(), list(numbers))


def _apart(base: list[str], ours: list[str], theirs: list[str]) -> list[str] | None:
    """The merge of two changes that lie apart, which needs no process; None when git has to decide.

    git trims what is the same at both ends as this does, and may then move a group of changed lines past lines that
    the group has itself. A line between the changes that neither of them has cannot be passed from either side.
    """
    first, second = sorted((_changed(base, side), side) for side in (ours, theirs))
    (start, end), (then, last) = first[0], second[0]
    if end >= then:
        return None
    left, right = (side[at : len(side) - len(base) + to] for (at, to), side in (first, second))
    moving = {*left, *base[start:end], *right, *base[then:last]}
    if all(line in moving for line in base[end:then]):
        return None
    return [*base[:start], *left, *base[end:then], *right, *base[last:]]


def _changed(base: list[str], side: list[str]) -> tuple[int, int]:
    """The lines of `base` between what it has in common with `side` at both ends."""
    head, short = 0, min(len(base), len(side))
    while head < short and base[head] == side[head]:
        head += 1
    tail = 0
    while tail < short - head and base[-1 - tail] == side[-1 - tail]:
        tail += 1
    return head, len(base) - tail


def _parse(lines: list[str], tokens: list[str]) -> list[TokenSegment]:
    segments: list[TokenSegment] = []
    sides: dict[str, list[str]] = {"clean": [], "<": [], "|": [], "=": []}
    side = "clean"
    for line in lines:
        if line[0].isdigit():
            sides[side].append(tokens[int(line)])
            continue
        if line[0] == "<" and sides["clean"]:
            segments.append(_clean(sides["clean"]))
        if line[0] == ">":
            segments.append(TokenSegment("conflict", tuple(sides["<"]), tuple(sides["|"]), tuple(sides["="])))
            sides = {name: [] for name in sides}
        side = "clean" if line[0] == ">" else line[0]
    if sides["clean"]:
        segments.append(_clean(sides["clean"]))
    return segments


def _clean(tokens: Sequence[str]) -> TokenSegment:
    merged = tuple(tokens)
    return TokenSegment("clean", merged, merged, merged)


def _lines(text: str) -> list[str]:
    lines = [line + "\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _marked(segment: MergeSegment, labels: tuple[str, str, str]) -> str:
    """The conflict with markers, longer ones when the text has lines like them."""
    sides = (segment.ours, segment.base, segment.theirs)
    end = "\r\n" if any(side.endswith("\r\n") for side in sides) else "\n"
    width = 7
    while any(line.startswith(c * width) for side in sides for line in side.split("\n") for c in "<|=>"):
        width += 1
    ours, base, theirs = (side if not side or side.endswith("\n") else side + end for side in sides)
    return (
        f"{'<' * width} {labels[0]}{end}{ours}{'|' * width} {labels[1]}{end}{base}"
        f"{'=' * width}{end}{theirs}{'>' * width} {labels[2]}{end}"
    )
