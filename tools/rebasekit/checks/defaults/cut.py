"""What serving reaches when some choices are never taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rebasekit.checks.defaults.foreign import Foreign
from rebasekit.checks.defaults.selection import Edge
from rebasekit.facts.collect import paused
from rebasekit.facts.query import Facts
from rebasekit.facts.reachability import Reachability

Origin = tuple[int, int]
_MOST_STEPS = 300  # scopes looked at on the way back to the entry points


class Cut(Reachability):
    """Reachability of serving without some edges. Costs seconds on a large tree, so ask for all hunks at once."""

    def __init__(self, facts: Facts, edges: Iterable[Edge] = ()) -> None:
        super().__init__(facts.program, facts.resolver, facts.hierarchy, facts.settings)
        edges = list(edges)
        self._cut = {(edge.target, edge.scope) for edge in edges}
        self._silent = {(edge.name, edge.scope) for edge in edges if edge.name}
        self._makers: dict[int, int] = {}  # class to the scope that builds it
        self._foreign = Foreign(facts.program, facts.resolver, facts.hierarchy)

    def mark(self, scope: int, origin: Origin) -> None:
        if (scope, origin[0]) not in self._cut:
            super().mark(scope, origin)

    def build(self, class_id: int, origin: Origin) -> None:
        if (class_id, origin[0]) not in self._cut:
            self._makers.setdefault(class_id, origin[0])
            super().build(class_id, origin)

    def demand(self, name: str, origin: Origin) -> None:
        """A bare name on an object from outside the tree asks for no method of the tree."""
        if name in self._demanded or (name, origin[0]) in self._silent:
            return
        if name not in self.method_names or not self._outside(name, origin[0]):
            super().demand(name, origin)

    def demand_on(self, class_id: int, name: str, origin: Origin) -> None:
        if (name, origin[0]) not in self._silent:
            super().demand_on(class_id, name, origin)

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
