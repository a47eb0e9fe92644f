"""Which scopes can run, starting from the entry points: rapid type analysis over the whole tree.

A function runs when a running scope names it, whether it calls it or hands it on (a process target, a callback, an
entry of a table). A method runs when a running scope names it and some class that has it is built by then. A class
is built when a running scope calls it or lets it escape as a value. Calls that are certain are followed before
those that are guessed from a bare method name, so chains prefer what a reader would accept.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rebasekit.facts.hierarchy import Hierarchy
from rebasekit.facts.program import Program
from rebasekit.facts.programs import HOME, programs
from rebasekit.facts.records import CLASS, FUNCTION, SCRIPT
from rebasekit.facts.resolve import Entity, Resolver
from rebasekit.facts.scan import Origin, Scanner
from rebasekit.facts.settings import SCRIPTED, SERVING, SIMULATION, TEST, Settings

# What frameworks call by themselves on classes that inherit from them.
_FRAMEWORK = frozenset(
    {
        *("run", "main", "forward", "backward", "emit", "format", "filter", "default", "handle", "dispatch"),
        *("setUp", "tearDown", "setup", "teardown", "visit", "generic_visit", "do_GET", "do_POST", "do_PUT"),
    }
)
_PLAIN_BASES = frozenset({"object", "ABC", "abc.ABC", "Protocol", "Generic", "typing.Generic", "typing.Protocol"})


class Reachability:
    """The result: `state` per scope id (see LEVELS), `parent` and `line` of the call that reached it first."""

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
        self._demanded: dict[str, dict[str, Origin]] = {}  # by name, then by whose code asks (see `programs`)
        self._on_class: dict[int, dict[str, Origin]] = {}
        self._receivers: set[int] = set()  # classes on which class methods are called
        self._effective: set[int] = set()
        self.method_names: dict[str, list[int]] = {}
        self._scans = False
        self._expected: dict[int, Origin] = {}  # whatever is below these classes in a running module is built
        self._packages: dict[str, Origin] = {}  # named in strings by running code, not scanned yet
        self._own: dict[int, dict[str, list[int]]] = {}  # methods in each class's body, by name
        self._scanner = Scanner(self)
        program.prepare()
        self._index_methods()

    def _index_methods(self) -> None:
        for class_id in self.hierarchy.links:
            own = self._own[class_id] = dict(self._find_methods(class_id))
            for name, scopes in own.items():
                self.method_names.setdefault(name, []).extend(scopes)

    def _find_methods(self, class_id: int) -> Iterator[tuple[str, list[int]]]:
        index, local = self.program.locate(class_id)
        file = self.program.file(index)
        for name, children in file.children.get(local, {}).items():
            functions = [c for c in children if file.heads[c][0] == FUNCTION]
            if functions:
                yield name, self.program.ids(file, functions)

    # passes

    def run(self, roots: Iterable[int] = ()) -> Reachability:
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

    def _settle(self) -> None:
        while self._certain or self._guessed:
            while self._certain:
                self.scan(self._certain.popleft())
            while self._guessed and not self._certain:
                scope, origin = self._guessed.popleft()
                self.mark(scope, origin)

    def scan(self, scope: int) -> None:
        """Read a scope that runs."""
        self._scanner.process(scope)

    # marking

    def mark(self, scope: int, origin: Origin) -> None:
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

    def guess_module(self, index: int, origin: Origin) -> None:
        """A string names a module: if serving's own code does, it knows that package, as by an import."""
        owner = self._owners[index]
        if owner != HOME and self._asker(origin) == HOME:
            self._owners = [HOME if name == owner else name for name in self._owners]
            for name, asked in self._demanded.items():
                for scope in self.method_names.get(name, ()):
                    if scope in self._effective:
                        self.guess(scope, next(iter(asked.values())))
        if len(self.program.file(index)):
            self.guess(self.program.first[index], origin)

    def _asker(self, origin: Origin) -> str:
        """Whose code it is that asks."""
        return self._owners[self.program.locate(origin[0])[0]] if origin[0] >= 0 else HOME

    def import_module(self, module: str, origin: Origin) -> None:
        """Importing a module runs it and every package above it."""
        while module:
            index = self.program.modules.get(module)
            if index is not None and len(self.program.file(index)):  # nothing is known of one that was not read
                if self.state[self.program.first[index]]:
                    return
                self.mark(self.program.first[index], origin)
            module = module.rpartition(".")[0]

    def scan_package(self, package: str, origin: Origin) -> None:
        """A string names a package: whoever imports all modules of some package may import these."""
        self._packages.setdefault(package, origin)
        if self._scans:
            self.scan_packages()

    def scan_packages(self, _origin: Origin = (-1, 0)) -> None:
        self._scans = True
        packages, self._packages = self._packages, {}
        for package, origin in packages.items():
            for module, index in self.program.modules.items():
                if module.rpartition(".")[0] == package and len(self.program.file(index)):
                    self.guess_module(index, origin)

    def expect(self, class_id: int, origin: Origin) -> None:
        """A running scope takes the classes below this one out of the modules that it scans."""
        self._expected.setdefault(class_id, origin)

    def use(self, entity: Entity, origin: Origin) -> list[int]:
        """A running scope names this; return the classes that it names."""
        if entity.kind == "module":
            self.import_module(entity.name, origin)
            return []
        if entity.kind != "definition":
            if entity.kind == "global" and (rest := self._scanner.calling(entity.rest)):
                self._scanner.attributes(self._scanner.types.of_global(entity), rest, origin)
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

    def _receive(self, class_id: int) -> None:
        """A class method is called on this class: there, `cls.name` is what this class has, built or not."""
        if class_id in self._receivers:
            return
        self._receivers.add(class_id)
        for owner in self.hierarchy.order(class_id):
            for name, asked in self._on_class.get(owner, {}).items():
                for scope in self.lookup(class_id, name):
                    self.mark(scope, asked)

    def lookup(self, class_id: int, name: str, after: int | None = None) -> list[int]:
        """The method `name` that an instance has; `after` skips the order up to and with that class (`super`)."""
        order = self.hierarchy.order(class_id)
        if after is not None and after in order:
            order = order[order.index(after) + 1 :]
        for owner in order:
            found = self._own[owner].get(name)
            if found:
                return found
        return []

    def demand_all(self, rest: str, origin: Origin) -> None:
        if rest:
            for name in rest.split("."):
                self.demand(name, origin)

    def demand(self, name: str, origin: Origin) -> None:
        """Some object's attribute `name` is used: every built class that has such a method may be meant."""
        asked = self._demanded.setdefault(name, {})
        asker = self._asker(origin)
        if asker not in asked:
            asked[asker] = origin
            for scope in self.method_names.get(name, ()):
                if scope in self._effective:
                    self.guess(scope, origin)

    def demand_on(self, class_id: int, name: str, origin: Origin) -> None:
        """`self.name` inside a class: that class and whatever is built below it."""
        known = self._on_class.setdefault(class_id, {})
        if name in known:
            return
        known[name] = origin
        below = (class_id, *self.hierarchy.subclasses(class_id))
        built = [c for c in below if c in self.built or c in self._receivers]
        for owner in built or [class_id]:
            for scope in self.lookup(owner, name):
                self.mark(scope, origin)

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

    def _offer(self, scope: int, name: str, order: tuple[int, ...], origin: Origin, framework: bool) -> None:
        """A built class has this method: does anything running ask for it?"""
        self._effective.add(scope)
        if name.startswith("__") and name.endswith("__"):
            self.mark(scope, origin)
            return
        for owner in order:
            asked = self._on_class.get(owner, {}).get(name)
            if asked is not None:
                self.mark(scope, asked)
                return
        if name in self._demanded:
            for demand in self._demanded[name].values():
                self.guess(scope, demand)
        elif framework and name in _FRAMEWORK:
            self.guess(scope, origin)
