"""What an argument can be, as far as tests on parameters care: a constant, something that is not None, or unknown."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from rebasekit.checks.reach.callers import Callers
from rebasekit.checks.reach.guards import SOME, UNKNOWN
from rebasekit.checks.reach.targets import Target
from rebasekit.facts.query import Facts
from rebasekit.facts.records import Call, Guard, Ref, spread

_DEEPEST = 18  # steps through locals, conditionals, results and callers


class Arrival(NamedTuple):
    """One way into a function: a call, or something that cannot be seen as a call (`call` is None)."""

    scope: int
    guard: int
    call: Call | None
    bound: int


Arrivals = Callable[[int], list[Arrival]]


class Values:
    """Evaluates arguments in their callers; `arrivals` gives the serving ways into a function."""

    def __init__(self, facts: Facts, callers: Callers, arrivals: Arrivals) -> None:
        self.facts = facts
        self.callers = callers
        self.arrivals = arrivals
        self._parameters: dict[tuple[int, str], Any] = {}

    def bound(self, target: Target, scope: int, call: Call, names: set[str], depth: int = 0) -> dict[str, Any]:
        """Values of the parameters `names` of `target` in one call; what cannot be told is left out."""
        more = any(name is None for name, _r, _l in call.keywords) or any(map(spread, call.args))
        given = self._given(target, scope, call)
        found: dict[str, Any] = {}
        for parameter in self.facts.program.scope(target.function).parameters:
            if parameter.name not in names:
                continue
            if parameter.name in given:
                value = self.of(scope, given[parameter.name], depth)
            elif parameter.default is None or more:
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
                return self._called(scope, ref[1], depth)
            if ref[0] == "u":
                return _same(self.of(scope, option[0], depth + 1) for option in ref[1:])
            return SOME if ref[0] == "d" else UNKNOWN
        if not isinstance(ref, str):
            return UNKNOWN
        entities = self.facts.resolver.chain(scope, ref)
        return _same(self._entity(entity.kind, entity.scope, entity.name, entity.rest, depth) for entity in entities)

    def _called(self, scope: int, callee: Ref, depth: int) -> Any:
        """What a call gives: an object of a class, or whatever a function surely returns."""
        if self.callers.targets.classes(scope, callee):
            return SOME
        found = self.callers.targets.of(scope, callee)
        if not found or any(target.guessed for target in found):
            return UNKNOWN
        return _same(value for target in found for value in self._results(target.function, depth + 1))

    def _results(self, function: int, depth: int) -> Iterator[Any]:
        if "r" not in self.facts.program.scope(function).flags:
            yield UNKNOWN
            return
        file = self.facts.program.file_of(function)
        for item in self.facts.program.body(function).returns:
            value = self.of(function, item.value, depth)
            yield SOME if value is UNKNOWN and _there(item.value, file.guards(item.guard)) else value

    def _entity(self, kind: str, scope: int, name: str, rest: str, depth: int) -> Any:
        if rest:
            return UNKNOWN
        if kind == "definition" or (kind == "external" and isinstance(getattr(builtins, name, None), type)):
            return SOME
        if kind != "local":
            return UNKNOWN
        return _same(self._local(scope, name, depth + 1))

    def _local(self, scope: int, name: str, depth: int) -> Iterator[Any]:
        for assign in self.facts.program.body(scope).assigns:
            if assign.target == name:
                yield self.of(scope, assign.value, depth)
        if any(p.name == name for p in self.facts.program.scope(scope).parameters):
            yield self._parameter(scope, name, depth)

    def _parameter(self, function: int, name: str, depth: int) -> Any:
        key = (function, name)
        if key not in self._parameters:
            self._parameters[key] = UNKNOWN  # a function that hands its own parameter on says nothing of it
            self._parameters[key] = _same(self._handed(function, name, depth))
        return self._parameters[key]

    def _handed(self, function: int, name: str, depth: int) -> Iterator[Any]:
        """What serving hands over as one parameter of a function."""
        for arrival in self.arrivals(function):
            if arrival.call is None:
                yield UNKNOWN
                return
            target = Target(function, arrival.bound, False)
            yield self.bound(target, arrival.scope, arrival.call, {name}, depth).get(name, UNKNOWN)


def _there(ref: Ref, guards: list[Guard]) -> bool:
    """Whether the tests on the way say that a variable is not None."""
    told = {(f"{ref} is None", False), (f"{ref} is not None", True), (ref, True)}
    return isinstance(ref, str) and any((guard.text, guard.holds) in told for guard in guards)


def _same(values: Iterable[Any]) -> Any:
    """One value if all agree; different things that are not None are still not None. Ends at the first unknown."""
    seen = []
    for value in values:
        if value is UNKNOWN:
            return UNKNOWN
        seen.append(value)
    if not seen:
        return UNKNOWN
    first = seen[0]
    if all(value is first or (type(value) is type(first) and value == first) for value in seen):
        return first
    return UNKNOWN if any(value is None or not value for value in seen) else SOME
