"""Who calls a function, or hands it on as a value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rebasekit.checks.reach.occurrences import Use, reads, uses
from rebasekit.checks.reach.targets import Targets
from rebasekit.facts.query import Facts
from rebasekit.facts.records import Call, Ref


class Caller(NamedTuple):
    """One place that calls a function or names it as a value.

    `how` is "call", "attribute" (a property, or a reference that nothing is seen to be done with) or where a value
    goes: "argument of `Process`", "registry", ... `certain` is False when only the method's name matches.
    """

    scope: int
    line: int
    guard: int
    how: str
    certain: bool
    call: Call | None = None


class Callers:
    """Finds callers in one tree; remembers them."""

    def __init__(self, facts: Facts, targets: Targets) -> None:
        self.facts = facts
        self.targets = targets
        self._known: dict[int, list[Caller]] = {}

    def of(self, function: int) -> list[Caller]:
        """Callers in the order of files and lines."""
        found = self._known.get(function)
        if found is None:
            found = self._known[function] = list(self._find(function))
        return found

    def _find(self, function: int) -> Iterator[Caller]:
        short = self.facts.program.scope(function).short
        twins = self._twins(function)
        for scope in self.facts.mentions(short):
            chains: dict[str, bool] = {}
            for load in reads(self.facts.program, scope).last.get(short, ()):
                certain = self._means(scope, load, short, twins)
                if certain is not None:
                    chains[load] = certain
            if chains:
                yield from self._in_scope(scope, chains, short)

    def _twins(self, function: int) -> set[int]:
        """The function and its doubles: branches, overloads, property setters of the same qualified name."""
        index, local = self.facts.program.locate(function)
        file = self.facts.program.file(index)
        head = file.heads[local]
        return set(self.facts.program.ids(file, file.children[head[2]][head[1].rpartition(".")[2]]))

    def _means(self, scope: int, load: str, short: str, twins: set[int]) -> bool | None:
        """Whether a chain that ends in its name means the function: True for sure, False maybe, None not at all."""
        if load[0] == "'":
            entities = self.facts.resolver.absolute(load[1:])
            return True if any(e.kind == "definition" and e.scope in twins for e in entities) else None
        found = self.targets.by_name(short) if load[0] == "." else self.targets.of(scope, load)
        mine = [t for t in found if t.function in twins]
        if not mine:
            return None
        return not all(t.guessed for t in mine)

    def _in_scope(self, scope: int, chains: dict[str, bool], short: str) -> Iterator[Caller]:
        body = self.facts.program.body(scope)
        seen: set[str] = set()
        for call in body.calls:
            chain = _callee(call.callee)
            if chain in chains:
                seen.add(chain)
                yield Caller(scope, call.line, call.guard, "call", chains[chain], call)
        plain = {chain for chain in chains if chain[0] not in ".'"}
        for use in uses(self.facts.program, scope, plain.__contains__):
            if use.kind in ("argument", "assigned", "returned"):
                seen.update(plain)
                yield Caller(scope, use.place.line, use.place.guard, _handed(use), all(chains[c] for c in plain))
        for load, line in zip(body.loads, body.lines, strict=True):
            if load in chains and load not in seen:
                how = "string" if load[0] == "'" else "attribute"
                yield Caller(scope, line, 0, how, chains[load])


def _callee(ref: Ref) -> str:
    """The chain under which a callee was noted as read."""
    if isinstance(ref, str):
        return ref
    if isinstance(ref, tuple) and ref and ref[0] == "a":
        return f".{ref[2]}"
    return ""


def _handed(use: Use) -> str:
    if use.kind == "argument":
        assert use.call is not None
        callee = use.call.callee
        name = callee if isinstance(callee, str) else _callee(callee) or "an expression"
        return "decorator" if use.call.decorated else f"argument of `{name}`"
    if use.kind == "returned":
        return "returned"
    return "registry" if isinstance(use.target, tuple) or use.place.key is not None else "variable"
