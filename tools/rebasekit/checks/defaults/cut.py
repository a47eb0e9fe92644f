"""What serving reaches when some choices are never taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rebasekit.checks.defaults.selection import Edge
from rebasekit.facts.collect import paused
from rebasekit.facts.foreign import Foreign
from rebasekit.facts.parts import pack, unpack_part
from rebasekit.facts.query import Facts
from rebasekit.facts.reachability import Reachability

Origin = tuple[int, int]
Step = tuple[str, tuple[Any, ...]]  # what a scope led to: one of Reachability's methods, and its arguments
_REVISION = 2  # raise when a scope leads to other steps: tapes of older revisions are not used
_MOST_STEPS = 300  # scopes looked at on the way back to the entry points


class Tape:
    """What each scope that ran led to. Following a tree again, with other choices, then reads no scope anew."""

    def __init__(
        self,
        steps: dict[int, tuple[Step, ...]] | None = None,
        outside: dict[tuple[str, int], bool] | None = None,
        built: frozenset[int] = frozenset(),
    ) -> None:
        self.steps = steps or {}
        self.outside = outside or {}
        self.built = built  # classes that some scope builds when nothing is cut


def walk(facts: Facts) -> Cut:
    """Serving as it is; what its scopes led to is kept with the tree."""
    key = f"tape-{_REVISION}-{facts.settings.key}"
    kept = facts.parts.answer(key)
    whole = Cut(facts, (), Tape(*unpack_part(kept)) if kept is not None else None).serve()
    whole.tape.built = frozenset(whole.built)
    if kept is None:
        facts.parts.keep(key, pack((whole.tape.steps, whole.tape.outside)))
    return whole


class Cut(Reachability):
    """Reachability of serving without some edges.

    The first walk over a large tree costs seconds. Others that share its tape play back what it read, so ask for all
    hunks at once; they may leave out edges, never add any.
    """

    def __init__(self, facts: Facts, edges: Iterable[Edge] = (), tape: Tape | None = None) -> None:
        super().__init__(facts.program, facts.resolver, facts.hierarchy, facts.settings)
        edges = list(edges)
        self.tape = tape if tape is not None else Tape()
        self._reading: dict[Step, None] | None = None
        self._cut = {(edge.target, edge.scope) for edge in edges}
        self._silent = {(edge.name, edge.scope) for edge in edges if edge.name}
        self._makers: dict[int, int] = {}  # class to the scope that builds it
        self._foreign = Foreign(facts.program, facts.resolver, facts.hierarchy)

    def scan(self, scope: int) -> None:
        steps = self.tape.steps.get(scope)
        if steps is None:
            self._reading = {}
            super().scan(scope)
            self.tape.steps[scope], self._reading = tuple(self._reading), None
            return
        origin = (scope, 0)
        for name, arguments in steps:
            getattr(self, name)(*arguments, origin)

    def _note(self, name: str, *arguments: Any) -> dict[Step, None] | None:
        """Put a step on the tape; what it leads to is not noted again, until the result is put back."""
        reading = self._reading
        if reading is not None:
            reading[name, arguments] = None
            self._reading = None
        return reading

    def mark(self, scope: int, origin: Origin) -> None:
        reading = self._note("mark", scope)
        if (scope, origin[0]) not in self._cut:
            super().mark(scope, origin)
        self._reading = reading

    def guess(self, scope: int, origin: Origin) -> None:
        reading = self._note("guess", scope)
        super().guess(scope, origin)
        self._reading = reading

    def import_module(self, module: str, origin: Origin) -> None:
        reading = self._note("import_module", module)
        super().import_module(module, origin)
        self._reading = reading

    def scan_package(self, package: str, origin: Origin) -> None:
        reading = self._note("scan_package", package)
        super().scan_package(package, origin)
        self._reading = reading

    def scan_packages(self, origin: Origin = (-1, 0)) -> None:
        reading = self._note("scan_packages")
        super().scan_packages(origin)
        self._reading = reading

    def build(self, class_id: int, origin: Origin) -> None:
        reading = self._note("build", class_id)
        if (class_id, origin[0]) not in self._cut:
            self._makers.setdefault(class_id, origin[0])
            super().build(class_id, origin)
        self._reading = reading

    def expect(self, class_id: int, origin: Origin) -> None:
        reading = self._note("expect", class_id)
        super().expect(class_id, origin)
        self._reading = reading

    def demand(self, name: str, origin: Origin) -> None:
        """A bare name on an object from outside the tree asks for no method of the tree."""
        if name not in self.method_names:
            return
        reading = self._note("demand", name)
        wanted = name not in self._demanded and (name, origin[0]) not in self._silent
        if wanted and not self._is_outside(name, origin[0]):
            super().demand(name, origin)
        self._reading = reading

    def demand_on(self, class_id: int, name: str, origin: Origin) -> None:
        reading = self._note("demand_on", class_id, name)
        if self._waits(class_id):
            self._on_class.setdefault(class_id, {}).setdefault(name, origin)
        elif (name, origin[0]) not in self._silent:
            super().demand_on(class_id, name, origin)
        self._reading = reading

    def _waits(self, class_id: int) -> bool:
        """Whether an object of that class is only there if a choice is taken that is cut.

        A class that nobody is seen to build may come from a decoder or a framework: an annotation is taken at its
        word. One that is built elsewhere in the whole tree has to be built here too.
        """
        if not (self._cut or self._silent):
            return False
        family = (class_id, *self.hierarchy.subclasses(class_id))
        return not any(c in self.built for c in family) and any(c in self.tape.built for c in family)

    def _is_outside(self, name: str, scope: int) -> bool:
        known = self.tape.outside.get((name, scope))
        if known is None:
            known = self.tape.outside[name, scope] = self._outside(name, scope)
        return known

    def _outside(self, name: str, scope: int) -> bool:
        if scope < 0:
            return False
        index, local = self.program.locate(scope)
        bases = [self._base(load, name) for load in self.program.file(index).reads(local)[0] if name in load.split(".")]
        return bool(bases) and all(base and self._foreign.made_outside(scope, base) for base in bases)

    def _base(self, load: str, name: str) -> str:
        """What stands before the name in a chain; "" when that is no name."""
        parts = load.split(".")
        return "" if load[:1] in ".'" or load.startswith("super") else ".".join(parts[: parts.index(name)])

    def serve(self) -> Cut:
        """Follow the entry points only; simulations, scripts and tests are not asked about."""
        with paused():
            for entry in self.settings.entries:
                self._enter(entry)
            self._drain()
        return self

    def reaches(self, scope: int) -> bool:
        return bool(self.state[scope])

    def steps(self, scope: int) -> list[tuple[int, int]]:
        """How serving gets to a scope: pairs of a scope and the one that made it run, nearest first.

        A method needs a caller and an instance, so the ways to whoever builds its class are among them.
        """
        found: dict[tuple[int, int], None] = {}
        queue = [scope]
        seen = {scope}
        while queue and len(seen) < _MOST_STEPS:
            current = queue.pop(0)
            for target, above in self._premises(current):
                found[target, above] = None
                if above not in seen:
                    seen.add(above)
                    queue.append(above)
        return list(found)

    def _premises(self, scope: int) -> Iterator[tuple[int, int]]:
        if self.parent[scope] >= 0:
            yield scope, self.parent[scope]
        owner = self.program.enclosing_class(scope)
        if owner is not None:
            for class_id in (owner, *self.hierarchy.subclasses(owner)):
                if class_id in self._makers and self._makers[class_id] >= 0:
                    yield class_id, self._makers[class_id]
                    break
