"""The facts of one tree, as checks ask for them. Open with `open_facts`; everything is decoded on demand."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from rebasekit.facts.database import Database
from rebasekit.facts.file import FileFacts
from rebasekit.facts.hierarchy import Hierarchy
from rebasekit.facts.parts import Names, Parts, Row, bucket, reach_part, unpack_part
from rebasekit.facts.program import Program
from rebasekit.facts.records import CLASS, FUNCTION
from rebasekit.facts.resolve import Resolver
from rebasekit.facts.settings import LEVELS, Settings
from rebasekit.facts.source import SourceTree
from rebasekit.facts.types import Types
from rebasekit.model.progress import Task

Step = Callable[[str, int, int], None]  # what is done, how much, of how much


def stepper(task: Task) -> Step:
    """What `open_facts` reports, on one bar."""
    bars: dict[str, int] = {}

    def step(what: str, done: int, total: int) -> None:
        task.advance(done - bars.get(what, 0))
        bars[what] = done

    return step


class AnyParts(Protocol):
    """Where linked parts come from: the database, or memory."""

    def read(self, part: str) -> Any: ...

    def names(self, number: int) -> Names: ...

    def answer(self, key: str) -> bytes | None: ...

    def keep(self, key: str, data: bytes) -> None: ...

    def close(self) -> None: ...


class Facts:
    """Definitions, mentions, classes and liveness of one tree."""

    def __init__(
        self,
        program: Program,
        settings: Settings,
        parts: AnyParts,
        words: Callable[[str], frozenset[str]] | None = None,
    ) -> None:
        self.program = program
        self._words = words
        self.settings = settings
        self.parts = parts
        self._names: dict[int, Names] = {}
        self._pairs: dict[str, dict[str, list[int]]] = {}
        self.resolver = Resolver(program)

    def close(self) -> None:
        """Let go of the database; what is decoded stays usable."""
        self.parts.close()

    @property
    def unread(self) -> dict[str, str]:
        """Files that could not be read, with the reason; a check that needs one of them must not pass."""
        return self.program.unread

    def unread_mentioning(self, names: set[str]) -> list[str]:
        """Unread files, tests aside, in whose text one of `names` stands: they may define, build or call it.

        Without a way to ask for a file's words, every unread file counts.
        """
        files = [path for path in self.unread if not self.settings.test_pattern.search(path)]
        words = self._words
        return files if words is None else [path for path in files if not names.isdisjoint(words(path))]

    @cached_property
    def hierarchy(self) -> Hierarchy:
        return Hierarchy(*self.parts.read("classes"))

    @cached_property
    def types(self) -> Types:
        return Types(self.program, self.resolver, self.hierarchy)

    @cached_property
    def _reach(self) -> tuple[bytes, array[int], array[int]]:
        state, parent, line = self.parts.read(reach_part(self.settings))
        return state, array("i", parent), array("i", line)

    def _name(self, name: str) -> Row:
        number = bucket(name)
        names = self._names.get(number)
        if names is None:
            names = self._names[number] = self.parts.names(number)
        return names.get(name, ((), b"", ()))

    def definitions(self, name: str) -> tuple[int, ...]:
        """Scope ids of the classes and functions with this simple name."""
        return self._name(name)[0]

    def named(self, dotted: str) -> Sequence[int]:
        """Definitions whose dotted name may end in `dotted`: those with its last two parts, if it has two.

        Many definitions share a simple name, and a rebase asks about each: their dotted names are made once.
        """
        parts = dotted.split(".")
        if len(parts) < 2:
            return self.definitions(dotted)
        pairs = self._pairs.get(parts[-1])
        if pairs is None:
            pairs = self._pairs[parts[-1]] = {}
            for definition in self.definitions(parts[-1]):
                pairs.setdefault(_last_two(self.dotted(definition)), []).append(definition)
        return pairs.get(_last_two(dotted), ())

    def mentions(self, name: str) -> array[int]:
        """Scope ids in which the name occurs: as a name, an attribute, or under an import's alias."""
        return array("I", self._name(name)[1])

    def declarations(self, name: str) -> list[int]:
        """Class bodies and modules that assign `name` at their own level: settings, defaults, class attributes."""
        spaced = f" {name} "
        found = []
        for index in self._owners(name):
            file = self.program.file(index)
            for local, head in enumerate(file.heads):
                if head[0] in "mc" and spaced in head[10]:
                    found.append(self.program.first[index] + local)
        return found

    def _owners(self, name: str) -> tuple[int, ...]:
        number = bucket(name)
        self._name(name)
        row = self._names[number].get(name)
        return row[2] if row is not None else ()

    def names(self) -> list[str]:
        """Every simple name that a class or function has, in order."""
        names: list[str] = self.parts.read("defined")
        return names

    def liveness(self, scope_id: int) -> str:
        """How a scope can be reached: one of `LEVELS`."""
        return LEVELS[self._reach[0][scope_id]]

    def chain(self, scope_id: int) -> list[tuple[int, int]]:
        """How an entry point gets to a scope: (scope id, line of the call in it), entry first."""
        _state, parent, line = self._reach
        found: list[tuple[int, int]] = []
        current = scope_id
        while (above := parent[current]) >= 0 and len(found) < len(parent):
            found.append((above, line[current]))
            current = above
        return found[::-1]

    def label(self, scope_id: int) -> str:
        return self.program.label(scope_id)

    def path(self, scope_id: int) -> str:
        return self.program.paths[self.program.locate(scope_id)[0]]

    def dotted(self, scope_id: int) -> str:
        """The full dotted name of a definition."""
        file = self.program.file_of(scope_id)
        name = self.program.scope(scope_id).name
        return f"{file.module}.{name}" if name else file.module

    def is_class(self, scope_id: int) -> bool:
        return self.program.scope(scope_id).kind == CLASS

    def is_function(self, scope_id: int) -> bool:
        return self.program.scope(scope_id).kind == FUNCTION

    def method(self, class_id: int, name: str, after: int | None = None) -> list[int]:
        """What `instance.name` finds in the tree; `after` gives what `super()` in that class finds."""
        order = self.hierarchy.order(class_id)
        if after is not None and after in order:
            order = order[order.index(after) + 1 :]
        for owner in order:
            found = self.own_method(owner, name)
            if found:
                return found
        return []

    def own_method(self, class_id: int, name: str) -> list[int]:
        """Functions of that name in the class body itself (several: overloads, branches, property setters)."""
        index, local = self.program.locate(class_id)
        file = self.program.file(index)
        children = file.children.get(local, {}).get(name, ())
        return self.program.ids(file, [c for c in children if file.heads[c][0] == FUNCTION])


def _last_two(dotted: str) -> str:
    return ".".join(dotted.split(".")[-2:])


def open_facts(cache: Path, tree: SourceTree, settings: Settings, progress: Step | None = None) -> Facts:
    """Facts of `tree`, read and linked first where the cache in folder `cache` does not have them yet.

    `progress` is called with (what, done, total) while that happens.
    """
    database = Database(cache)
    parts = Parts(database, tree.key)
    linked = parts.linked(settings)
    if linked is None:
        # Imported here: a command that only asks must not load the readers.
        from rebasekit.facts.link import link_tree

        linked = link_tree(database, tree, settings, progress)
    paths, blobs, sizes, unread = linked

    def load(index: int) -> FileFacts:
        if not sizes[index]:
            return FileFacts(index, paths[index], b"")
        blob = blobs[index]
        return FileFacts(index, paths[index], database.outline(blob), lambda: database.rest(blob))

    def words(path: str) -> frozenset[str]:
        rows = database.blobs([blobs[paths.index(path)]])
        return frozenset(word for _blob, _unread, outline, _rest in rows for word in unpack_part(outline))

    return Facts(Program(list(paths), list(sizes), load, unread), settings, parts, words)
