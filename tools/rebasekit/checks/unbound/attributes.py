"""Attributes read on `self` that nothing in the tree gives to any class of the hierarchy."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from rebasekit.checks.unbound.classes import Class, Read
from rebasekit.checks.unbound.hierarchy import Hierarchy, Key
from rebasekit.checks.unbound.tree import World, absolute, module_name
from rebasekit.facts.syntax import dotted


class Missing(NamedTuple):
    """A read of an attribute that no instance has."""

    file: str
    owner: str
    read: Read


def missing(world: World, pristine: World, path: str) -> Iterator[Missing]:
    """Reads in a changed file that fail, and did not in the pristine one. Classes whose text is the same are left."""
    here, before = Hierarchy(world), Hierarchy(pristine)
    now, then = _lines(world, path), _lines(pristine, path)
    for name, twins in here.of(path).items():
        old = before.of(path).get(name, [])
        if [_source(now, one) for one in twins] == [_source(then, one) for one in old]:
            continue
        failing = {read.name for read in _candidates(here, (path, name), twins)}
        if failing:
            failing -= {read.name for read in _candidates(before, (path, name), old)}
            failing = {attribute for attribute in failing if not _given_elsewhere(here, (path, name), attribute)}
        reported: set[tuple[str, str]] = set()
        for one in twins:
            for read in sorted(one.text.reads, key=lambda read: read.line):
                if read.name in failing and (read.method, read.name) not in reported:
                    reported.add((read.method, read.name))
                    yield Missing(path, name, read)


def _lines(world: World, path: str) -> list[bytes]:
    return (world.data(path) or b"").splitlines()


def _source(lines: list[bytes], one: Class) -> list[bytes]:
    return lines[one.node.lineno - 1 : one.node.end_lineno]


def _candidates(hierarchy: Hierarchy, key: Key, twins: list[Class]) -> list[Read]:
    """Reads of attributes that neither the class nor what it inherits from gives."""
    reads = [read for one in twins for read in one.text.reads]
    if not reads:
        return []
    _, given, more = hierarchy.line(key)
    return [] if more else [read for read in reads if read.name not in given]


def _given_elsewhere(hierarchy: Hierarchy, key: Key, attribute: str) -> bool:
    """Whether a class below gives it (a mixin's host does), or code outside any class sets it on some object."""
    for below in hierarchy.below(key):
        _, given, more = hierarchy.line(below)
        if more or attribute in given:
            return True
    near = _Near(hierarchy, key)
    for path in hierarchy.world.holding(attribute):
        if not near.has(path):
            continue
        tree = hierarchy.world.module(path)
        if tree is None:
            return True  # a file that cannot be read may set it; the file itself is reported
        if any(_sets(node, attribute) for node in ast.walk(tree)):
            return True
    return False


class _Near:
    """The files that can have an instance of a class: they name it or a relative, or one of its files imports them."""

    def __init__(self, hierarchy: Hierarchy, key: Key) -> None:
        world = self.world = hierarchy.world
        family = {key, *hierarchy.line(key)[0], *hierarchy.below(key)}
        self.own = {path for path, _ in family}
        names = {name.rpartition(".")[2].encode() for _, name in family}
        self.named = re.compile(rb"\b(?:%b)\b" % b"|".join(map(re.escape, sorted(names))))
        self.asked: set[str] = set()
        for path in self.own:
            reading = world.reading(path)
            for node in reading.imports if reading is not None else ():
                base = absolute(path, node.module or "", node.level) if isinstance(node, ast.ImportFrom) else ""
                self.asked |= {base, *(f"{base}.{alias.name}" if base else alias.name for alias in node.names)}

    def has(self, path: str) -> bool:
        if path in self.own or module_name(path) in self.asked:
            return True
        return self.named.search(self.world.data(path) or b"") is not None


def _sets(node: ast.AST, attribute: str) -> bool:
    """`other.attribute = …` on anything but `self`, or `setattr` with the name."""
    if isinstance(node, ast.Attribute) and node.attr == attribute and isinstance(node.ctx, ast.Store):
        return dotted(node.value) not in ("self", "cls")
    if isinstance(node, ast.Call) and dotted(node.func) in ("setattr", "object.__setattr__") and len(node.args) > 1:
        name = node.args[1]
        return isinstance(name, ast.Constant) and name.value == attribute
    return False
