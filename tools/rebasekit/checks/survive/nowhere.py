"""Attributes of objects of which nothing else is known: gone when upstream gave the name and no file has it now.

That is so for objects whose class nothing says, and for classes that make up their attributes as they go or are put
together by their module: there, only that nobody declares, assigns or reads the name any more can be told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from rebasekit.checks.survive.hunks import Sight
from rebasekit.facts.query import Facts
from rebasekit.facts.records import FUNCTION

Lines = Mapping[str, frozenset[int]]


class Nowhere:
    """Compares two trees by names alone; `before` and `ours` are the lines of either tree that are not upstream's."""

    def __init__(self, old: Facts, new: Facts, before: Lines, ours: Lines) -> None:
        self.old, self.new, self.before, self.ours = old, new, before, ours
        self._known: dict[str, bool] = {}

    def gone(self, name: str) -> bool:
        """Whether the old tree gives the name, and the new one neither gives nor reads it.

        A name that upstream still reads somewhere may be another package's, such as `close` of a file. An attribute
        that only `setattr` makes is not seen: what is told is then for a person to wave through.
        """
        if name.startswith("__") and name.endswith("__"):
            return False  # a protocol of Python's
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = not self._there(name) and self._given(name)
        return found

    def imported(self, module: str) -> bool:
        """Whether a file that has no line of ours imports something of the module's last name."""
        return module.rpartition(".")[2] in self._imported

    @cached_property
    def _imported(self) -> frozenset[str]:
        program = self.new.program
        found: set[str] = set()
        for index, path in enumerate(program.paths):
            for head in program.file(index).heads if path not in self.ours else ():
                for _alias, module, name, *_rest in head[11]:
                    found.update((module.rpartition(".")[2], name or ""))
        return frozenset(found)

    def _given(self, name: str) -> bool:
        """Whether upstream's old tree defined the name, declared it in a class or module, or assigned it."""
        old = self.old
        if any(old.program.scope(s).line not in self.before.get(old.path(s), ()) for s in old.definitions(name)):
            return True
        giving = (*old.declarations(name), *old.mentions(name))
        return any(_assigned(old, index, name, self.before) for index in {old.program.locate(s)[0] for s in giving})

    def _there(self, name: str) -> bool:
        new = self.new
        if new.definitions(name) or new.declarations(name) or new.unread_mentioning({name}):
            return True
        program = new.program
        mentioning = [program.locate(scope) for scope in new.mentions(name)]
        for index, local in mentioning:
            loads, lines = program.file(index).reads(local)
            mine = self.ours.get(program.paths[index], frozenset())
            if any(_names(load, name) and line not in mine for load, line in zip(loads, lines, strict=True)):
                return True
        return any(_assigned(new, index, name, self.ours) for index in {index for index, _ in mentioning})


def _assigned(facts: Facts, index: int, name: str, ours: Lines) -> bool:
    """Whether upstream assigns `object.name` in a file, or the name in a class or module; a local is no attribute."""
    file = facts.program.file(index)
    mine = ours.get(facts.program.paths[index], frozenset())
    for local in range(len(file)):
        inside = file.heads[local][0] == FUNCTION
        for assign in file.raw_assigns(local):
            target = assign[2]
            given = isinstance(target, str) and _names(target, name) and ("." in target or not inside)
            if given and assign[0] not in mine:
                return True
    return False


def _names(chain: str, name: str) -> bool:
    return chain.lstrip("'").rpartition(".")[2] == name


def lines_of(sights: Iterable[Sight | None]) -> dict[str, frozenset[int]]:
    """The lines of all hunks by file."""
    found: dict[str, frozenset[int]] = {}
    for sight in sights:
        if sight is not None:
            found[sight.file] = found.get(sight.file, frozenset()) | frozenset(sight.lines)
    return found
