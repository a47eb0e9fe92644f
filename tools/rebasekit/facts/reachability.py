"""Which scopes can run, starting from the entry points: rapid type analysis over the whole tree.

A function runs when a running scope names it, whether it calls it or hands it on (a process target, a callback, an
entry of a table). A method runs when a running scope names it and some class that has it is built by then. A class
is built when a running scope calls it or lets it escape as a value. Calls that are certain are followed before
those that are guessed from a bare method name, so chains prefer what a reader would accept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from rebasekit.facts.hierarchy import Hierarchy
from rebasekit.facts.marks import Origin
from rebasekit.facts.modules import Modules
from rebasekit.facts.program import Program
from rebasekit.facts.records import CLASS, SCRIPT
from rebasekit.facts.resolve import Entity, Resolver
from rebasekit.facts.scan import Scanner
from rebasekit.facts.settings import SCRIPTED, SERVING, SIMULATION, TEST, Settings

_PLAIN_BASES = frozenset({"object", "ABC", "abc.ABC", "Protocol", "Generic", "typing.Generic", "typing.Protocol"})


class Reachability(Modules):
    """Follows what entry points lead to; the result is what `Marks` holds."""

    def __init__(self, program: Program, resolver: Resolver, hierarchy: Hierarchy, settings: Settings) -> None:
        super().__init__(program, resolver, hierarchy, settings)
        self._expected: dict[int, Origin] = {}  # whatever is below these classes in a running module is built
        self._scanner = Scanner(self)

    def run(self, roots: Iterable[int] = ()) -> Reachability:
        """Serving first, then simulations, scripts and tests; `roots` are scopes taken to run besides the entries."""
        for entry in self.settings.entries:
            self._enter(entry)
        for root in roots:
            self.mark(root, (-1, 0))
            if root in self.hierarchy.links:
                self.build(root, (-1, 0))
        self._drain()
        self.level = SIMULATION
        for scope, origin in self._deferred:
            self.mark(scope, origin)
        self._drain()
        self.level = SCRIPTED
        self._seed(lambda file, head: head[0] == SCRIPT and not self.tests[file])
        self.level = TEST
        self._seed(lambda file, head: self.tests[file])
        del self._scanner  # it refers back to this object, and nobody collects cycles while a tree is linked
        return self

    def _enter(self, entry: str) -> None:
        module, _, function = entry.partition(":")
        index = self.program.modules.get(module)
        if index is None:
            return
        start = self.program.first[index]
        self.import_module(module, (-1, 0))
        if function:
            for entity in self.resolver.member(index, function):
                self.use(entity, (start, 0))
        for local, head in enumerate(self.program.file(index).heads):
            if head[0] == SCRIPT and not function:
                self.mark(start + local, (start, head[3]))

    def _seed(self, wanted: Callable[[int, Any], bool]) -> None:
        for index in range(len(self.program.paths)):
            file = self.program.file(index)
            for local, head in enumerate(file.heads):
                if wanted(index, head):
                    self.mark(self.program.first[index] + local, (-1, 0))
                    if head[0] == CLASS and self.level == TEST:
                        self.build(self.program.first[index] + local, (-1, 0))
        self._drain()

    def _drain(self) -> None:
        self._settle()
        while self._build_expected():
            self._settle()

    def _build_expected(self) -> bool:
        """Build what a scan of modules finds by now; False when there is nothing new."""
        before = len(self.built)
        for base, origin in self._expected.items():
            for class_id in self.hierarchy.subclasses(base):
                if self.state[self.program.first[self.program.locate(class_id)[0]]] in (SERVING, SIMULATION):
                    self.build(class_id, origin)
        return len(self.built) > before

    def scan(self, scope: int) -> None:
        """Read a scope that runs."""
        self._scanner.process(scope)

    def expect(self, class_id: int, origin: Origin) -> None:
        """A running scope takes the classes below this one out of the modules that it scans."""
        self._expected.setdefault(class_id, origin)

    def use(self, entity: Entity, origin: Origin) -> list[int]:
        """A running scope names this; return the classes that it names."""
        if entity.kind == "module":
            self.import_module(entity.name, origin)
            return []
        if entity.kind != "definition":
            if entity.kind == "global" and (rest := self._scanner.chains.calling(entity.rest)):
                self._scanner.chains.attributes(self._scanner.types.of_global(entity), rest, origin)
            if entity.kind == "global":
                return self.resolver.as_classes(entity) if not entity.rest else []
            return []
        if entity.scope in self.hierarchy.links:
            return self._use_class(entity, origin)
        self.mark(entity.scope, origin)
        self.demand_all(entity.rest, origin)
        return []

    def _use_class(self, entity: Entity, origin: Origin) -> list[int]:
        self.mark(entity.scope, origin)
        if not entity.rest:
            return [entity.scope]
        name, _, rest = entity.rest.partition(".")
        found = self.lookup(entity.scope, name)
        for scope in found:
            self.mark(scope, origin)
            if self._by_class(scope):
                self._receive(entity.scope)
        if not found and self._scanner.decorators.replaced(entity.scope, name):
            self.build(entity.scope, origin)
        self.demand_all(rest, origin)
        return self.resolver.as_classes(entity)

    def _by_class(self, scope: int) -> bool:
        index, local = self.program.locate(scope)
        return "classmethod" in self.program.file(index).heads[local][9]

    def build(self, class_id: int, origin: Origin) -> None:
        """An instance of this class can exist."""
        if class_id in self.built:
            return
        if self.level < TEST and self.tests[self.program.locate(class_id)[0]]:
            return
        self.built[class_id] = self.level
        order = self.hierarchy.order(class_id)
        framework = bool(self.hierarchy.external(class_id) - _PLAIN_BASES)
        seen: set[str] = set()
        for owner in order:
            self.mark(owner, origin)
            for name, scopes in self._own[owner].items():
                if name not in seen:
                    seen.add(name)
                    for scope in scopes:
                        self._offer(scope, name, order, origin, framework)
