"""The tests between an entry point and a site, and whether what is known makes them fail."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rebasekit.checks.reach.callers import Callers
from rebasekit.checks.reach.guards import decide, shown
from rebasekit.checks.reach.targets import Target
from rebasekit.checks.reach.values import Arrivals, Values
from rebasekit.facts.query import Facts
from rebasekit.facts.records import Guard

_FARTHEST = 6  # callers of callers looked at before a place counts as possible
_WORD = re.compile(r"[A-Za-z_]\w*")


class Paths:
    """Guards of scopes in one tree, decided by one set of deployment facts.

    `arrivals` gives the serving ways into a function; for a constructor those are the class's constructions.
    """

    def __init__(self, facts: Facts, callers: Callers, arrivals: Arrivals, known: Mapping[str, Any]) -> None:
        self.facts = facts
        self.known = known
        self.arrivals = arrivals
        self.values = Values(facts, callers, arrivals)
        self._ruled: dict[int, str | None] = {}

    def guards(self, scope: int, guard: int) -> list[Guard]:
        """Tests around a place, its function's own definition included, outermost first."""
        index, local = self.facts.program.locate(scope)
        file = self.facts.program.file(index)
        found: list[Guard] = file.guards(guard)
        while local > 0:
            head = file.heads[local]
            found = [*file.guards(head[5]), *found]
            local = head[2]
        return found

    def shown(self, scope: int, guard: int) -> tuple[str, ...]:
        return tuple(dict.fromkeys(shown(g) for g in self.guards(scope, guard)))

    def ruled_out(self, scope: int, guard: int) -> str | None:
        """The test that keeps control from a place under the deployment's facts, here or in every caller."""
        if not self.known:
            return None
        return self._failing(scope, guard) or self._ruled_function(scope, _FARTHEST)

    def _failing(self, scope: int, guard: int) -> str | None:
        for test in self.guards(scope, guard):
            if decide(test, self.known) is False:
                return shown(test)
        return None

    def _ruled_function(self, scope: int, depth: int) -> str | None:
        if scope in self._ruled:
            return self._ruled[scope]
        if depth == 0 or not self.facts.is_function(scope):
            return None
        self._ruled[scope] = ""  # a way in that comes from the function itself opens nothing
        first: str | None = None
        for arrival in self.arrivals(scope):
            reason = self._failing(arrival.scope, arrival.guard)
            if reason is None:
                reason = self._ruled_function(arrival.scope, depth - 1)
            if reason is None:
                del self._ruled[scope]
                return None
            first = first or reason
        self._ruled[scope] = first
        return first

    def impossible(self, scope: int, guard: int) -> str | None:
        """The test that no serving call of the function passes, given the arguments it hands over."""
        if not guard or not self.facts.is_function(scope):
            return None
        tests, names = self._on_parameters(scope, guard)
        arrivals = self.arrivals(scope) if tests else []
        blocked: str | None = None
        for arrival in arrivals:
            if arrival.call is None:
                return None
            target = Target(scope, arrival.bound, False)
            values = self.values.bound(target, arrival.scope, arrival.call, names)
            failing = next((t for t in tests if decide(t, {}, values) is False), None)
            if failing is None:
                return None
            blocked = shown(failing)
        return blocked

    def _on_parameters(self, scope: int, guard: int) -> tuple[list[Guard], set[str]]:
        """Guards inside the function that mention a parameter which nothing has assigned to."""
        program = self.facts.program
        assigned = {a.target for a in program.body(scope).assigns if isinstance(a.target, str)}
        names = {p.name for p in program.scope(scope).parameters} - assigned
        index, _local = program.locate(scope)
        tests = [g for g in program.file(index).guards(guard) if names & set(_WORD.findall(g.text))]
        return tests, names
