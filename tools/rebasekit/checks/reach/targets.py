"""Which functions a call may run, and which parameter an argument arrives in."""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

from rebasekit.facts.query import Facts
from rebasekit.facts.records import Call, Ref
from rebasekit.facts.resolve import Entity

_MOST_GUESSES = 12  # a method name with more owners than this says nothing about who is meant
_PARTIAL = frozenset({"partial", "functools.partial", "partialmethod", "functools.partialmethod"})


class Target(NamedTuple):
    """A function, and how many of its first parameters are filled before the call's own arguments."""

    function: int
    bound: int
    guessed: bool


class Targets:
    """Resolves callees in one tree."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._methods: dict[tuple[int, str], tuple[tuple[int, int], ...]] = {}
        self._named: dict[str, list[Target]] = {}

    def of(self, scope_id: int, callee: Ref, depth: int = 0) -> list[Target]:
        """Functions that `callee` may be; a class stands for its constructor. Empty: not in the tree, or unknown."""
        if isinstance(callee, str):
            return self._chain(scope_id, callee, depth)
        if isinstance(callee, tuple) and callee and depth < 3:
            if callee[0] == "r":
                return self._returned(scope_id, callee[1], depth)
            if callee[0] == "s" and isinstance(callee[1], tuple) and callee[1] and callee[1][0] == "d":
                return [t for item in callee[1][1:] for t in self.of(scope_id, item[1], depth + 1)]
            if callee[0] == "u":
                return [t for option in callee[1:] for t in self.of(scope_id, option[0], depth + 1)]
            if callee[0] == "a":
                return self.by_name(callee[2].rpartition(".")[2])
        return []

    def is_partial(self, scope_id: int, callee: Ref) -> bool:
        if not isinstance(callee, str) or callee.rpartition(".")[2] not in ("partial", "partialmethod"):
            return False
        found = self.facts.resolver.chain(scope_id, callee)
        return any((f"{e.name}.{e.rest}" if e.rest else e.name) in _PARTIAL for e in found)

    def _returned(self, scope_id: int, callee: Ref, depth: int) -> list[Target]:
        """Functions that a call returns: what a decorator factory gives."""
        found: list[Target] = []
        for target in self.of(scope_id, callee, depth + 1):
            for item in self.facts.program.body(target.function).returns:
                entities = self.facts.resolver.chain(target.function, item.value) if isinstance(item.value, str) else ()
                found.extend(
                    Target(entity.scope, 0, False)
                    for entity in entities
                    if entity.kind == "definition" and not entity.rest and self.facts.is_function(entity.scope)
                )
        return found

    def classes(self, scope_id: int, callee: Ref, depth: int = 0) -> list[int]:
        """Classes that `callee` may be: by name, or through a local that was assigned one."""
        if isinstance(callee, tuple) and callee and callee[0] == "u" and depth < 3:
            return [c for option in callee[1:] for c in self.classes(scope_id, option[0], depth + 1)]
        if not isinstance(callee, str):
            return []
        found = self.facts.resolver.classes(scope_id, callee)
        if found or "." in callee or depth >= 3:
            return found
        locals_ = [e for e in self.facts.resolver.name(scope_id, callee) if e.kind == "local"]
        held = [c for e in locals_ for v in self._assigned(e) for c in self.classes(e.scope, v, depth + 1)]
        return list(dict.fromkeys(held))

    def _assigned(self, entity: Entity) -> list[Ref]:
        body = self.facts.program.body(entity.scope)
        return [a.value for a in body.assigns if a.target == entity.name and a.value != entity.name]

    def _local(self, entity: Entity, depth: int) -> list[Target]:
        """What a local that is called may be: classes and functions that were assigned to it."""
        return [t for value in self._assigned(entity) for t in self.of(entity.scope, value, depth + 1)]

    def _chain(self, scope_id: int, callee: str, depth: int = 0) -> list[Target]:
        root, _, rest = callee.partition(".")
        receiver = self.facts.types.receiver(scope_id)
        if receiver is not None and rest and "." not in rest:
            if root.startswith("super"):
                return self._super(scope_id, root, rest, receiver[1])
            if root == receiver[0]:
                return self._on(receiver[1], rest, guessed=False) or self._held(scope_id, callee)
        found: list[Target] = []
        for entity in self.facts.resolver.chain(scope_id, callee):
            if entity.kind == "definition":
                found.extend(self._definition(entity.scope, entity.rest))
            elif entity.kind in ("global", "local") and "." in callee:
                found.extend(self._held(scope_id, callee))
            elif entity.kind == "local" and depth < 3:
                found.extend(self._local(entity, depth))
            elif entity.kind == "global":
                found.extend(t for c in self.facts.resolver.as_classes(entity) for t in self._constructor(c))
        if not found and receiver is not None and root == receiver[0]:
            return self._held(scope_id, callee)
        return list(dict.fromkeys(found))

    def _definition(self, scope: int, rest: str) -> list[Target]:
        if not rest:
            return self._constructor(scope) if self.facts.is_class(scope) else [Target(scope, 0, False)]
        if self.facts.is_class(scope) and "." not in rest:
            functions = self.facts.method(scope, rest)
            return [Target(f, self._bound_on_class(f), False) for f in functions]
        return []

    def _bound_on_class(self, function: int) -> int:
        return 1 if "classmethod" in self.facts.program.scope(function).decorators else 0

    def _constructor(self, class_id: int) -> list[Target]:
        return [Target(f, 1, False) for f in self.facts.method(class_id, "__init__")]

    def _super(self, scope_id: int, root: str, name: str, class_id: int) -> list[Target]:
        after = class_id
        if root != "super":
            named = self.facts.resolver.classes(scope_id, root[6:-1])
            after = named[0] if named else class_id
        return [Target(f, 1, False) for f in self.facts.method(class_id, name, after)]

    def _on(self, class_id: int, name: str, guessed: bool) -> list[Target]:
        """A method of an instance: the class's own, and overrides below it."""
        known = self._methods.get((class_id, name))
        if known is None:
            found = list(self.facts.method(class_id, name))
            for below in self.facts.hierarchy.subclasses(class_id):
                found.extend(self.facts.own_method(below, name))
            known = self._methods[class_id, name] = tuple((f, self._bound(f)) for f in dict.fromkeys(found))
        return [Target(function, bound, guessed) for function, bound in known]

    def _bound(self, function: int) -> int:
        return 0 if "staticmethod" in self.facts.program.scope(function).decorators else 1

    def _held(self, scope_id: int, callee: str) -> list[Target]:
        """A method of an object whose class is known from assignments or annotations, else by its name."""
        base, _, name = callee.rpartition(".")
        held = self.facts.types.chain(scope_id, base)
        found = [t for class_id in held.classes for t in self._on(class_id, name, guessed=False)]
        if any(map(self.facts.types.is_open, held.classes)):
            found.extend(t for t in self.by_name(name) if t.function not in {f.function for f in found})
        return found if found else self.by_name(name)

    def by_name(self, name: str) -> list[Target]:
        found = self._named.get(name)
        if found is None:
            # a name such as `forward` has thousands of owners, each in a file of its own to be read
            methods = (f for f in self.facts.definitions(name) if self._is_method(f))
            functions = list(islice(methods, _MOST_GUESSES + 1))
            guesses = functions if len(functions) <= _MOST_GUESSES else []
            found = self._named[name] = [Target(f, self._bound(f), True) for f in guesses]
        return found

    def _is_method(self, function: int) -> bool:
        if not self.facts.is_function(function):
            return False
        index, local = self.facts.program.locate(function)
        heads = self.facts.program.file(index).heads
        return bool(heads[heads[local][2]][0] == "c")

    def parameter(self, target: Target, call: Call, position: int | str | None) -> str | None:
        """Name of the parameter in which an argument of `call` arrives; None if it cannot be told."""
        parameters = self.facts.program.scope(target.function).parameters
        if isinstance(position, str):
            if any(p.name == position and p.kind in "pk" for p in parameters):
                return position
            return next((p.name for p in parameters if p.kind == "w"), None)
        if position is None:
            return None
        index = position + target.bound
        positional = [p for p in parameters if p.kind in "op"]
        if index < len(positional):
            return positional[index].name
        return next((p.name for p in parameters if p.kind == "v"), None)
