"""The serving ways into a function: calls, and for constructors the constructions of their classes."""

from __future__ import annotations

from rebasekit.checks.reach.callers import Callers
from rebasekit.checks.reach.inits import INIT, init_route
from rebasekit.checks.reach.sites import RawSite, Sites
from rebasekit.checks.reach.values import Arrival
from rebasekit.facts.query import Facts
from rebasekit.facts.records import Call


class Arrivals:
    """Answers per function; remembers what it found."""

    def __init__(self, facts: Facts, callers: Callers, sites: Sites) -> None:
        self.facts = facts
        self.callers = callers
        self.sites = sites
        self._known: dict[int, list[Arrival]] = {}

    def __call__(self, function: int) -> list[Arrival]:
        found = self._known.get(function)
        if found is None:
            self._known[function] = []
            found = self._known[function] = self._find(function)
        return found

    def _find(self, function: int) -> list[Arrival]:
        if self.facts.program.scope(function).short == INIT:
            receiver = self.facts.types.receiver(function)
            if receiver is not None:
                return self._constructions(receiver[1], function)
        found = []
        for caller in self.callers.of(function):
            if self.facts.liveness(caller.scope) == "serving":
                bound = self._bound(caller.scope, caller.call, function)
                found.append(Arrival(caller.scope, caller.guard, caller.call, bound))
        return found

    def _bound(self, scope: int, call: Call | None, function: int) -> int:
        if call is None:
            return 0
        found = [t.bound for t in self.callers.targets.of(scope, call.callee) if t.function == function]
        return found[0] if found else 1

    def _constructions(self, class_id: int, function: int) -> list[Arrival]:
        found = []
        for built in (class_id, *self.facts.hierarchy.subclasses(class_id)):
            if self.facts.method(built, INIT)[:1] == [function]:
                for site in self.sites.of(built).sites:
                    found.extend(self._construction(site))
            elif built != class_id and (route := init_route(self.facts, built, class_id)) is not None:
                found.extend(self._upward(route.calls[-1].function, route.calls[-1].line, function))
        return list(dict.fromkeys(found))

    def _construction(self, site: RawSite) -> list[Arrival]:
        places = site.calls or ((site.scope, site.line),)
        found = []
        for scope, line in places:
            if self.facts.liveness(site.scope) == "serving" and self.facts.liveness(scope) == "serving":
                calls = [c for c in self.facts.program.body(scope).calls if c.line == line]
                call = calls[0] if len(calls) == 1 else self._widest(calls)
                found.append(Arrival(scope, call.guard if call else site.guard, call, 1))
        return found

    def _widest(self, calls: list[Call]) -> Call | None:
        """Of several calls on one line, the outermost is noted last."""
        return calls[-1] if calls else None

    def _upward(self, function: int, line: int, wanted: int) -> list[Arrival]:
        if self.facts.liveness(function) != "serving":
            return []
        calls = [c for c in self.facts.program.body(function).calls if c.line == line and isinstance(c.callee, str)]
        return [Arrival(function, c.guard, c, 1) for c in calls if c.callee.endswith(INIT)]
