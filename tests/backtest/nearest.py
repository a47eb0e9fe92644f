"""The release that a fork was made from: the one whose tree is most like the fork's.

Nothing says which release a fork is of, its version least of all. A few releases over the whole history are looked
at first; from the most alike the search goes on in ever smaller steps, so that a dozen downloads settle it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rebasekit.model.progress import SILENT, Progress
from rebasekit.model.tag import Tag
from rebasekit.upstream.store import Store

STRIDE = 16  # releases between those that are looked at first


def likeness(one: Mapping[str, str], other: Mapping[str, str]) -> float:
    """How alike two trees are, 0 to 1: Python files that are the same count in full, those of one path a tenth."""
    mine, theirs = _python(one), _python(other)
    every = mine.keys() | theirs.keys()
    if not every:
        return 0.0
    both = mine.keys() & theirs.keys()
    same = sum(mine[path] == theirs[path] for path in both)
    return (same * 0.9 + len(both) * 0.1) / len(every)


def _python(tree: Mapping[str, str]) -> dict[str, str]:
    return {path: blob for path, blob in tree.items() if path.endswith(".py")}


@dataclass
class Nearest:
    """The search: `store` has the releases, `fork` is the fork's tree by path and blob id."""

    store: Store
    fork: Mapping[str, str]
    releases: Sequence[Tag]
    progress: Progress = SILENT
    seen: dict[Tag, float] = field(default_factory=dict)

    def find(self) -> Tag:
        """The most alike release; raise UpstreamError when one cannot be fetched."""
        best = max(range(len(self.releases) - 1, -1, -STRIDE), key=self._score)
        step = STRIDE // 2
        while step:
            around = [i for i in (best - step, best, best + step) if 0 <= i < len(self.releases)]
            better = max(around, key=self._score)
            if better == best:
                step //= 2
            best = better
        return self.releases[best]

    def _score(self, index: int) -> float:
        tag = self.releases[index]
        if tag not in self.seen:
            self.store.ensure(tag, self.progress)
            self.seen[tag] = likeness(self.fork, self.store.files(tag))
        return self.seen[tag]
