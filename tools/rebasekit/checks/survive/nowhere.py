"""Attributes of objects whose class is not known: gone when the name was defined and no file knows it any more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rebasekit.checks.survive.hunks import Sight
from rebasekit.facts.query import Facts


class Nowhere:
    """Compares two trees by names alone; `ours` are the lines of the new tree's files that are not upstream's."""

    def __init__(self, old: Facts, new: Facts, ours: Mapping[str, frozenset[int]]) -> None:
        self.old, self.new, self.ours = old, new, ours
        self._known: dict[str, bool] = {}

    def gone(self, name: str) -> bool:
        """Whether the old tree defines the name, and the new one neither defines nor reads nor assigns it.

        A name that upstream still reads somewhere may be another package's, such as `close` of a file. An attribute
        that only `setattr` makes is not seen: what is told is then for a person to wave through.
        """
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = bool(self.old.definitions(name)) and not self._there(name)
        return found

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
        return any(self._assigned(index, name) for index in {index for index, _ in mentioning})

    def _assigned(self, index: int, name: str) -> bool:
        file = self.new.program.file(index)
        targets = (assign[2] for local in range(len(file)) for assign in file.raw_assigns(local))
        return any(isinstance(target, str) and _names(target, name) for target in targets)


def _names(chain: str, name: str) -> bool:
    return chain.lstrip("'").rpartition(".")[2] == name


def lines_of(sights: Iterable[Sight | None]) -> dict[str, frozenset[int]]:
    """The lines of all hunks by file."""
    found: dict[str, frozenset[int]] = {}
    for sight in sights:
        if sight is not None:
            found[sight.file] = found.get(sight.file, frozenset()) | frozenset(sight.lines)
    return found
