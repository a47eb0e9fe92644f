"""Objects that surely are not of a class of the tree: made by a call that leads out of it.

A call on such an object by a name that classes of the tree have too (an extension module's engine behind a wrapper
with the same methods) is no call of theirs.
"""

from __future__ import annotations

from rebasekit.facts.hierarchy import Hierarchy
from rebasekit.facts.program import Program
from rebasekit.facts.records import CLASS, FUNCTION, Ref
from rebasekit.facts.resolve import Entity, Resolver
from rebasekit.facts.types import Types

_DEEPEST = 10


class Foreign:
    """Answers for one tree. Whatever may be a parameter, an element or an unknown name is not foreign."""

    def __init__(self, program: Program, resolver: Resolver, hierarchy: Hierarchy) -> None:
        self.program = program
        self.resolver = resolver
        self.types = Types(program, resolver, hierarchy)
        self.hierarchy = hierarchy
        self._known: dict[tuple[int, Ref], bool] = {}

    def made_outside(self, scope: int, ref: Ref, depth: int = 0) -> bool:
        """Whether every value that `ref` can be seen to have comes from outside the tree."""
        key = (scope, ref)
        if key not in self._known:
            self._known[key] = False
            self._known[key] = depth < _DEEPEST and self._outside(scope, ref, depth)
        return self._known[key]

    def _outside(self, scope: int, ref: Ref, depth: int) -> bool:
        if isinstance(ref, str):
            return self._chain(scope, ref, depth)
        if not isinstance(ref, tuple):
            return False
        if ref[0] == "r":
            return self._result(scope, ref[1], depth)
        if ref[0] == "a":
            return self.made_outside(scope, ref[1], depth + 1)
        if ref[0] == "u":
            return all(option[0] == ("v", None) or self.made_outside(scope, option[0], depth + 1) for option in ref[1:])
        return False

    def _chain(self, scope: int, chain: str, depth: int) -> bool:
        root, _, rest = chain.partition(".")
        receiver = self.types.receiver(scope)
        if receiver is not None and root == receiver[0]:
            return bool(rest) and self._attribute(receiver[1], rest.partition(".")[0], depth)
        entities = self.resolver.chain(scope, chain)
        return bool(entities) and all(self._entity(entity, depth) for entity in entities)

    def _entity(self, entity: Entity, depth: int) -> bool:
        if entity.kind == "external":
            return True
        if entity.kind not in ("local", "global"):
            return False
        if entity.kind == "global":
            return self._values(self.program.first[entity.scope], entity.name, depth)
        if any(p.name == entity.name for p in self.program.scope(entity.scope).parameters):
            return False
        return self._values(entity.scope, entity.name, depth)

    def _values(self, scope: int, name: str, depth: int) -> bool:
        values = [a.value for a in self.program.body(scope).assigns if a.target == name and a.value != ("v", None)]
        return bool(values) and all(self.made_outside(scope, value, depth + 1) for value in values)

    def _attribute(self, class_id: int, name: str, depth: int) -> bool:
        values = [
            (scope, ref)
            for owner in self.hierarchy.order(class_id)
            for scope, ref, _note in self.types.written(owner).get(name, ())
            if ref != ("v", None)
        ]
        return bool(values) and all(self.made_outside(scope, ref, depth + 1) for scope, ref in values)

    def _result(self, scope: int, callee: Ref, depth: int) -> bool:
        """What a call gives: foreign if the function is, or if all that a function of the tree returns is."""
        if isinstance(callee, tuple) and callee[0] == "r":
            return self._result(scope, callee[1], depth)  # what a method returned is called: `self.kind()(…)`
        if not isinstance(callee, str):
            return self.made_outside(scope, callee, depth + 1)
        functions = self._functions(scope, callee)
        if functions:
            returns = [(f, item.value) for f in functions for item in self.program.body(f).returns]
            values = [(f, value) for f, value in returns if value != ("v", None)]
            return bool(values) and all(self.made_outside(f, value, depth + 1) for f, value in values)
        return self.made_outside(scope, callee, depth + 1)

    def _functions(self, scope: int, callee: str) -> list[int]:
        receiver = self.types.receiver(scope)
        base, _, name = callee.rpartition(".")
        if receiver is not None and base == receiver[0]:
            for owner in self.hierarchy.order(receiver[1]):
                index, local = self.program.locate(owner)
                file = self.program.file(index)
                found = [c for c in file.children.get(local, {}).get(name, ()) if file.heads[c][0] == FUNCTION]
                if found:
                    return self.program.ids(file, found)
            return []
        return [
            e.scope
            for e in self.resolver.chain(scope, callee)
            if e.kind == "definition" and not e.rest and self.resolver.kind(e.scope) != CLASS
        ]
