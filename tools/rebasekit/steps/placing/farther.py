"""Files beyond a scope's own in which its rival may stand, found by lines in one pass over what changed.

Twins in two files may change places as twins in one file do. To read every changed file as Python would take longer
than placing, and to search the tree once for every scope as well; whether a line is among a file's lines is quick, for
all scopes at once, and asked once. Only what then looks promising is read by `rivals`.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from rebasekit.model.progress import SILENT, Progress
from rebasekit.model.tag import Tag
from rebasekit.steps.placing.question import Farther, Succession
from rebasekit.steps.trees import Trees

_LARGE = 4_000_000  # bytes: to take such a file apart takes memory


@dataclass(frozen=True)
class _Body:
    """Lines that are looked for on a tag, and were not there on another; `telling` is the line that has to be there."""

    lines: Counter[bytes]
    telling: bytes
    tag: Tag
    against: Tag

    @classmethod
    def of(cls, lines: Counter[str], other: Counter[str], tag: Tag, against: Tag) -> _Body:
        """The line that has to be there is the longest that the other body has not."""
        telling = max(lines - other or lines, key=len, default="")
        return cls(Counter({line.encode(): count for line, count in lines.items()}), telling.encode(), tag, against)

    @cached_property
    def key(self) -> str:
        """What the answer depends on beside the two releases."""
        lines = (b"%d %s" % (count, line) for line, count in sorted(self.lines.items()))
        return hashlib.sha256(b"\n".join((self.telling, *lines))).hexdigest()[:32]

    def may_stand_in(self, data: bytes) -> bool:
        """Whether a file has enough of the lines: a scope that is four fifths alike has two thirds of them or more."""
        missing = self.lines.total() - sum(self.lines[line] for line in _counted(data, self.lines))
        return 3 * missing <= self.lines.total()

    def came_to(self, data: bytes, before: bytes) -> bool:
        """Whether a file has more of the lines than it had."""
        return not _counted(data, self.lines) <= _counted(before, self.lines)


def farther(trees: Trees, successions: Mapping[str, Succession], progress: Progress = SILENT) -> dict[str, Farther]:
    """For each name the files in which another scope may have a better claim; names without any are left out."""
    heirs = {name: _Body.of(s.was, s.now, s.tag, s.pin) for name, s in successions.items()}
    forebears = {name: _Body.of(s.now, s.was, s.pin, s.tag) for name, s in successions.items()}
    _search(trees, [*heirs.values(), *forebears.values()], progress)
    result = {}
    for name, one in successions.items():
        found = (_known(trees, body).get(body.key, ()) for body in (heirs[name], forebears[name]))
        files = Farther(*(tuple(path for path in paths if path not in one.files) for paths in found))
        if files != Farther():
            result[name] = files
    return result


def _known(trees: Trees, body: _Body) -> dict[str, list[str]]:
    return trees.searched.of((trees.commit(body.tag), trees.commit(body.against)))


def _search(trees: Trees, bodies: list[_Body], progress: Progress) -> None:
    """Find the files in which each body may stand, unless that is known."""
    new = {(b.tag, b.against, b.key): b for b in bodies if b.lines.total() > 1 and b.key not in _known(trees, b)}
    telling: dict[bytes, list[_Body]] = {}
    for body in new.values():
        telling.setdefault(body.telling, []).append(body)
    found: dict[tuple[Tag, Tag], dict[str, list[str]]] = {}
    for tag, against, key in new:
        found.setdefault((tag, against), {})[key] = []
    if not found:
        return
    with progress.task("looking through what changed"):
        for places, data in trees.changed(found):
            bodies = [body for body in _told(data, telling) if body.may_stand_in(data)]
            for body, (tag, path) in product(bodies, places):
                if tag == body.tag and body.came_to(data, trees.data(body.against, path) or b""):
                    found[tag, body.against][body.key].append(path)
    for (tag, against), answers in found.items():
        trees.searched.add((trees.commit(tag), trees.commit(against)), answers)


def _told(data: bytes, telling: Mapping[bytes, list[_Body]]) -> list[_Body]:
    """The bodies whose telling line is in a file."""
    if len(data) > _LARGE and not any(line in data for line in telling):
        return []
    lines = data.split(b"\n")
    if telling.keys().isdisjoint(map(bytes.strip, lines)):
        return []
    return [body for line in sorted(telling.keys() & set(map(bytes.strip, lines))) for body in telling[line]]


def _counted(data: bytes, wanted: Counter[bytes]) -> Counter[bytes]:
    return Counter(line for line in map(bytes.strip, data.split(b"\n")) if line in wanted)
