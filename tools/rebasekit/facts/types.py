"""What is known of a receiver: classes that a name or an attribute may hold, from assignments and annotations."""

from __future__ import annotations

import re
from typing import NamedTuple

from rebasekit.facts.annotations import alternatives, element
from rebasekit.facts.file import FileFacts
from rebasekit.facts.hierarchy import Hierarchy
from rebasekit.facts.program import Program
from rebasekit.facts.records import CLASS, FUNCTION, Ref
from rebasekit.facts.resolve import Entity, Resolver

_NAME = re.compile(r"^[A-Za-z_][\w.]*$")
_DEEPEST = 5
_MOST_LOCALS = 400


class Held(NamedTuple):
    """Classes whose instances a place may hold; `complete` says that nothing else was seen to go there."""

    classes: tuple[int, ...]
    complete: bool


NOTHING = Held((), False)


class Types:
    """Answers per scope and class; remembers what it read."""

    def __init__(self, program: Program, resolver: Resolver, hierarchy: Hierarchy) -> None:
        self.program = program
        self.resolver = resolver
        self.hierarchy = hierarchy
        self._attributes: dict[int, dict[str, list[tuple[int, Ref, str | None]]]] = {}
        self._locals: dict[int, dict[str, Held | list[tuple[Ref, str | None]]]] = {}
        self._held: dict[tuple[int, str], Held] = {}

    def receiver(self, scope_id: int) -> tuple[str, int] | None:
        """Name of `self` or `cls` in a method (or a function nested in one), and its class."""
        index, local = self.program.locate(scope_id)
        file = self.program.file(index)
        while local > 0:
            head = file.heads[local]
            parent = head[2]
            if head[0] == FUNCTION and parent >= 0 and file.heads[parent][0] == CLASS:
                if "staticmethod" in head[9] or not head[12]:
                    return None
                return head[12], self.program.first[file.index] + parent
            local = parent
        return None

    def chain(self, scope_id: int, dotted: str, depth: int = 0) -> Held:
        """Classes of the object that a chain gives in a scope."""
        root, _, rest = dotted.partition(".")
        if depth > _DEEPEST or not root or root[0] == "'" or root.startswith("super"):
            return NOTHING
        receiver = self.receiver(scope_id)
        if receiver is not None and root == receiver[0]:
            return self._follow(Held((receiver[1],), True), rest, depth)
        found: list[Held] = []
        for entity in self.resolver.name(scope_id, root):
            if entity.kind == "local":
                found.append(self._follow(self._local(entity, depth), rest, depth))
            elif entity.kind == "global":
                found.append(self._follow(self._global(entity, depth), rest, depth))
            else:
                return NOTHING
        return _join(found)

    def _follow(self, held: Held, rest: str, depth: int) -> Held:
        for name in rest.split(".") if rest else ():
            if not held.classes:
                return NOTHING
            held = _join([self.attribute(class_id, name, depth + 1) for class_id in held.classes])
        return held

    def attribute(self, class_id: int, name: str, depth: int = 0) -> Held:
        """Classes of `instance.name`."""
        key = (class_id, name)
        found = self._held.get(key)
        if found is None:
            self._held[key] = NOTHING
            found = self._held[key] = self._attribute(class_id, name, depth)
        return found

    def _attribute(self, class_id: int, name: str, depth: int) -> Held:
        seen: list[Held] = []
        for owner in self.hierarchy.order(class_id):
            for scope, ref, annotation in self.written(owner).get(name, ()):
                if ref == ("v", None) and annotation is None:
                    continue  # `self.x = None`: what it holds is said elsewhere
                seen.append(self.value(scope, ref, annotation, depth))
        return _join(seen)

    def written(self, class_id: int) -> dict[str, list[tuple[int, Ref, str | None]]]:
        """Attributes that a class assigns, in its body or through self: (scope, value, annotation) by name."""
        found = self._attributes.get(class_id)
        if found is None:
            found = self._attributes[class_id] = {}
            index, local = self.program.locate(class_id)
            file = self.program.file(index)
            self._collect(file, local, "", found)
            for children in file.children.get(local, {}).values():
                for child in children:
                    head = file.heads[child]
                    if head[0] == FUNCTION:
                        if head[12]:
                            self._collect(file, child, head[12] + ".", found)
                        if "property" in head[9] and head[8]:
                            found.setdefault(head[1].rpartition(".")[2], []).append(
                                (self.program.first[index] + child, None, head[8])
                            )
        return found

    def _collect(
        self, file: FileFacts, local: int, prefix: str, found: dict[str, list[tuple[int, Ref, str | None]]]
    ) -> None:
        scope = self.program.first[file.index] + local
        for assign in file.raw_assigns(local):
            target = assign[2]
            if isinstance(target, str) and target.startswith(prefix) and "." not in target[len(prefix) :]:
                found.setdefault(target[len(prefix) :], []).append((scope, assign[3], assign[4]))

    def _local(self, entity: Entity, depth: int) -> Held:
        index, local = self.program.locate(entity.scope)
        file = self.program.file(index)
        names = self._locals.get(entity.scope)
        if names is None:
            if len(self._locals) > _MOST_LOCALS:
                self._locals.clear()  # a scope is asked about while it is read, and hardly ever again
            names = self._locals[entity.scope] = {**self._assigned(file, local)}
        found = names.get(entity.name)
        if not isinstance(found, Held):
            names[entity.name] = NOTHING  # `x = x.y` must not ask for itself
            options = [self.value(entity.scope, ref, note, depth + 1) for ref, note in found or ()]
            found = names[entity.name] = _join(options)
        return found

    def _assigned(self, file: FileFacts, local: int) -> dict[str, list[tuple[Ref, str | None]]]:
        names: dict[str, list[tuple[Ref, str | None]]] = {}
        for parameter in file.raw_parameters(local):
            names.setdefault(parameter[0], []).append((None, parameter[2]))
        for assign in file.raw_assigns(local):
            if isinstance(assign[2], str) and "." not in assign[2]:
                names.setdefault(assign[2], []).append((assign[3], assign[4]))
        return names

    def of_local(self, scope_id: int, name: str) -> Held:
        """Classes of what a variable of a function holds."""
        return self._local(Entity("local", scope_id, name), 0)

    def of_global(self, entity: Entity) -> Held:
        """Classes of what a module-level name holds."""
        return self._global(entity._replace(rest=""), 0)

    def _global(self, entity: Entity, depth: int) -> Held:
        file = self.program.file(entity.scope)
        start = self.program.first[entity.scope]
        seen = [a for a in file.globals.get(entity.name, ()) if a[3] != ("v", None)]
        return _join([self.value(start, a[3], a[4], depth + 1) for a in seen])

    def value(self, scope_id: int, ref: Ref, annotation: str | None, depth: int = 0) -> Held:
        """Classes of the object that an expression gives; an annotation answers when the expression does not."""
        held = self._value(scope_id, ref, depth)
        if held.classes:
            return held
        if annotation:
            return self.annotated(scope_id, annotation)
        return held

    def _value(self, scope_id: int, ref: Ref, depth: int) -> Held:
        if depth > _DEEPEST:
            return NOTHING
        if isinstance(ref, str):
            return self.chain(scope_id, ref, depth + 1)
        if not isinstance(ref, tuple):
            return NOTHING
        if ref[0] == "u":
            return _join([self._value(scope_id, o[0], depth + 1) for o in ref[1:] if o[0] != ("v", None)])
        if ref[0] == "r" and isinstance(ref[1], str):
            return self._returned(scope_id, ref[1])
        if ref[0] == "s" and isinstance(ref[1], str):
            return _join([self.annotated(scope, part) for scope, part in self._elements(scope_id, ref[1])])
        return NOTHING

    def _elements(self, scope_id: int, chain: str) -> list[tuple[int, str]]:
        """Annotations of what an annotated container holds, with the scope in which each was written."""
        return [(scope, part) for scope, note in self._notes(scope_id, chain) if (part := element(note))]

    def _notes(self, scope_id: int, chain: str) -> list[tuple[int, str]]:
        """Annotations of a variable, a parameter or an attribute of `self`."""
        root, _, name = chain.partition(".")
        receiver = self.receiver(scope_id)
        if receiver is not None and root == receiver[0]:
            written = [w for owner in self.hierarchy.order(receiver[1]) for w in self.written(owner).get(name, ())]
            return [(scope, note) for scope, _ref, note in written if note]
        found: list[tuple[int, str]] = []
        for entity in self.resolver.name(scope_id, root) if not name else ():
            if entity.kind == "local":
                index, local = self.program.locate(entity.scope)
                assigned = self._assigned(self.program.file(index), local).get(root, [])
                found.extend((entity.scope, note) for _ref, note in assigned if note)
            elif entity.kind == "global":
                assigns = self.program.file(entity.scope).globals.get(root, ())
                found.extend((self.program.first[entity.scope], a[4]) for a in assigns if a[4])
        return found

    def _returned(self, scope_id: int, callee: str) -> Held:
        classes: list[int] = []
        for entity in self.resolver.chain(scope_id, callee):
            found = self.resolver.as_classes(entity)
            if not found and entity.kind == "definition" and not entity.rest:
                result = self.program.scope(entity.scope).result
                found = list(self.annotated(entity.scope, result).classes) if result else []
            if not found:
                return Held(tuple(classes), False)
            classes.extend(found)
        return Held(tuple(dict.fromkeys(classes)), bool(classes))

    def annotated(self, scope_id: int, annotation: str) -> Held:
        """Classes that an annotation allows, None aside; containers and type variables are not followed."""
        classes: list[int] = []
        for name in (annotation,) if _NAME.match(annotation) else alternatives(annotation):
            found = self.resolver.classes(scope_id, name) if _NAME.match(name) else []
            if not found:
                return Held(tuple(classes), False)
            classes.extend(found)
        return Held(tuple(dict.fromkeys(classes)), bool(classes) and not any(map(self.is_open, classes)))

    def is_open(self, class_id: int) -> bool:
        """Whether objects may stand for a class without inheriting from it: a protocol, a bare abstract class."""
        names = {name.rpartition(".")[2] for name in self.hierarchy.outside(class_id)}
        return "Protocol" in names or ("ABC" in names and not self.hierarchy.children.get(class_id))


def _join(options: list[Held]) -> Held:
    classes = tuple(dict.fromkeys(c for held in options for c in held.classes))
    return Held(classes, bool(options) and all(held.complete for held in options))
