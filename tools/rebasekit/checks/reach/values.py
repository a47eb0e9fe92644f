"""What an argument can be, as far as tests on parameters care: a constant, something that is not None, or unknown."""

from __future__ import annotations

import builtins
from typing import Any

from rebasekit.checks.reach.callers import Callers
from rebasekit.checks.reach.guards import SOME, UNKNOWN
from rebasekit.checks.reach.targets import Target
from rebasekit.facts.query import Facts
from rebasekit.facts.records import Call, Ref

_DEEPEST = 9  # steps through locals, conditionals and callers


class Values:
    """Evaluates arguments in their callers."""

    def __init__(self, facts: Facts, callers: Callers) -> None:
        self.facts = facts
        self.callers = callers

    def bound(self, target: Target, scope: int, call: Call, names: set[str], depth: int = 0) -> dict[str, Any]:
        """Values of the parameters `names` of `target` in one call; what cannot be told is left out."""
        spread = any(name is None for name, _r, _l in call.keywords)
        given = self._given(target, scope, call)
        found: dict[str, Any] = {}
        for parameter in self.facts.program.scope(target.function).parameters:
            if parameter.name not in names:
                continue
            if parameter.name in given:
                value = self.of(scope, given[parameter.name], depth)
            elif parameter.default is None or spread:
                continue
            else:
                value = self.of(target.function, parameter.ref, depth)
            if value is not UNKNOWN:
                found[parameter.name] = value
        return found

    def _given(self, target: Target, scope: int, call: Call) -> dict[str, Ref]:
        targets = self.callers.targets
        given: dict[str, Ref] = {}
        for position, ref in enumerate(call.args):
            name = targets.parameter(target, call, position)
            if name is not None:
                given[name] = ref
        given.update({name: ref for name, ref, _line in call.keywords if name is not None})
        return given

    def of(self, scope: int, ref: Ref, depth: int = 0) -> Any:
        """The value of an expression in a scope: a constant, SOME, or UNKNOWN."""
        if depth > _DEEPEST:
            return UNKNOWN
        if isinstance(ref, tuple) and ref:
            if ref[0] == "v":
                return SOME if ref[1] == "lambda" else ref[1]
            if ref[0] == "r":
                return SOME if isinstance(ref[1], str) and self.facts.resolver.classes(scope, ref[1]) else UNKNOWN
            if ref[0] == "u":
                return self._same([self.of(scope, option[0], depth + 1) for option in ref[1:]])
            return SOME if ref[0] == "d" else UNKNOWN
        if not isinstance(ref, str):
            return UNKNOWN
        entities = self.facts.resolver.chain(scope, ref)
        return self._same(
            [self._entity(entity.kind, entity.scope, entity.name, entity.rest, depth) for entity in entities]
        )

    def _entity(self, kind: str, scope: int, name: str, rest: str, depth: int) -> Any:
        if rest:
            return UNKNOWN
        if kind == "definition" or (kind == "external" and isinstance(getattr(builtins, name, None), type)):
            return SOME
        if kind != "local":
            return UNKNOWN
        assigned = [a.value for a in self.facts.program.body(scope).assigns if a.target == name]
        values = [self.of(scope, value, depth + 1) for value in assigned]
        parameters = {p.name for p in self.facts.program.scope(scope).parameters}
        if name in parameters:
            values.append(self._parameter(scope, name, depth + 1))
        return self._same(values)

    def _parameter(self, function: int, name: str, depth: int) -> Any:
        values = []
        for caller in self.callers.of(function):
            if self.facts.liveness(caller.scope) != "serving":
                continue
            if caller.call is None:
                return UNKNOWN
            for target in self.callers.targets.of(caller.scope, caller.call.callee):
                if target.function == function:
                    bound = self.bound(target, caller.scope, caller.call, {name}, depth)
                    values.append(bound.get(name, UNKNOWN))
        return self._same(values)

    def _same(self, values: list[Any]) -> Any:
        """One value if all agree; different things that are not None are still not None."""
        if not values or any(value is UNKNOWN for value in values):
            return UNKNOWN
        first = values[0]
        if all(value is first or (type(value) is type(first) and value == first) for value in values):
            return first
        return UNKNOWN if any(value is None or not value for value in values) else SOME
