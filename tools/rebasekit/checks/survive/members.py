"""What a class has: methods, properties, attributes, its own and inherited ones."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from rebasekit.checks.survive.api import Api, Found, NotRead
from rebasekit.facts.query import Facts
from rebasekit.facts.records import CLASS, FUNCTION

_PROPERTY = ("property", "cached_property", "functools.cached_property", "abc.abstractproperty")


class Members:
    """Looks members up in one tree."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._slots: dict[int, frozenset[str]] = {}

    def api(self, class_id: int, name: str = "") -> Api:
        """The API that stands for a class, or for a member of it."""
        file = self.facts.program.file_of(class_id)
        return self.top(file.module, self.facts.program.scope(class_id).name, name)

    def top(self, module: str, owner: str, name: str) -> Api:
        if name:
            return Api(module, owner, name)
        outer, _, last = owner.rpartition(".")
        return Api(module, outer, last)

    def member(self, class_id: int, name: str) -> Found | None:
        """What `instance.name` is; None when no class of the tree gives it."""
        for owner in self.facts.hierarchy.order(class_id):
            found = self.own(owner, name)
            if found is not None:
                return Found(found.kind, self.api(class_id, name), found.scopes, class_id)
        outside = self._outside(class_id, name)
        return Found("attribute", self.api(class_id, name), (), class_id) if outside else None

    def own(self, owner: int, name: str) -> Found | None:
        """The same without what is inherited."""
        index, local = self.facts.program.locate(owner)
        file = self.facts.program.file(index)
        children = file.children.get(local, {}).get(name, ())
        api = self.api(owner, name)
        functions = [c for c in children if file.heads[c][0] == FUNCTION]
        if functions:
            decorators = {text.partition("(")[0] for c in functions for text in file.heads[c][9]}
            given = decorators & set(_PROPERTY) or any(text.endswith((".setter", "_property")) for text in decorators)
            return Found("property" if given else "method", api, tuple(self.facts.program.ids(file, functions)), owner)
        if classes := [c for c in children if file.heads[c][0] == CLASS]:
            return Found("class", api, tuple(self.facts.program.ids(file, classes)), owner)
        if name in self.facts.types.written(owner) or f" {name} " in file.heads[local][10] or name in self._slot(owner):
            return Found("attribute", api, (), owner)
        return None

    def _slot(self, owner: int) -> frozenset[str]:
        """Names in `__slots__`."""
        if owner not in self._slots:
            text = self.constant(owner, "__slots__") or ""
            self._slots[owner] = frozenset(part.strip(" \"'()[],") for part in text.split(","))
        return self._slots[owner]

    def _outside(self, class_id: int, name: str) -> bool:
        """Whether other code sets the attribute on an object whose class is known to be this one."""
        order = set(self.facts.hierarchy.order(class_id))
        return any(order & set(classes) for classes in self._set_outside.get(name, ()))

    @cached_property
    def _set_outside(self) -> dict[str, list[tuple[int, ...]]]:
        """Filled by `watch`: looking at every assignment of a tree costs seconds, at one name's nothing."""
        return {}

    def watch(self, name: str) -> None:
        """Find the assignments `object.name = …` outside the object's own methods."""
        if name in self._set_outside:
            return
        found: list[tuple[int, ...]] = []
        for scope in set(self._writers(name)):
            index, local = self.facts.program.locate(scope)
            for assign in self.facts.program.file(index).raw_assigns(local):
                target = assign[2]
                if isinstance(target, str) and target.endswith(f".{name}"):
                    found.append(self.facts.types.chain(scope, target.rpartition(".")[0]).classes)
        self._set_outside[name] = found

    def _writers(self, name: str) -> Iterator[int]:
        # An attribute that is only written is mentioned where it is read; whoever writes it is in the same files.
        files = {self.facts.program.locate(scope)[0] for scope in self.facts.mentions(name)}
        for index in files:
            file = self.facts.program.file(index)
            for local in range(len(file.heads)):
                yield self.facts.program.first[index] + local

    def annotations(self, class_id: int, name: str) -> list[tuple[int, str]]:
        """Annotations of an attribute or of what a property or method returns, with the scopes they stand in."""
        for owner in self.facts.hierarchy.order(class_id):
            found = [(s, note) for s, _ref, note in self.facts.types.written(owner).get(name, ()) if note]
            if found:
                return found
            methods = self.facts.own_method(owner, name)
            if methods:
                return [(m, result) for m in methods if (result := self.facts.program.scope(m).result)]
        return []

    def constant(self, class_id: int, name: str) -> str | None:
        """Source of the value that the class body gives an attribute."""
        index, local = self.facts.program.locate(class_id)
        for assign in self.facts.program.file(index).raw_assigns(local):
            if assign[2] == name and assign[5] is not None:
                return assign[5]
        return None

    def names(self, class_id: int) -> set[str]:
        """Every member name of the class, inherited ones too."""
        return {name for owner in self.facts.hierarchy.order(class_id) for name in self.names_of(owner)}

    def names_of(self, owner: int) -> set[str]:
        """Member names that one class gives itself."""
        index, local = self.facts.program.locate(owner)
        file = self.facts.program.file(index)
        found = set(file.children.get(local, {})) | set(self.facts.types.written(owner))
        return found | set(str(file.heads[local][10]).split())

    def opaque(self, class_id: int) -> bool:
        """Whether the class makes up attributes as it goes, or its module builds it anew after its body."""
        if self.facts.method(class_id, "__getattr__") or self.facts.method(class_id, "__getattribute__"):
            return True
        return any(rebuilt(self.facts, owner) for owner in self.facts.hierarchy.order(class_id))

    def needs_read(self, class_id: int) -> None:
        """Raise NotRead when a base comes from a file that could not be read."""
        for owner in self.facts.hierarchy.order(class_id):
            for text in self.facts.hierarchy.outside(owner):
                for entity in self.facts.resolver.chain(owner, text) if text != "?" else ():
                    check_read(self.facts, entity.name)


def rebuilt(facts: Facts, class_id: int) -> bool:
    """Whether the module assigns to the class's name, or to its annotations, once the body has run.

    `Args = msgspec.defstruct("Args", …)`, from fields that other classes declare: upstream does so from v0.5.20 on.
    """
    index, local = facts.program.locate(class_id)
    file = facts.program.file(index)
    name = str(file.heads[local][1])
    return any(assign[2] in (name, f"{name}.__annotations__") for assign in file.raw_assigns(0))


def check_read(facts: Facts, dotted: str) -> None:
    """Raise NotRead when a dotted name lies in a module whose file could not be read."""
    if not facts.unread:
        return
    name = dotted
    while name:
        index = facts.program.modules.get(name)
        if index is not None and facts.program.paths[index] in facts.unread:
            path = facts.program.paths[index]
            raise NotRead(path, facts.unread[path])
        name = name.rpartition(".")[0]
