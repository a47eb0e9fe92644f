"""Many files as they are, on two processes: what fails on every run that gets there."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice

from rebasekit.checks.unbound.check import Failing, failing
from rebasekit.checks.unbound.flakes import pyflakes
from rebasekit.checks.unbound.tree import Tree, World
from rebasekit.facts.collect import paused
from rebasekit.model.progress import SILENT, Progress

_BATCH = 40  # files per task: large enough to hide the pipe, small enough for a progress bar
_FEW = 80  # below this, starting processes costs more than it saves

_File = tuple[str, bytes]


class _Nothing:
    """A tree without files, for files that need no other."""

    def paths(self) -> tuple[str, ...]:
        return ()

    def read(self, path: str) -> bytes | None:
        return None

    def holding(self, text: str) -> tuple[str, ...]:
        return ()


def _batch(files: list[_File]) -> list[Failing]:
    """What fails in files without star imports."""
    with paused():
        return [one for path, data in files for one in failing(World(_Nothing(), {path: data}), path, branches=False)]


def survey(tree: Tree, paths: Iterable[str], progress: Progress = SILENT, workers: int | None = None) -> list[Failing]:
    """What fails in `paths` of a tree, by file and line; raise StateError when pyflakes is missing."""
    pyflakes()
    wanted = sorted(path for path in paths if path.endswith(".py"))
    found: list[Failing] = []
    starred: list[str] = []
    with progress.task("looking for unbound names", len(wanted), "files") as bar:
        for batch, result in _results(_batches(tree, wanted, starred), len(wanted), workers):
            found += result
            bar.advance(batch)
        world = World(tree)
        for path in starred:
            found += failing(world, path, branches=False)
            bar.advance()
    return sorted(found, key=lambda one: (one.file, one.line, one.name))


def _batches(tree: Tree, paths: list[str], starred: list[str]) -> Iterator[list[_File]]:
    """Files to read elsewhere; those with star imports need the tree, and are put aside."""

    def files() -> Iterator[_File]:
        for path in paths:
            data = tree.read(path)
            if data is not None and b"import *" in data:
                starred.append(path)
            elif data is not None:
                yield path, data

    source = files()
    while batch := list(islice(source, _BATCH)):
        yield batch


def _results(batches: Iterator[list[_File]], total: int, workers: int | None) -> Iterator[tuple[int, list[Failing]]]:
    count = workers or min(2, os.cpu_count() or 1)
    if total < _FEW or count == 1:
        for batch in batches:
            yield len(batch), _batch(batch)
        return
    with ProcessPoolExecutor(count) as pool:
        waiting: list[tuple[int, object]] = []
        for batch in batches:
            waiting.append((len(batch), pool.submit(_batch, batch)))
            if len(waiting) > count + 1:  # the tree's bytes must not all be in memory at once
                yield _finished(waiting.pop(0))
        while waiting:
            yield _finished(waiting.pop(0))


def _finished(task: tuple[int, object]) -> tuple[int, list[Failing]]:
    size, future = task
    return size, future.result()  # type: ignore[attr-defined]
