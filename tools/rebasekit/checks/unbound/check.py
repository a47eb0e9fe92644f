"""One file's findings, alone or against its pristine self."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rebasekit.checks.unbound import words
from rebasekit.checks.unbound.flakes import flakes
from rebasekit.checks.unbound.guards import branch_of, excluded, related
from rebasekit.checks.unbound.resolve import MODULE_NAMES, Problem, problems
from rebasekit.checks.unbound.scopes import Load, Reading, Scope
from rebasekit.checks.unbound.stars import Unknown, starred
from rebasekit.checks.unbound.tree import World
from rebasekit.facts.parse import Unread


@dataclass(frozen=True)
class Failing:
    """A read that fails: `key` is the same in the pristine file if it has it too."""

    file: str
    kind: str
    name: str
    scope: str
    line: int
    message: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.kind, self.scope, self.name


def failing(world: World, path: str, *, branches: bool) -> Iterator[Failing]:
    """The reads of a file that fail, the first of each name in each scope.

    With `branches`, also those that fail only where a branch was not taken and nothing on the way to the read asks
    about it. On a whole upstream tree that is a matter of who calls what, and hundreds of reads are fine.
    """
    tree = world.parsed(path)
    if tree is None:
        return
    if isinstance(tree, Unread):
        yield Failing(
            path, "unread", "", "", _line(tree), f"cannot be read, so nothing in it was checked: {tree.reason}"
        )
        return
    reading = world.reading(path)
    assert reading is not None
    found = list(_problems(reading, path, branches=branches))
    own = {(problem.load.line, problem.load.column) for problem in found}
    exports = []
    for flake in flakes(tree, path, reading.evaluated):
        if flake.export:
            if "__getattr__" not in reading.module.bindings:
                exports.append(Failing(path, "unbound", flake.name, "", flake.line, words.export(flake.name)))
        elif (flake.line, flake.column) not in own and not flake.star and not _bound(reading, flake.name):
            found.append(_from_pyflakes(reading, flake.name, flake.line, flake.column, early=flake.early))
    yield from _once([*_without_stars(world, path, reading, found), *exports])


def _problems(reading: Reading, path: str, *, branches: bool) -> Iterator[Problem]:
    for problem in problems(reading):
        if problem.kind != "partly" or _by_branch(reading, problem, path, branches=branches):
            yield problem


def _by_branch(reading: Reading, problem: Problem, path: str, *, branches: bool) -> bool:
    """Whether a read that fails on some runs counts: every binding is in a branch that the read does not ask about."""
    if any(branch_of(binding, problem.outside) is None for binding in problem.bindings):
        return False
    immediate = problem.load.scope is reading.module
    if not branches and not immediate:
        return False
    guard, flags = problem.load.guard, reading.flags
    if branches and excluded(guard, problem.bindings, flags):
        return True
    return not related(guard, problem.bindings, flags, path=path, scope=problem.scope)


def _bound(reading: Reading, name: str) -> bool:
    """Whether anything binds the name: then the order and the branches decide, which pyflakes does not follow."""
    return reading.dynamic or name in MODULE_NAMES or any(name in scope.bindings for scope in reading.scopes)


def _from_pyflakes(reading: Reading, name: str, line: int, column: int, *, early: bool) -> Problem:
    kind = "unbound-before-assignment" if early else "unbound"
    bindings = tuple(reading.module.bindings.get(name, ()))
    return Problem(kind, Load(name, line, column, None, False, reading.module, False), bindings)


def _without_stars(world: World, path: str, reading: Reading, found: list[Problem]) -> Iterator[Failing]:
    """The problems in words, without those that a star import solves."""
    names: set[str] | None = set()
    if reading.stars and any(problem.kind == "unbound" for problem in found):
        try:
            names = starred(world, path, reading)
        except Unknown as unknown:
            names = None
            if unknown.path:
                line = reading.stars[0].line
                yield Failing(
                    path, "unread", "*", "", line, f"a star import needs `{unknown.path}`, which cannot be read"
                )
    for problem in found:
        if problem.kind == "unbound" and reading.stars and (names is None or problem.name in names):
            continue
        kind = "unbound" if problem.kind == "partly" else problem.kind
        yield Failing(path, kind, problem.name, problem.scope, problem.load.line, words.of(problem))


def _once(found: Iterable[Failing]) -> Iterator[Failing]:
    seen = set()
    for one in sorted(found, key=lambda one: (one.line, one.name)):
        if one.key not in seen:
            seen.add(one.key)
            yield one


def lost(path: str, reading: Reading, pristine: Reading) -> Iterator[Failing]:
    """Reads that a builtin takes over because the function lost its parameter or variable of that name."""
    before: dict[str, list[Scope]] = {}
    for scope in pristine.scopes:
        before.setdefault(scope.name, []).append(scope)
    for scope in reading.scopes:
        if scope.kind != "function" or scope.name not in before:
            continue
        for load in scope.loads:
            name = load.name
            plain = hasattr(builtins, name) and name not in reading.module.bindings
            if plain and not _owned(scope, name) and all(old.owns(name) for old in before[scope.name]):
                yield Failing(path, "unbound", name, scope.name, load.line, words.lost(name, scope.name))


def _owned(scope: Scope | None, name: str) -> bool:
    while scope is not None:
        if scope.kind != "class" and scope.owns(name):
            return True
        scope = scope.parent
    return False


def _line(unread: Unread) -> int:
    import re

    found = re.search(r"\(line ([0-9]+)\)", unread.reason)
    return int(found[1]) if found else 0
