"""Classes that a running scope calls or lets out as values: from then on there may be instances."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rebasekit.facts.decorators import Decorators
from rebasekit.facts.file import FileFacts
from rebasekit.facts.marks import Origin
from rebasekit.facts.records import Ref

if TYPE_CHECKING:
    from rebasekit.facts.reachability import Reachability

# A class among their arguments is described, not built.
_DESCRIBE = frozenset({"super", "TypeVar", "NewType", "type", "get_type_hints", "NamedTuple", "TypedDict"})


class Escapes:
    """Tells a `Reachability` which classes are built."""

    def __init__(self, reach: Reachability, decorators: Decorators) -> None:
        self.reach = reach
        self.program = reach.program
        self.resolver = reach.resolver
        self.decorators = decorators

    def follow(
        self,
        scope: int,
        classes: dict[str, list[int]],
        calls: Iterable[Ref],
        assigns: Iterable[Ref],
        returns: Iterable[Ref],
    ) -> None:
        """Build the classes that this scope calls or lets out as values."""
        for call in calls:
            line, callee = call[0], call[2]
            if isinstance(callee, str):
                if callee in classes:
                    self.build_all(classes[callee], (scope, line))
                elif callee in _DESCRIBE:
                    continue
                elif callee.endswith(".__new__") and callee[:-8] in classes:
                    self.build_all(classes[callee[:-8]], (scope, line))
            else:
                self._let_out(scope, line, callee, classes)  # `(kind or Pool)(...)`
            for ref in (*call[3], *[k[1] for k in call[4]]):
                self._let_out(scope, line, ref, classes)
        for assign in assigns:
            self._let_out(scope, assign[0], assign[3], classes)
        for item in returns:
            self._let_out(scope, item[0], item[2], classes)

    def _let_out(self, scope: int, line: int, ref: Ref, classes: dict[str, list[int]]) -> None:
        if ref is None:
            return
        for chain in values(ref):
            if chain in classes:
                self.build_all(classes[chain], (scope, line))

    def build_all(self, classes: Iterable[int], origin: Origin) -> None:
        """Build several classes, for the same reason."""
        for class_id in classes:
            self.reach.build(class_id, origin)

    def defaults(self, scope: int, file: FileFacts, head: Ref) -> None:
        """Build the classes that parameters have as their defaults."""
        if "d" not in head[6]:
            return
        outer = self.program.first[file.index] + max(head[2], 0)
        for parameter in file.parameters(scope - self.program.first[file.index]):
            for chain in values(parameter[4]) if parameter[4] is not None else ():
                for entity in self.resolver.chain(outer, chain):
                    self.build_all(self.reach.use(entity, (scope, parameter[5])), (scope, parameter[5]))

    def decorated(self, scope: int, call: Ref) -> None:
        """Use what a decorator puts into a table: the class or function below it."""
        if self.decorators.registers(scope, call[2]):
            for entity in self.resolver.name(scope, call[3][0]):
                if entity.kind == "definition":
                    self.build_all(self.reach.use(entity, (scope, call[0])), (scope, call[0]))


def values(ref: Ref) -> Iterator[str]:
    """Chains whose own value may be the value of `ref`, containers included; not what calls return."""
    if isinstance(ref, str):
        yield ref
    elif isinstance(ref, tuple):
        kind = ref[0]
        if kind == "u":
            for option in ref[1:]:
                yield from values(option[0])
        elif kind == "d":
            for item in ref[1:]:
                yield from values(item[1])
        elif kind == "s" and isinstance(ref[1], tuple):
            yield from values(ref[1])
