"""Construction sites of one class: where it is called, and where it is named on its way to being called."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rebasekit.checks.reach.flow import Flow, Outcome, Sink, Spot
from rebasekit.checks.reach.keys import Keys
from rebasekit.checks.reach.occurrences import Place, Use, places, uses
from rebasekit.checks.reach.results import with_results
from rebasekit.checks.reach.signatures import fits
from rebasekit.facts.decorators import Decorators
from rebasekit.facts.query import Facts

_MODULE_LEVEL = "mc"  # a class named there is waiting to be used: the site is where it is called


class RawSite(NamedTuple):
    """One construction of `type`: a scope, a line, the guard in that scope, how, and the calls behind it."""

    type: int
    scope: int
    line: int
    guard: int
    how: tuple[str, ...]
    calls: tuple[tuple[int, int], ...] = ()  # (scope, line) where the class is really called
    factory: int | None = None  # the classmethod that builds


class Found:
    """Sites of one class, and values of it that could not be followed."""

    def __init__(self) -> None:
        self.sites: list[RawSite] = []
        self.lost: list[tuple[int, int, str]] = []


class Sites:
    """Finds the constructions of one class at a time."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.flow = Flow(facts)
        self.keys = Keys(facts, self.flow.targets)
        self.decorators = Decorators(facts.program, facts.resolver)
        self._known: dict[int, Found] = {}

    def of(self, class_id: int) -> Found:
        """Constructions whose result is exactly of this class."""
        found = self._known.get(class_id)
        if found is None:
            found = self._known[class_id] = self._find(class_id)
        return found

    def _find(self, class_id: int) -> Found:
        found = Found()
        for scope, chains in self.named(class_id):
            lazy = self._imported_here(scope, chains)
            renamed = any(self._renamed(chain, class_id) for chain in chains)
            extra = (*(["lazy import"] if lazy else []), *(["alias"] if renamed else []))
            for use in uses(self.facts.program, scope, chains.__contains__):
                self._use(class_id, use, extra, found)
            self._defaults(class_id, scope, chains, found)
        self._strings(class_id, found)
        self._scanned(class_id, found)
        self._own_calls(class_id, found)
        found.sites = _distinct(found.sites)
        return found

    def _strings(self, class_id: int, found: Found) -> None:
        """Strings that name the class with its module, in code that is no test: somebody imports and builds it."""
        file = self.facts.program.file_of(class_id)
        wanted = f"'{file.module}.{self.facts.program.scope(class_id).name}"
        for scope in self.facts.mentions(self.facts.program.scope(class_id).short):
            loads, lines = self.facts.program.reads(scope)
            if wanted in loads and self.facts.liveness(scope) != "test" and wanted not in self._put_off(scope):
                place = Place(lines[loads.index(wanted)], 0)
                found.sites.append(self._site(class_id, scope, place, ("string registry",)))

    def _put_off(self, scope: int) -> set[str]:
        """Strings of a module by which it exports names lazily: whoever uses such a name builds."""
        head, resolver = self.facts.program.scope(scope), self.facts.resolver
        return resolver.deferred.strings(self.facts.program.file_of(scope), resolver) if head.parent < 0 else set()

    def _scanned(self, class_id: int, found: Found) -> None:
        """Classes that `inspect.getmembers` finds in modules, and that are picked by a class above them."""
        module = self.facts.program.first[self.facts.program.locate(class_id)[0]]
        imported = self.facts.liveness(module) not in ("dead", "test")
        above = set(self.facts.hierarchy.order(class_id)[1:]) if imported else set()
        for scope in self.facts.mentions("getmembers") if above else ():
            loads = self.facts.program.reads(scope)[0]
            members = {load for load in loads if load.rpartition(".")[2] == "getmembers"}
            picked = any(above.intersection(self.facts.resolver.classes(scope, load)) for load in loads)
            if not members or not picked or self.facts.liveness(scope) == "test":
                continue
            outcome = Outcome()
            spots = [s for use in with_results(self.facts, scope, members) for s in self.flow.step(use, outcome)]
            for sink in self.flow.follow(spots).sinks:
                place = Place(sink.line, sink.guard)
                found.sites.append(self._site(class_id, sink.scope, place, ("found in its module",)))

    def named(self, class_id: int) -> Iterator[tuple[int, set[str]]]:
        """Scopes that name the class, with the chains that do."""
        short = self.facts.program.scope(class_id).short
        for scope in self.facts.mentions(short):
            chains = set()
            roots: dict[str, bool] = {}
            for load in self.facts.program.reads(scope)[0]:
                root = load.partition(".")[0]
                if root not in roots:
                    roots[root] = any(
                        e.kind not in ("local", "external") for e in self.facts.resolver.name(scope, root)
                    )
                for chain in _prefixes(load) if roots[root] else ():
                    if class_id in self.facts.resolver.classes(scope, chain):
                        chains.add(chain)
            if chains:
                yield scope, chains

    def _imported_here(self, scope: int, chains: set[str]) -> bool:
        head = self.facts.program.scope(scope)
        return head.kind == "f" and any(i.alias == c.partition(".")[0] for i in head.imports for c in chains)

    def _renamed(self, chain: str, class_id: int) -> bool:
        return chain.rpartition(".")[2] != self.facts.program.scope(class_id).short

    def _use(self, class_id: int, use: Use, extra: tuple[str, ...], found: Found) -> None:
        place = use.place
        if use.kind == "called":
            how = place.how or ("direct",)
            found.sites.append(self._site(class_id, use.scope, place, (*how, *extra)))
        elif use.kind == "method":
            self._method(class_id, use, extra, found)
        else:
            outcome = Outcome()
            outcome.add(self.flow.follow(list(self.flow.step(use, outcome))))
            found.lost.extend(outcome.lost)
            self._flowed(class_id, use, outcome.sinks, extra, found)
            for function, sinks in self._factories(class_id, outcome).items():
                self._flowed(class_id, use, sinks, (*extra, "factory"), found, function)

    def _factories(self, class_id: int, outcome: Outcome) -> dict[int, list[Sink]]:
        """Calls of methods that make an instance of the class they are called on, by method."""
        found: dict[int, list[Sink]] = {}
        for sink, name in outcome.methods:
            for function in self.facts.method(class_id, name):
                if self.builds(function, class_id):
                    found.setdefault(function, []).append(sink)
        return found

    def _flowed(
        self,
        class_id: int,
        use: Use,
        sinks: list[Sink],
        extra: tuple[str, ...],
        found: Found,
        factory: int | None = None,
    ) -> None:
        if factory is None:  # out of a table of classes, only those are built that can take the call
            sinks = [sink for sink in sinks if sink.call is None or fits(self.facts, class_id, sink.call)]
        sinks = [sink for sink in sinks if self.keys.allow(sink, use.place.key)]
        if not sinks:
            return
        how = (*use.place.how, _way(use, sinks), *extra)
        if self.facts.program.scope(use.scope).kind in _MODULE_LEVEL:
            for sink in sinks:
                place = Place(sink.line, sink.guard)
                found.sites.append(self._site(class_id, sink.scope, place, how)._replace(factory=factory))
            return
        calls = tuple(dict.fromkeys((sink.scope, sink.line) for sink in sinks))
        site = self._site(class_id, use.scope, use.place, how)
        found.sites.append(site._replace(calls=calls, factory=factory))

    def _defaults(self, class_id: int, scope: int, chains: set[str], found: Found) -> None:
        """Parameters whose default is the class: the site is the call in the function."""
        index, local = self.facts.program.locate(scope)
        file = self.facts.program.file(index)
        for children in file.children.get(local, {}).values():
            for child in children:
                for parameter in file.scope(child).parameters:
                    if any(places(parameter.ref, chains.__contains__, parameter.line, 0)):
                        function = self.facts.program.first[index] + child
                        outcome = self.flow.follow([Spot("local", function, parameter.name, 0)])
                        found.lost.extend(outcome.lost)
                        for sink in outcome.sinks:
                            place = Place(sink.line, sink.guard)
                            found.sites.append(self._site(class_id, sink.scope, place, ("default",)))

    def _method(self, class_id: int, use: Use, extra: tuple[str, ...], found: Found) -> None:
        place = use.place
        if use.method == "__new__":
            found.sites.append(self._site(class_id, use.scope, place, ("__new__", *extra)))
            return
        if self.decorators.replaced(class_id, use.method):
            found.sites.append(self._site(class_id, use.scope, place, ("handle", *extra)))
            return
        for function in self.facts.method(class_id, use.method):
            if self.builds(function, class_id):
                site = self._site(class_id, use.scope, place, ("factory", *extra))
                found.sites.append(site._replace(factory=function))

    def builds(self, function: int, class_id: int, depth: int = 0) -> bool:
        """Whether a class or static method makes an instance of the class it is called on."""
        scope = self.facts.program.scope(function)
        if not {"classmethod", "staticmethod"} & set(scope.decorators):
            return False
        own = scope.parameters[0].name if "classmethod" in scope.decorators and scope.parameters else None
        for call in self.facts.program.body(function).calls:
            if not isinstance(call.callee, str):
                continue
            if call.callee == own or class_id in self.facts.resolver.classes(function, call.callee):
                return True
            root, _, rest = call.callee.partition(".")
            if root != own or not rest or "." in rest or depth >= 2:
                continue
            others = [f for f in self.facts.method(class_id, rest) if f != function]
            if rest == "__new__" or any(self.builds(f, class_id, depth + 1) for f in others):
                return True
        return own is not None and bool(self._handed_on(function, own))

    def _handed_on(self, function: int, own: str) -> list[tuple[Place, list[Sink]]]:
        """`cls` that a classmethod hands to somebody who calls it, or calls under another name: where, and who."""
        found = []
        for use in uses(self.facts.program, function, lambda chain: chain == own):
            if use.kind in ("argument", "assigned"):
                outcome = Outcome()
                outcome.add(self.flow.follow(list(self.flow.step(use, outcome))))
                here = [sink for sink in outcome.sinks if sink.scope == function]
                if outcome.sinks:
                    place = Place(here[0].line, here[0].guard) if here else use.place
                    found.append((place, here or outcome.sinks))
        return found

    def _own_calls(self, class_id: int, found: Found) -> None:
        """`cls(...)`, `type(self)(...)` and `self.__class__(...)` in the class's own methods."""
        index, local = self.facts.program.locate(class_id)
        file = self.facts.program.file(index)
        factories = {site.factory for site in found.sites if site.factory is not None}
        for children in file.children.get(local, {}).values():
            for child in children:
                function = self.facts.program.first[index] + child
                scope = file.scope(child)
                if scope.kind != "f" or not scope.parameters:
                    continue
                first = scope.parameters[0].name
                by_class = "classmethod" in scope.decorators
                for call in file.body(child).calls:
                    copies = call.callee == f"{first}.__class__" or (call.callee == ("r", "type") and not by_class)
                    if (by_class and call.callee == first and function in factories) or copies:
                        found.sites.append(self._site(class_id, function, Place(call.line, call.guard), ("cls",)))
                if by_class and function in factories:
                    for place, sinks in self._handed_on(function, first):
                        calls = tuple(dict.fromkeys((sink.scope, sink.line) for sink in sinks))
                        found.sites.append(self._site(class_id, function, place, ("cls",))._replace(calls=calls))

    def _site(self, class_id: int, scope: int, place: Place, how: tuple[str, ...]) -> RawSite:
        return RawSite(class_id, scope, place.line, place.guard, tuple(dict.fromkeys(how)))


