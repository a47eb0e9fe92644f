"""Telling decorators that register what they decorate from those that only wrap it."""

from __future__ import annotations

from rebasekit.facts.file import FileFacts
from rebasekit.facts.program import Program
from rebasekit.facts.records import CLASS, FUNCTION, Ref
from rebasekit.facts.resolve import Entity, Resolver

# Called with the decorated function, these keep nothing.
_WRAP = frozenset({"wraps", "update_wrapper", "partial", "signature", "iscoroutinefunction", "cast", "getsource"})
_STORE = frozenset({"append", "add", "insert", "setdefault", "update", "register", "extend", "appendleft", "put"})


# Decorators from outside the tree that give back the class itself.
_SAME = frozenset(
    {"dataclass", "final", "runtime_checkable", "total_ordering", "unique", "deprecated", "skip", "skipIf"}
)


class Decorators:
    """Answers per decorator expression; remembers what it found per function."""

    def __init__(self, program: Program, resolver: Resolver) -> None:
        self.program = program
        self.resolver = resolver
        self._known: dict[int, bool] = {}

    def registers(self, scope: int, callee: Ref) -> bool:
        """Whether `@callee` hands the decorated object to somebody who may call it later."""
        while isinstance(callee, tuple) and callee and callee[0] == "r":
            callee = callee[1]
        if not isinstance(callee, str):
            return True
        found = self.resolver.chain(scope, callee)
        return any(self._entity(entity) for entity in found)

    def replaced(self, class_id: int, name: str) -> bool:
        """Whether a decorator from outside the tree put something else in a class's place, as an actor's handle.

        `name` is an attribute that running code asks it for: one that the class does not have is the handle's.
        """
        index, local = self.program.locate(class_id)
        file = self.program.file(index)
        head = file.heads[local]
        start = self.program.first[index] + max(head[2], 0)
        outside = (
            decorator
            for decorator in (text.partition("(")[0] for text in head[9])
            if decorator.rpartition(".")[2] not in _SAME
            and any(e.kind == "external" for e in self.resolver.chain(start, decorator))
        )
        return f" {name} " not in file.bound(local) and next(outside, None) is not None

    def _entity(self, entity: Entity) -> bool:
        if entity.kind in ("global", "local"):
            return bool(entity.rest)  # `@app.get(...)`, `@REGISTRY.register`: an object that we cannot see into
        if entity.kind != "definition":
            return False
        if self.resolver.kind(entity.scope) == CLASS:
            return self._method(entity)
        return self._function(entity.scope)

    def _method(self, entity: Entity) -> bool:
        index, local = self.program.locate(entity.scope)
        file = self.program.file(index)
        children = file.children.get(local, {}).get(entity.rest.partition(".")[0], [])
        return any(self._function(self.program.first[index] + child) for child in children)

    def _function(self, scope: int) -> bool:
        known = self._known.get(scope)
        if known is None:
            self._known[scope] = False  # a function that hands on to itself
            index, local = self.program.locate(scope)
            known = self._known[scope] = self._stores(self.program.file(index), local)
        return known

    def _hands_on(self, scope: int, callee: Ref) -> bool:
        """Whether what gets the parameter is a function of the tree that puts it away."""
        found = self.resolver.chain(scope, callee) if isinstance(callee, str) else ()
        return any(entity.kind == "definition" and self._entity(entity) for entity in found)

    def _stores(self, file: FileFacts, local: int) -> bool:
        """Whether the function, or one inside it, puts one of its parameters away."""
        names = {parameter.name for parameter in file.parameters(local)}
        for assign in file.raw_assigns(local):
            target = assign[2]
            if assign[3] in names and (isinstance(target, tuple) or "." in target):
                return True
        for call in file.raw_acts(local)[0]:
            callee = call[2]
            last = (
                callee.rpartition(".")[2]
                if isinstance(callee, str)
                else callee[2]
                if callee and callee[0] == "a"
                else ""
            )
            if last in _WRAP or not any(arg in names for arg in (*call[3], *[keyword[1] for keyword in call[4]])):
                continue
            if last in _STORE or self._hands_on(self.program.first[file.index] + local, callee):
                return True
        children = file.children.get(local, {}).values()
        return any(
            self._stores(file, child) for group in children for child in group if file.heads[child][0] == FUNCTION
        )
