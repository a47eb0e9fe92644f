"""Which classes an expression's object may have, a little further than `facts.types` looks.

Adds to it: what methods of known objects and calls on calls return, and elements that a mapping's methods give.
Nothing is guessed: without an annotation or a construction the answer is "unknown".
"""

from __future__ import annotations

from rebasekit.checks.survive.members import Members
from rebasekit.facts.annotations import alternatives, element
from rebasekit.facts.query import Facts
from rebasekit.facts.records import Ref

_DEEPEST = 8
_ELEMENT_CALLS = frozenset({"get", "pop", "setdefault", "popleft", "values", "copy"})
_PASS = frozenset({"list", "tuple", "set", "sorted", "reversed", "iter", "frozenset", "enumerate"})
Note = tuple[int, str]  # scope and annotation text


class Receivers:
    """Answers for one tree."""

    def __init__(self, facts: Facts, members: Members) -> None:
        self.facts = facts
        self.members = members
        self._known: dict[tuple[int, Ref], tuple[int, ...]] = {}

    def classes(self, scope: int, ref: Ref, depth: int = 0) -> tuple[int, ...]:
        """Classes of the object that `ref` gives in a scope; empty when they are not known."""
        if ref is None or depth > _DEEPEST:
            return ()
        key = (scope, ref)
        if key not in self._known:
            self._known[key] = ()  # `x = x.y` must not ask for itself
            self._known[key] = tuple(dict.fromkeys(self._classes(scope, ref, depth)))
        return self._known[key]

    def _classes(self, scope: int, ref: Ref, depth: int) -> tuple[int, ...]:
        if isinstance(ref, str):
            return self._chain(scope, ref, depth)
        kind = ref[0]
        if kind == "u":
            return tuple(c for option in ref[1:] for c in self.classes(scope, option[0], depth + 1))
        if kind == "a":
            held = self.classes(scope, ref[1], depth + 1)
            for name in ref[2].split("."):
                held = self.attribute(held, name, depth)
            return held
        if kind == "r":
            built = self._built(scope, ref[1])
            if built:
                return built
        return self._annotated(self.notes(scope, ref, depth + 1))

    def _chain(self, scope: int, chain: str, depth: int) -> tuple[int, ...]:
        root, _, rest = chain.partition(".")
        if root.startswith("super"):
            return ()
        held = self._root(scope, root, depth)
        if not held and rest:
            return tuple(self.facts.types.chain(scope, chain).classes)
        for name in rest.split(".") if rest else ():
            held = self.attribute(held, name, depth)
        return held

    def _root(self, scope: int, root: str, depth: int) -> tuple[int, ...]:
        receiver = self.facts.types.receiver(scope)
        if receiver is not None and root == receiver[0]:
            return (receiver[1],)
        found = self.facts.types.chain(scope, root).classes
        if found:
            return found
        return self._annotated(self.notes(scope, root, depth + 1)) or self._assigned(scope, root, depth)

    def _assigned(self, scope: int, name: str, depth: int) -> tuple[int, ...]:
        found: list[int] = []
        for entity in self.facts.resolver.name(scope, name):
            if entity.kind not in ("local", "global"):
                continue
            where = entity.scope if entity.kind == "local" else self.facts.program.first[entity.scope]
            for assign in self.facts.program.body(where).assigns:
                if assign.target == name and not (isinstance(assign.value, str) and assign.value == name):
                    found.extend(self.classes(where, assign.value, depth + 1))
        return tuple(found)

    def attribute(self, held: tuple[int, ...], name: str, depth: int = 0) -> tuple[int, ...]:
        """Classes of `object.name` for an object of one of the classes `held`."""
        found: list[int] = []
        for class_id in held:
            classes = self.facts.types.attribute(class_id, name).classes
            classes = classes or self._annotated(self._plain(class_id, name))
            found.extend(classes or self._written(class_id, name, depth))
        return tuple(dict.fromkeys(found))

    def _written(self, class_id: int, name: str, depth: int) -> tuple[int, ...]:
        values = [
            (scope, ref)
            for owner in self.facts.hierarchy.order(class_id)
            for scope, ref, _note in self.facts.types.written(owner).get(name, ())
        ]
        return tuple(c for scope, ref in values for c in self.classes(scope, ref, depth + 1))

    def _plain(self, class_id: int, name: str) -> list[Note]:
        """Annotations of an attribute; a method's result is not the method."""
        found = self.members.member(class_id, name)
        return [] if found is None or found.kind == "method" else self.members.annotations(class_id, name)

    def _built(self, scope: int, callee: Ref) -> tuple[int, ...]:
        """Classes that a call constructs."""
        if not isinstance(callee, str):
            return ()
        return tuple(self.facts.resolver.classes(scope, callee))

    def notes(self, scope: int, ref: Ref, depth: int = 0) -> list[Note]:
        """Annotations that say what `ref` gives."""
        if ref is None or depth > _DEEPEST:
            return []
        if isinstance(ref, str):
            return self._chain_notes(scope, ref, depth)
        if ref[0] == "s":
            return [(s, e) for s, text in self.notes(scope, ref[1], depth + 1) if (e := element(text))]
        if ref[0] == "r":
            return self._result_notes(scope, ref[1], depth)
        if ref[0] == "a":
            base, _, name = ref[2].rpartition(".")
            held = self.classes(scope, ("a", ref[1], base) if base else ref[1], depth + 1)
            return [note for class_id in held for note in self._plain(class_id, name)]
        return []

    def _chain_notes(self, scope: int, chain: str, depth: int) -> list[Note]:
        base, _, name = chain.rpartition(".")
        if base:
            return [n for c in self.classes(scope, base, depth + 1) for n in self._plain(c, name)]
        found: list[Note] = []
        for entity in self.facts.resolver.name(scope, name):
            where = entity.scope if entity.kind == "local" else -1
            where = self.facts.program.first[entity.scope] if entity.kind == "global" else where
            if where < 0:
                continue
            parameters = self.facts.program.scope(where).parameters
            found += [(where, p.annotation) for p in parameters if p.name == name and p.annotation]
            for assign in self.facts.program.body(where).assigns:
                if assign.target == name:
                    own = [(where, assign.annotation)] if assign.annotation else []
                    found += own or (self.notes(where, assign.value, depth + 1) if assign.value != name else [])
        return found

    def _result_notes(self, scope: int, callee: Ref, depth: int) -> list[Note]:
        """Annotations of what a call returns."""
        if isinstance(callee, str) and callee in _PASS:
            return []
        if isinstance(callee, tuple) and callee[0] == "a":
            base, name = callee[1], callee[2]
            outer, _, name = name.rpartition(".")
            base = ("a", base, outer) if outer else base
        elif isinstance(callee, str) and "." in callee:
            base, _, name = callee.rpartition(".")
        else:
            base, name = None, ""
        found = self._functions(scope, callee) if isinstance(callee, str) else []
        if not found and base is not None:
            held = self.classes(scope, base, depth + 1)
            found = [f for c in held for f in self.facts.method(c, name)]
            if not found and name in _ELEMENT_CALLS:
                notes = self.notes(scope, base, depth + 1)
                if name in ("copy", "values"):
                    return [(s, f"list[{e}]" if name == "values" else t) for s, t in notes if (e := element(t))]
                return [(s, e) for s, text in notes if (e := element(text))]
        return [(f, result) for f in found if (result := self.facts.program.scope(f).result)]

    def _functions(self, scope: int, callee: str) -> list[int]:
        found = []
        for entity in self.facts.resolver.chain(scope, callee):
            if entity.kind == "definition" and not entity.rest and self.facts.is_function(entity.scope):
                found.append(entity.scope)
            elif entity.kind == "definition" and "." not in entity.rest and self.facts.is_class(entity.scope):
                found.extend(self.facts.method(entity.scope, entity.rest))
        return found

    def _annotated(self, notes: list[Note]) -> tuple[int, ...]:
        found: list[int] = []
        for scope, text in notes:
            for part in alternatives(text):
                found.extend(self.facts.types.annotated(scope, part).classes)
                if part == "Self":
                    owner = self.facts.types.receiver(scope)
                    found.extend((owner[1],) if owner else ())
        return tuple(dict.fromkeys(found))
