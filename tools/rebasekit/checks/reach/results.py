"""Uses of what a function returns: where it is called by name, and where it is called as a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rebasekit.checks.reach.occurrences import Use, reads, uses
from rebasekit.facts.query import Facts
from rebasekit.facts.records import Ref

if TYPE_CHECKING:
    from rebasekit.checks.reach.flow import Flow, Sink

_MOST_STEPS = 150  # a function that gets into more places is no chooser


class Results:
    """Answers per function; follows the functions that are kept in tables or handed on."""

    def __init__(self, facts: Facts, flow: Flow) -> None:
        self.facts = facts
        self.flow = flow
        self._sinks: dict[int, list[Sink]] = {}
        self._busy = False

    def uses(self, function: int) -> Iterator[tuple[str, Iterable[Use]]]:
        """What happens to the results of a function, wherever it is called; under a name if that stays so."""
        yield "called", self._called(function)
        sinks = self._called_as_value(function)
        yield "as a value" if function in self._sinks else "", self._results_at(sinks)
        yield "by default", self._made_by_default(function)

    def _called(self, function: int) -> Iterator[Use]:
        for caller in self.facts.mentions(self.facts.program.scope(function).short):
            if callees := self._callees(caller, function):
                yield from with_results(self.facts, caller, callees)

    def _results_at(self, sinks: Iterable[Sink]) -> Iterator[Use]:
        for sink in sinks:
            calls = [c.callee for c in self.facts.program.body(sink.scope).calls if c.line == sink.line]
            unknown = {callee for callee in calls if not self.flow.targets.of(sink.scope, callee)}
            if unknown:
                yield from with_results(self.facts, sink.scope, unknown)

    def _made_by_default(self, function: int) -> Iterator[Use]:
        for scope, callee in self._factory_of(function):
            yield from with_results(self.facts, scope, {callee})

    def _callees(self, caller: int, function: int) -> set[Ref]:
        """Chains by which a scope may call the function: by its name, or by a single one that stands for it."""
        read = reads(self.facts.program, caller)
        short = self.facts.program.scope(function).short
        named = dict.fromkeys((*read.last.get(short, ()), *read.single))
        return {c for c in named if any(target.function == function for target in self.flow.targets.of(caller, c))}

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
            chains |= self._callees(scope, function)
            for use in uses(self.facts.program, scope, chains.__contains__) if chains else ():
                if use.kind in ("argument", "assigned", "returned"):
                    yield use


def makes_by_default(use: Use) -> bool:
    """Whether the value is what a `defaultdict` calls for a missing key."""
    callee = use.call.callee if use.kind == "argument" and use.call is not None else None
    return use.position == 0 and isinstance(callee, str) and callee.rpartition(".")[2] == "defaultdict"


def with_results(facts: Facts, caller: int, callees: set[Ref]) -> Iterator[Use]:
    """Uses in `caller` of the value that calling one of `callees` gives."""
    return uses(facts.program, caller, lambda leaf: leaf.__class__ is tuple and leaf[1] in callees)
