"""Scopes that run, how each was reached first, and which of them are still to be read."""

from __future__ import annotations

from array import array
from collections import deque

from rebasekit.facts.hierarchy import Hierarchy
from rebasekit.facts.program import Program
from rebasekit.facts.programs import HOME, programs
from rebasekit.facts.resolve import Resolver
from rebasekit.facts.settings import SERVING, TEST, Settings

Origin = tuple[int, int]  # scope id, line


class Marks:
    """`state` per scope id (see LEVELS), `parent` and `line` of the call that reached it first."""

    def __init__(self, program: Program, resolver: Resolver, hierarchy: Hierarchy, settings: Settings) -> None:
        self.program = program
        self.resolver = resolver
        self.hierarchy = hierarchy
        self.settings = settings
        self.state = bytearray(len(program))
        self.parent = array("i", [-1]) * len(program)
        self.line = array("i", [0]) * len(program)
        self.built: dict[int, int] = {}  # class to the level at which it was first built
        self.tests = [bool(settings.test_pattern.search(path)) for path in program.paths]
        self._owners = programs(program, settings)
        self.level = SERVING
        self._certain: deque[int] = deque()
        self._guessed: deque[tuple[int, Origin]] = deque()
        self._deferred: list[tuple[int, Origin]] = []
        program.prepare()

    def scan(self, scope: int) -> None:
        """Read a scope that runs."""
        raise NotImplementedError

    def build(self, class_id: int, origin: Origin) -> None:
        """An instance of this class can exist."""
        raise NotImplementedError

    def _settle(self) -> None:
        while self._certain or self._guessed:
            while self._certain:
                self.scan(self._certain.popleft())
            while self._guessed and not self._certain:
                scope, origin = self._guessed.popleft()
                self.mark(scope, origin)

    def mark(self, scope: int, origin: Origin) -> None:
        """A scope runs at the level that is followed now, unless it was reached before."""
        if self.state[scope]:
            return
        index, local = self.program.locate(scope)
        if self.level < TEST and self.tests[index]:
            return
        if self.level == SERVING and self.settings.simulation_pattern.search(self.program.file(index).heads[local][1]):
            self._deferred.append((scope, origin))
            return
        self.state[scope] = self.level
        self.parent[scope], self.line[scope] = origin
        self._certain.append(scope)
        if scope in self.hierarchy.links and self.hierarchy.is_enum(scope):
            self.build(scope, origin)  # its members are its instances

    def guess(self, scope: int, origin: Origin) -> None:
        """A scope may run, by its name alone; another program's own code does not run on such grounds."""
        if not self.state[scope]:
            owner = self._owners[self.program.locate(scope)[0]]
            if owner in (HOME, self._asker(origin)):
                self._guessed.append((scope, origin))

    def _asker(self, origin: Origin) -> str:
        """Whose code it is that asks."""
        return self._owners[self.program.locate(origin[0])[0]] if origin[0] >= 0 else HOME
