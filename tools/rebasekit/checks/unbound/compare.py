"""Patched files against the pristine tree: only what is new counts."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping

from rebasekit.checks.unbound import words
from rebasekit.checks.unbound.attributes import missing
from rebasekit.checks.unbound.check import Failing, failing, lost
from rebasekit.checks.unbound.stale import Rebinding, Stale, imported, importers, rebindings, top_imports
from rebasekit.checks.unbound.tree import Tree, World, absolute
from rebasekit.facts.collect import frozen, paused

_BATCH = 8  # files between collections


def compare(patched: Mapping[str, bytes | None], tree: Tree) -> list[Failing]:
    """What fails in the patched files, or because of them, and does not in the pristine tree."""
    with paused(), frozen():
        return sorted(_found(patched, tree), key=lambda one: (one.file, one.line, one.name))


def _found(patched: Mapping[str, bytes | None], tree: Tree) -> list[Failing]:
    world, pristine = World(tree, patched), World(tree)
    changed = [path for path, data in sorted(patched.items()) if path.endswith(".py") and data is not None]
    changed = [path for path in changed if pristine.data(path) != patched[path]]
    found: list[Failing] = []
    for number, path in enumerate(changed, 1):
        if number % _BATCH == 0:
            gc.collect()  # pyflakes ties the trees that it reads into cycles
        try:
            found += [*_in_file(world, pristine, path), *_stale(world, pristine, [path])]
        except RecursionError:  # Python parses more than its own programs can walk
            reason = "cannot be read, so nothing in it was checked: an expression is nested too deeply"
            found.append(Failing(path, "unread", "", "", 0, reason))
    return list(dict.fromkeys(found))


def _in_file(world: World, pristine: World, path: str) -> list[Failing]:
    found: list[Failing] = []
    new = list(failing(world, path, branches=True))
    if new:
        old = {one.key for one in failing(pristine, path, branches=True)}
        found += [one for one in new if one.key not in old or one.kind == "unread"]
    found += _lost(world, pristine, path)
    found += [
        Failing(
            path,
            "unbound",
            f"{one.read.me}.{one.read.name}",
            one.read.method,
            one.read.line,
            words.attribute(f"{one.read.me}.{one.read.name}", one.owner),
        )
        for one in missing(world, pristine, path)
    ]
    return found


def _lost(world: World, pristine: World, path: str) -> Iterator[Failing]:
    now, before = world.reading(path), pristine.reading(path)
    if now is not None and before is not None:
        yield from lost(path, now, before)


def _stale(world: World, pristine: World, changed: list[str]) -> Iterator[Failing]:
    """New rebindings with all who import the name, and new imports of a name that was rebound all along."""
    seen: set[tuple[str, int, str]] = set()
    for path in changed:
        now = list(rebindings(world, path))
        old = {(one.module, one.name) for one in (rebindings(pristine, path) if now else ())}
        for rebinding in now:
            if (rebinding.module, rebinding.name) not in old:
                yield from _words(importers(world, rebinding), seen)
        yield from _words(_new_imports(world, pristine, path), seen)


def _new_imports(world: World, pristine: World, path: str) -> Iterator[Stale]:
    """Imports by value that the patch adds, of names that their own module rebinds."""
    tree, before = world.module(path), pristine.module(path)
    if tree is None:
        return
    had = {alias.name for node in (top_imports(before) if before is not None else ()) for alias in node.names}
    for node in top_imports(tree):
        source = world.path_of(absolute(path, node.module or "", node.level))
        if source is None or all(alias.name in had for alias in node.names):
            continue
        again: dict[str, Rebinding] = {one.name: one for one in rebindings(world, source) if one.file == source}
        for alias in node.names:
            if alias.name not in had and alias.name in again:
                yield from imported(world, path, again[alias.name])


def _words(found: Iterator[Stale], seen: set[tuple[str, int, str]]) -> Iterator[Failing]:
    for one in found:
        if (one.file, one.line, one.name) not in seen:
            seen.add((one.file, one.line, one.name))
            yield Failing(one.file, "stale-from-import", one.name, "", one.line, words.stale(one))
