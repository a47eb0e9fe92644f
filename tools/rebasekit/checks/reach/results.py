"""Uses of what a function returns: where it is called by name, and where it is called as a value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rebasekit.checks.reach.occurrences import Use, uses
from rebasekit.facts.query import Facts
from rebasekit.facts.records import Ref

if TYPE_CHECKING:
    from rebasekit.checks.reach.flow import Flow, Sink

_MOST_STEPS = 150  # a function that gets into more places is no chooser
_MARKER = "\0result"


class Results:
    """Answers per function; follows the functions that are kept in tables or handed on."""

    def __init__(self, facts: Facts, flow: Flow) -> None:
        self.facts = facts
        self.flow = flow
        self._sinks: dict[int, list[Sink]] = {}
        self._busy = False

    def uses(self, function: int) -> Iterator[Use]:
        """What happens to the results of a function, wherever it is called."""
        for caller in self.facts.mentions(self.facts.program.scope(function).short):
            callees = {c for c in self.facts.program.body(caller).loads if self._calls(caller, c, function)}
            if callees:
                yield from with_results(self.facts, caller, callees)
        for sink in self._called_as_value(function):
            calls = [c.callee for c in self.facts.program.body(sink.scope).calls if c.line == sink.line]
            unknown = {callee for callee in calls if not self.flow.targets.of(sink.scope, callee)}
            if unknown:
                yield from with_results(self.facts, sink.scope, unknown)

        for scope, callee in self._factory_of(function):
            yield from with_results(self.facts, scope, {callee})

    def _calls(self, caller: int, chain: str, function: int) -> bool:
        if chain.rpartition(".")[2] != self.facts.program.scope(function).short and "." in chain:
            return False
        return any(target.function == function for target in self.flow.targets.of(caller, chain))

    def _called_as_value(self, function: int) -> list[Sink]:
        """Calls of the function through a table, a variable or a parameter (`TABLE[name]()`)."""
        if function in self._sinks:
            return self._sinks[function]
        if self._busy:
            return []  # functions that choose functions: one level is followed
        self._busy = True
        self._sinks[function] = list(self._find(function))
        self._busy = False
        return self._sinks[function]

    def _find(self, function: int) -> Iterator[Sink]:
        from rebasekit.checks.reach.flow import Outcome

        outcome = Outcome()
        for use in self._handed(function):
            if not makes_by_default(use):
                yield from self.flow.follow(list(self.flow.step(use, outcome)), _MOST_STEPS).sinks

    def _factory_of(self, function: int) -> Iterator[tuple[int, Ref]]:
        """`defaultdict(function)`: the elements of what this call gives are the function's results."""
        for use in self._handed(function):
            if makes_by_default(use) and use.call is not None:
                yield use.scope, use.call.callee

    def _handed(self, function: int) -> Iterator[Use]:
        """Where the function itself is a value."""
        index, local = self.facts.program.locate(function)
        file = self.facts.program.file(index)
        short = self.facts.program.scope(function).short
        above = self.facts.program.first[index] + max(file.heads[local][2], 0)
        # A decorator's argument is no chain that the scope reads.
        for scope in dict.fromkeys((above, *self.facts.mentions(short))):
            chains = {short} if scope == above else set()
            chains |= {c for c in self.facts.program.body(scope).loads if self._calls(scope, c, function)}
            for use in uses(self.facts.program, scope, chains.__contains__) if chains else ():
                if use.kind in ("argument", "assigned", "returned"):
                    yield use


def makes_by_default(use: Use) -> bool:
    """Whether the value is what a `defaultdict` calls for a missing key."""
    callee = use.call.callee if use.kind == "argument" and use.call is not None else None
    return use.position == 0 and isinstance(callee, str) and callee.rpartition(".")[2] == "defaultdict"


def with_results(facts: Facts, caller: int, callees: set[Ref]) -> Iterator[Use]:
    """Uses in `caller` of the value that calling one of `callees` gives."""
    body = facts.program.body(caller)

    def swap(ref: Ref) -> Ref:
        if isinstance(ref, tuple):
            if len(ref) == 2 and ref[0] == "r" and ref[1] in callees:
                return _MARKER
            return tuple(swap(item) if isinstance(item, tuple) else item for item in ref)
        return ref

    swapped = body._replace(
        calls=tuple(
            c._replace(
                callee=swap(c.callee),
                args=tuple(map(swap, c.args)),
                keywords=tuple((n, swap(r), line) for n, r, line in c.keywords),
            )
            for c in body.calls
        ),
        assigns=tuple(a._replace(value=swap(a.value)) for a in body.assigns),
        returns=tuple(r._replace(value=swap(r.value)) for r in body.returns),
    )
    yield from uses(_One(swapped), caller, lambda chain: chain == _MARKER)  # type: ignore[arg-type]


class _One:
    """A stand-in for a program that knows one scope's body."""

    def __init__(self, body: object) -> None:
        self._body = body

    def body(self, _scope: int) -> object:
        return self._body