def _way(use: Use, sinks: list[Sink]) -> str:
    for way in ("partial", "default factory"):
        if any(way in sink.how for sink in sinks):
            return way
    if use.kind == "argument":
        assert use.call is not None
        return "decorator" if use.call.decorated else "argument"
    if use.kind == "assigned":
        if isinstance(use.target, tuple) or use.call is not None:
            return "registry"
        return "attribute" if isinstance(use.target, str) and "." in use.target else "variable"
    return "returned"


def _prefixes(chain: str) -> Iterator[str]:
    """`a`, `a.b`, `a.b.c` for `a.b.c`."""
    at = chain.find(".")
    while at > 0:
        yield chain[:at]
        at = chain.find(".", at + 1)
    if chain[:1] not in ".'":
        yield chain


def _distinct(sites: list[RawSite]) -> list[RawSite]:
    """One site per scope and line; the first way of getting there names it, calls are joined."""
    merged: dict[tuple[int, int], RawSite] = {}
    for site in sites:
        key = (site.scope, site.line)
        known = merged.get(key)
        if known is None:
            merged[key] = site
        else:
            merged[key] = known._replace(
                calls=tuple(dict.fromkeys((*known.calls, *site.calls))),
                how=tuple(dict.fromkeys((*known.how, *site.how))),
            )
    return list(merged.values())
