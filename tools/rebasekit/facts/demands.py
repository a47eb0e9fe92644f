"""Attributes that running code asks objects for, and the methods of built classes that answer."""

from __future__ import annotations

from collections.abc import Iterator

from rebasekit.facts.hierarchy import Hierarchy
from rebasekit.facts.marks import Marks, Origin
from rebasekit.facts.program import Program
from rebasekit.facts.records import FUNCTION
from rebasekit.facts.resolve import Resolver
from rebasekit.facts.settings import Settings

# What frameworks call by themselves on classes that inherit from them.
_FRAMEWORK = frozenset(
    {
        *("run", "main", "forward", "backward", "emit", "format", "filter", "default", "handle", "dispatch"),
        *("setUp", "tearDown", "setup", "teardown", "visit", "generic_visit", "do_GET", "do_POST", "do_PUT"),
    }
)


class Demands(Marks):
    """Who asks for which name, on any object or on one of a known class."""

    def __init__(self, program: Program, resolver: Resolver, hierarchy: Hierarchy, settings: Settings) -> None:
        super().__init__(program, resolver, hierarchy, settings)
        self._demanded: dict[str, dict[str, Origin]] = {}  # by name, then by whose code asks (see `programs`)
        self._on_class: dict[int, dict[str, Origin]] = {}
        self._receivers: set[int] = set()  # classes on which class methods are called
        self._effective: set[int] = set()
        self.method_names: dict[str, list[int]] = {}
        self._own: dict[int, dict[str, list[int]]] = {}  # methods in each class's body, by name
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
