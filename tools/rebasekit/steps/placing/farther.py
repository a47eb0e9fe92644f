"""Files beyond a scope's own in which its rival may stand, found by lines in one pass over what changed.

Twins in two files may change places as twins in one file do. To read every changed file as Python would take longer
than placing, and to search the tree once for every scope as well; whether a line is among a file's lines is quick, for
all scopes at once. Only what then looks promising is read by `rivals`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from rebasekit.model.tag import Tag
from rebasekit.steps.placing.question import Farther, Succession
from rebasekit.steps.trees import Trees

_LARGE = 4_000_000  # bytes: to take such a file apart takes memory


@dataclass(frozen=True)
class _Body:
    """Lines that are looked for on a tag, and were not there on another; `near` are the files that need no search."""

    name: str
    lines: Counter[bytes]
    telling: bytes
    tag: Tag
    against: Tag
    near: tuple[str, str]

    @classmethod
    def of(
        cls, name: str, lines: Counter[str], other: Counter[str], tags: tuple[Tag, Tag], near: tuple[str, str]
    ) -> _Body:
        """The line that has to be there is the longest that the other body has not."""
        telling = max(lines - other or lines, key=len, default="")
        return cls(name, Counter({line.encode(): n for line, n in lines.items()}), telling.encode(), *tags, near)

    def may_stand_in(self, data: bytes, before: bytes) -> bool:
        """Whether a file has enough of the lines for a scope in it to be this body, and had fewer.

        A scope that is four fifths alike has two thirds of the lines or more.
        """
        have = _counted(data, self.lines)
        missing = self.lines.total() - sum(self.lines[line] for line in have)
        return 3 * missing <= self.lines.total() and not have <= _counted(before, self.lines)


def farther(trees: Trees, successions: Mapping[str, Succession]) -> dict[str, Farther]:
    """For each name the files in which another scope may have a better claim; names without any are left out."""
    heirs = [_Body.of(n, s.was, s.now, (s.tag, s.pin), s.files) for n, s in successions.items()]
    forebears = [_Body.of(n, s.now, s.was, (s.pin, s.tag), s.files) for n, s in successions.items()]
    found = _holding(trees, [*heirs, *forebears])
    result = {}
    for name, one in successions.items():
        files = Farther(tuple(found.get((name, one.tag), ())), tuple(found.get((name, one.pin), ())))
        if files != Farther():
            result[name] = files
    return result


def _holding(trees: Trees, bodies: list[_Body]) -> dict[tuple[str, Tag], list[str]]:
    """The files in which each body may stand, by its name and tag."""
    telling: dict[bytes, list[_Body]] = {}
    for body in bodies:
        if body.telling:
            telling.setdefault(body.telling, []).append(body)
    found: dict[tuple[str, Tag], list[str]] = {}
    for places, data in trees.changed(dict.fromkeys((b.tag, b.against) for b in bodies)):
        if len(data) > _LARGE and not any(line in data for line in telling):
            continue
        lines = data.split(b"\n")
        if telling.keys().isdisjoint(map(bytes.strip, lines)):
            continue
        hits = telling.keys() & set(map(bytes.strip, lines))
        for body, (tag, path) in product((b for line in sorted(hits) for b in telling[line]), places):
            if tag == body.tag and path not in body.near:
                before = trees.data(body.against, path) or b""
                if body.may_stand_in(data, before):
                    found.setdefault((body.name, tag), []).append(path)
    return found


def _counted(data: bytes, wanted: Counter[bytes]) -> Counter[bytes]:
    return Counter(line for line in map(bytes.strip, data.split(b"\n")) if line in wanted)
