"""A store in memory for the steps, and git's own merge on the same files."""

from __future__ import annotations

import hashlib
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

Bytes = dict[str, bytes]


@dataclass
class Memory:
    """What placing reads of a store, from dictionaries by tag."""

    trees: dict[str, Bytes]

    def read(self, rev: str, path: str) -> bytes | None:
        return self.trees[rev].get(path)

    def files(self, rev: str) -> dict[str, str]:
        return {path: hashlib.sha1(data).hexdigest() for path, data in self.trees[rev].items()}

    def commit(self, rev: str) -> str:
        return rev

    def read_many(self, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        known = {hashlib.sha1(data).hexdigest(): data for tree in self.trees.values() for data in tree.values()}
        return ((each, known[each]) for each in ids)

    def grep(self, rev: str, text: str, *, fixed: bool = True, suffix: str = ".py") -> list[tuple[str, int]]:
        wanted = re.compile(re.escape(text) if fixed else text)
        found = []
        for path, data in self.trees[rev].items():
            if path.endswith(suffix):
                lines = data.decode(errors="replace").split("\n")
                found += [(path, number) for number, line in enumerate(lines, 1) if wanted.search(line)]
        return found

    def renames(self, a: str, b: str) -> dict[str, str]:
        """As `git diff --find-renames`: at least half of the bytes are the same lines."""
        old = {p: d for p, d in self.trees[a].items() if p not in self.trees[b]}
        new = {p: d for p, d in self.trees[b].items() if p not in self.trees[a]}
        rated = sorted(((alike(x, y), p, q) for p, x in old.items() for q, y in new.items()), reverse=True)
        found: dict[str, str] = {}
        for share, path, other in rated:
            if share >= 0.5 and path not in found and other not in found.values():
                found[path] = other
        return found


def alike(one: bytes, other: bytes) -> float:
    mine, theirs = (Counter(data.splitlines(keepends=True)) for data in (one, other))
    same = sum(len(line) * count for line, count in (mine & theirs).items())
    return same / max(len(one), len(other), 1)


def merge_file(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """`git merge-file`; None when it conflicts."""
    with tempfile.TemporaryDirectory() as name:
        for side, data in (("ours", ours), ("base", base), ("theirs", theirs)):
            Path(name, side).write_bytes(data)
        argv = ["git", "merge-file", "-p", "-q", "ours", "base", "theirs"]
        done = subprocess.run(argv, cwd=name, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def merged_tree(base: Bytes, ours: Bytes, theirs: Bytes) -> Bytes | None:
    """Every file that we changed merged into upstream's; None when a person has to look at one."""
    result = dict(theirs)
    for path in sorted({*base, *ours}):
        old, mine, now = base.get(path), ours.get(path), theirs.get(path)
        if old == mine:
            continue
        if old is None:
            if now is not None and now != mine:
                return None
            assert mine is not None
            result[path] = mine
            continue
        if mine is None or now is None:
            return None
        merged = merge_file(old, mine, now)
        if merged is None:
            return None
        result[path] = merged
    return result
