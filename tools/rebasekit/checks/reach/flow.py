"""Following a class as a value: through names, parameters, attributes, containers, returns, to where it is called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rebasekit.checks.reach.hiding import hidden
from rebasekit.checks.reach.occurrences import Match, Use, reads, uses
from rebasekit.checks.reach.results import Results, makes_by_default, with_results
from rebasekit.checks.reach.targets import Targets
from rebasekit.facts.query import Facts
from rebasekit.facts.records import FUNCTION, TRANSPARENT, Call, Ref

# Of what they are called with, these make something that holds it.
_CONTAINERS = frozenset({"dict", "defaultdict", "OrderedDict", "MappingProxyType", "ChainMap", "deque"})
_MOST_KNOWN = 20_000  # spots of which it is kept what they lead to
_MOST_READERS = 300  # scopes: `name`, `size`, `dtype` of an object of unknown class are not followed
_MOST_STEPS = 1500  # places visited before giving up, with the answer "unknown"


class Spot(NamedTuple):
    """A place that can hold the value.

    kind: "local" (owner: scope), "global" (owner: file index), "attribute" (owner: class, or -1 when only the name
    is known), "result" (owner: function), "element" of `**name` (owner: scope).
    """

    kind: str
    owner: int
    name: str
    line: int = -1  # of the assignment, for locals: later ones may hide it; 0: a parameter, -1: nothing hides it
    guard: int = 0


class Sink(NamedTuple):
    """A call of the value; the same place and way is the same sink, whatever the call was read as."""

    scope: int
    line: int
    guard: int
    how: tuple[str, ...]
    call: Call | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sink) and self[:4] == other[:4]

    def __hash__(self) -> int:
        return hash(self[:4])


class Outcome:
    """Where a value went: calls of it and of its methods, and places where it could not be followed."""

    def __init__(self) -> None:
        self.sinks: list[Sink] = []
        self.lost: list[tuple[int, int, str]] = []  # scope, line, what swallowed it
        self.methods: list[tuple[Sink, str]] = []  # calls of a method of the value, by name

    def add(self, other: Outcome) -> None:
        self.sinks.extend(other.sinks)
        self.lost.extend(other.lost)
        self.methods.extend(other.methods)


class Lead(NamedTuple):
    """What one spot leads to."""

    spots: tuple[Spot, ...]
    outcome: Outcome


class Flow:
    """Follows values in one tree."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.targets = Targets(facts)
        self.results = Results(facts, self)
        self._known: dict[tuple[Spot, str], Lead] = {}

    def follow(self, start: list[Spot], most: int = _MOST_STEPS) -> Outcome:
        """Everything that calls what one of the `start` spots holds; gives up after `most` spots."""
        outcome = Outcome()
        queue, seen = list(start), set(start)
        while queue:
            for lead in self._leads(queue.pop()):
                outcome.add(lead.outcome)
                for following in lead.spots:
                    if following not in seen and len(seen) < most:
                        seen.add(following)
                        queue.append(following)
        if len(seen) >= most:
            outcome.lost.append((-1, 0, "too many places to follow"))
        outcome.sinks = list(dict.fromkeys(outcome.sinks))
        return outcome

    def step(self, use: Use, outcome: Outcome, spot: Spot | None = None) -> Iterator[Spot]:
        """What one use leads to: a sink, something lost, or further spots."""
        place = use.place
        if use.kind == "called":
            if spot is None or not hidden(self.facts.program, spot.owner, spot.name, spot.line, use):
                outcome.sinks.append(Sink(use.scope, place.line, place.guard, place.how, use.call))
        elif use.kind == "method":
            if use.method == "__new__":
                outcome.sinks.append(Sink(use.scope, place.line, place.guard, ("__new__",)))
            elif spot is None or not hidden(self.facts.program, spot.owner, spot.name, spot.line, use):
                sink = Sink(use.scope, place.line, place.guard, place.how, use.call)
                outcome.methods.append((sink, use.method))
        elif use.kind == "returned":
            yield Spot("result", use.scope, "")
        elif use.kind == "assigned":
            for following in self.assigned(use.scope, use.target, place.line, place.guard):
                if following.kind == "attribute" and self._common(following.name):
                    outcome.lost.append((use.scope, place.line, f".{following.name}"))
                yield following
        elif use.kind == "argument":
            yield from self._argument(use, outcome)

    def _argument(self, use: Use, outcome: Outcome) -> Iterator[Spot]:
        call = use.call
        assert call is not None
        position = use.position
        callee = call.callee
        if self.targets.is_partial(use.scope, callee):
            if position == 0:
                outcome.sinks.append(Sink(use.scope, use.place.line, use.place.guard, ("partial",)))
                return
            callee = call.args[0] if call.args else None
            position = position - 1 if isinstance(position, int) else position
        found = self.targets.of(use.scope, callee)
        fields = [] if found else self._fields(use.scope, callee, position)
        yield from fields
        for target in found:
            name = self.targets.parameter(target, call, position)
            if name is not None:
                yield Spot("local", target.function, name, 0)
        if found or fields or (callee in TRANSPARENT and isinstance(position, int)):
            return
        if makes_by_default(use):
            outcome.sinks.append(Sink(use.scope, use.place.line, use.place.guard, ("default factory",)))
        elif isinstance(callee, str) and callee.rpartition(".")[2] in _CONTAINERS:
            for held in with_results(self.facts, use.scope, {callee}):
                if held.place.line == call.line:
                    yield from self.step(held, outcome)
        else:
            outcome.lost.append((use.scope, use.place.line, _shown(callee)))

    def _fields(self, scope: int, callee: Ref, position: int | str | None) -> list[Spot]:
        """Arguments of a class without `__init__` (a dataclass, a NamedTuple) become attributes."""
        spots = []
        for class_id in self.targets.classes(scope, callee):
            name = position
            if isinstance(position, int):
                annotated = [a.target for a in self.facts.program.body(class_id).assigns if a.annotation]
                name = annotated[position] if position < len(annotated) else None
            if isinstance(name, str):
                spots.append(Spot("attribute", class_id, name))
        return spots

    def assigned(self, scope: int, target: Ref, line: int, guard: int) -> Iterator[Spot]:
        """The spots that an assignment target names."""
        while isinstance(target, tuple) and target and target[0] == "s":
            target = target[1]  # what a container holds is followed as the container
            line = -1
        if isinstance(target, tuple) and target and target[0] == "a":
            yield Spot("attribute", -1, target[2].rpartition(".")[2])
            return
        if not isinstance(target, str):
            return
        base, _, name = target.rpartition(".")
        if not base:
            yield self._named(scope, name, line, guard)
            return
        receiver = self.facts.types.receiver(scope)
        if receiver is not None and base == receiver[0]:
            yield Spot("attribute", receiver[1], name)
            return
        for entity in self.facts.resolver.chain(scope, target):
            if entity.kind == "global" and not entity.rest:
                yield Spot("global", entity.scope, entity.name)
            elif entity.kind == "definition" and entity.rest == name and self.facts.is_class(entity.scope):
                yield Spot("attribute", entity.scope, name)
            else:
                held = self.facts.types.chain(scope, base)
                for class_id in held.classes or (-1,):
                    yield Spot("attribute", class_id, name)

    def _named(self, scope: int, name: str, line: int, guard: int) -> Spot:
        kind = self.facts.program.scope(scope).kind
        if kind == "c":
            return Spot("attribute", scope, name)
        for entity in self.facts.resolver.name(scope, name):
            if entity.kind == "global":
                return Spot("global", entity.scope, name)
            if entity.kind == "local":
                return Spot("local", entity.scope, name, line if entity.scope == scope else -1, guard)
        if kind == FUNCTION:
            return Spot("local", scope, name, line, guard)
        return Spot("global", self.facts.program.locate(scope)[0], name)

    # where a spot is used

    def _leads(self, spot: Spot) -> Iterator[Lead]:
        """What comes of a spot: ways lead over the same ones again and again, so that is found once."""
        if spot.kind == "result":
            for what, some in self.results.uses(spot.owner):
                yield self._lead((spot, what) if what else None, spot, some)
        else:
            yield self._lead((spot, ""), spot, self._uses(spot))

    def _lead(self, key: tuple[Spot, str] | None, spot: Spot, some: Iterable[Use]) -> Lead:
        found = self._known.get(key) if key is not None else None
        if found is None:
            outcome = Outcome()
            found = Lead(tuple(following for use in some for following in self.step(use, outcome, spot)), outcome)
            if key is not None:
                if len(self._known) > _MOST_KNOWN:
                    self._known.clear()
                self._known[key] = found
        return found

    def _uses(self, spot: Spot) -> Iterator[Use]:
        for scope, match in self._readers(spot):
            yield from uses(self.facts.program, scope, match)

    def _readers(self, spot: Spot) -> Iterator[tuple[int, Match]]:
        program = self.facts.program
        if spot.kind == "local":
            for scope in self._inside(spot.owner):
                yield scope, lambda chain: chain == spot.name
        elif spot.kind == "global":
            for scope in self.facts.mentions(spot.name):
                names = self._global_names(scope, spot)
                if names:
                    yield scope, lambda chain, names=names: chain in names  # type: ignore[misc]
        elif spot.kind == "attribute":
            for scope in self.facts.mentions(spot.name):
                named = reads(program, scope).held.get(spot.name, ())
                chains = {c for c in named if self._reads_attribute(scope, c, spot)}
                if chains:
                    yield scope, lambda chain, chains=chains: chain in chains  # type: ignore[misc]

    def _inside(self, scope: int) -> Iterator[int]:
        """A function and the functions nested in it: they see its locals."""
        index, local = self.facts.program.locate(scope)
        file = self.facts.program.file(index)
        yield scope
        for children in file.children.get(local, {}).values():
            for child in children:
                yield from self._inside(self.facts.program.first[index] + child)

    def _global_names(self, scope: int, spot: Spot) -> set[str]:
        names = set()
        read = reads(self.facts.program, scope)
        for load in {*read.last.get(spot.name, ()), *read.first.get(spot.name, ()), *read.single}:
            for entity in self.facts.resolver.chain(scope, load):
                if entity.kind == "global" and entity.scope == spot.owner and entity.name == spot.name:
                    names.add(load.removesuffix("." + entity.rest) if entity.rest else load)
                elif entity.kind == "local" and load.endswith("." + spot.name) and self._in_module(scope, spot):
                    names.add(load)  # a module in a local, as after `import_module`
        return names

    def _in_module(self, scope: int, spot: Spot) -> bool:
        return not self._common(spot.name) and self._scans(scope, spot.owner)

    def _scans(self, scope: int, index: int) -> bool:
        """Whether a scope that imports by name may get that file: if it says which packages, it is below one."""
        program = self.facts.program
        named = {load[1:] for load in program.reads(scope)[0] if load[0] == "'" and load[1:] in program.packages}
        module = program.file(index).module
        return not named or any(f"{module}.".startswith(f"{package}.") for package in named)

    def _reads_attribute(self, scope: int, chain: str, spot: Spot) -> bool:
        """Whether a chain that ends in the attribute's name may be the attribute."""
        base = chain.rpartition(".")[0]
        if not base or base[0] == "'":
            return chain.startswith(".") and not base
        if spot.owner < 0:
            return not self._common(spot.name)
        receiver = self.facts.types.receiver(scope)
        if receiver is not None and base == receiver[0]:
            return self._related(receiver[1], spot.owner)
        named = self.facts.resolver.classes(scope, base)
        if named:
            return any(self._related(class_id, spot.owner) for class_id in named)
        held = self.facts.types.chain(scope, base)
        if held.classes:
            return any(self._related(class_id, spot.owner) for class_id in held.classes)
        return not self._common(spot.name)

    def _common(self, name: str) -> bool:
        """Whether so many read an attribute of this name that it says nothing about whose it is."""
        return len(self.facts.mentions(name)) > _MOST_READERS

    def _related(self, one: int, other: int) -> bool:
        order = self.facts.hierarchy.order
        return other in order(one) or one in order(other)


def _shown(callee: Ref) -> str:
    if isinstance(callee, str):
        return callee
    if isinstance(callee, tuple) and callee and callee[0] in "ra":
        return _shown(callee[1]) + ("()" if callee[0] == "r" else f".{callee[2]}")
    return "an expression"
