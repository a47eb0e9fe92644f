"""What a name means where it stands: scopes, imports at every level, re-exports, submodules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rebasekit.facts.deferred import Deferred
from rebasekit.facts.file import FileFacts
from rebasekit.facts.program import Program
from rebasekit.facts.records import CLASS, FUNCTION, SCRIPT, RawImport

_DEEPEST = 24  # links of re-exports followed before a chain counts as a cycle


class Entity(NamedTuple):
    """What a chain resolves to.

    kind: "definition" (scope id), "module" (name), "global" (file index, name), "local" (scope id, name),
    "external" (dotted name). `rest` are the attributes that are left over.
    """

    kind: str
    scope: int  # scope id of a definition or of the function that owns a local; file index of a global
    name: str
    rest: str = ""


class Resolver:
    """Resolves names and chains; remembers what it found."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._members: dict[tuple[int, str], tuple[Entity, ...]] = {}
        self._named: dict[int, tuple[str, ...]] = {}  # by file: modules that its strings name
        self._scope = -1
        self._names: dict[str, tuple[Entity, ...]] = {}
        self.deferred = Deferred()

    def chain(self, scope_id: int, dotted: str) -> tuple[Entity, ...]:
        """Every meaning of a chain in a scope (branches may import one name from several places)."""
        root, _, rest = dotted.partition(".")
        found = self.name(scope_id, root)
        if not rest:
            return found
        return tuple(e for entity in found for e in self.walk(entity, rest))

    def walk(self, entity: Entity, rest: str) -> tuple[Entity, ...]:
        """Follow attributes through modules; stop at whatever is not a module."""
        depth = 0
        while rest and entity.kind == "module" and depth < _DEEPEST:
            first, _, rest = rest.partition(".")
            found = self.module_member(entity.name, first)
            if len(found) > 1:
                return tuple(e for option in found for e in self.walk(option, rest))
            entity = found[0]
            depth += 1
        return (entity._replace(rest=rest),)

    def name(self, scope_id: int, name: str) -> tuple[Entity, ...]:
        """Look a name up as Python would: function scopes outward (class bodies only from inside), then the module."""
        if scope_id != self._scope:
            self._scope, self._names = scope_id, {}  # one scope at a time is asked many things
        found = self._names.get(name)
        if found is None:
            found = self._look_up(scope_id, name)
            if scope_id == self._scope:
                self._names[name] = found
        return found

    def _look_up(self, scope_id: int, name: str) -> tuple[Entity, ...]:
        index, local = self.program.locate(scope_id)
        file = self.program.file(index)
        start, spaced = local, f" {name} "
        while local > 0:
            head = file.heads[local]
            if (head[0] in (FUNCTION, SCRIPT) or local == start) and spaced in file.bound(local):
                found = self._in_scope(file, local, name)
                if found is not None:
                    return found
            local = head[2]
        return self.member(index, name)

    def _in_scope(self, file: FileFacts, local: int, name: str) -> tuple[Entity, ...] | None:
        head = file.heads[local]
        entities: list[Entity] = []
        for item in head[11]:
            if item[0] == name:
                if item[3] < 0:
                    return self.member(file.index, name) if head[0] != FUNCTION or item[1] == "" else None
                entities.extend(self._imported(file, item))
        if head[0] == SCRIPT:
            return tuple(entities) or None
        start = self.program.first[file.index]
        entities.extend(Entity("definition", start + c, "") for c in file.children.get(local, {}).get(name, ()))
        return tuple(entities) or (Entity("local", self.program.first[file.index] + local, name),)

    def member(self, index: int, name: str) -> tuple[Entity, ...]:
        """What `name` is at the top of file `index`; an unknown name is external (a builtin, most often)."""
        key = (index, name)
        found = self._members.get(key)
        if found is None:
            self._members[key] = (Entity("external", -1, name),)  # a cycle of re-exports ends here
            found = self._members[key] = self._find_member(index, name)
        return found

    def _find_member(self, index: int, name: str) -> tuple[Entity, ...]:
        file = self.program.file(index)
        if not len(file):
            return (Entity("external", -1, name),)
        imports, bound = file.top
        start = self.program.first[index]
        entities = [Entity("definition", start + child, "") for child in file.children.get(0, {}).get(name, ())]
        for item in imports.get(name, ()):
            entities.extend(self._imported(file, item))
        if entities:
            return tuple(dict.fromkeys(entities)) if len(entities) > 1 else tuple(entities)
        if name in bound:
            elsewhere = self.deferred.of(file, self).get(name)
            found = self.absolute(elsewhere) if elsewhere else ()
            return tuple(e for e in found if e.kind == "definition" and not e.rest) or (Entity("global", index, name),)
        for item in imports.get("*", ()):
            for module in self.sources(file, item):
                if module.kind == "module":
                    found = self.module_member(module.name, name)
                    if found[0].kind != "external":
                        return found
        if file.is_package and (below := self._module(f"{file.module}.{name}")) is not None:
            return (below,)
        return self._lazy(file, name) or (Entity("external", -1, name),)

    def _lazy(self, file: FileFacts, name: str) -> tuple[Entity, ...]:
        """A package that exports lazily (`__getattr__`): the only definition of that name below it, if one."""
        if "__getattr__" not in file.children.get(0, {}):
            return ()
        modules = self._named.get(file.index)
        if modules is None:
            modules = self._named[file.index] = tuple(self._modules_named(file))
        found = [
            entity
            for module in modules
            if module.rpartition(".")[2] != name
            for entity in self.module_member(module, name)
            if entity.kind == "definition"
        ]
        return tuple(dict.fromkeys(found))

    def _modules_named(self, file: FileFacts) -> Iterator[str]:
        """Modules that strings of a module name."""
        for load in file.reads(0)[0]:
            if load.startswith("'"):
                text = load[1:].strip(".")
                module = self._module(text) or self._module(f"{file.package}.{text}")
                if module is not None:
                    yield module.name

    def _imported(self, file: FileFacts, item: RawImport) -> tuple[Entity, ...]:
        alias, module, name = item[:3]
        if name is None:
            # `import a.b` binds a, `import a.b as c` binds a.b.
            top = module.partition(".")[0]
            wanted = top if alias == top else module
            return (self._module(wanted) or Entity("external", -1, wanted),)
        found: list[Entity] = []
        for source in self.sources(file, item):
            if source.kind == "module":
                found.extend(self.module_member(source.name, name))
            else:
                found.append(Entity("external", -1, f"{source.name}.{name}"))
        return tuple(found)

    def sources(self, file: FileFacts, item: RawImport) -> tuple[Entity, ...]:
        _alias, module, _name, level, _line, _guard = item
        if level > 0:
            base = file.package.split(".") if file.package else []
            base = base[: len(base) - (level - 1)] if level > 1 else base
            module = ".".join([*base, module] if module else base)
        return (self._module(module) or Entity("external", -1, module),)

    def _module(self, name: str) -> Entity | None:
        if name in self.program.modules or name in self.program.packages:
            return Entity("module", -1, name)
        return None

    def module_member(self, module: str, name: str) -> tuple[Entity, ...]:
        index = self.program.modules.get(module)
        if index is not None:
            found = self.member(index, name)
            if found[0].kind != "external":
                return found
        below = self._module(f"{module}.{name}")
        return (below,) if below is not None else (Entity("external", -1, f"{module}.{name}"),)

    def absolute(self, dotted: str) -> tuple[Entity, ...]:
        """What a full dotted name means, as in a string that somebody imports."""
        module = dotted.strip(".")
        rest = ""
        while module and module not in self.program.modules:
            module, _, last = module.rpartition(".")
            rest = f"{last}.{rest}" if rest else last
        if not module:
            return ()
        if not rest:
            return (Entity("module", -1, module),)
        return self.walk(Entity("module", -1, module), rest)

    def classes(self, scope_id: int, dotted: str) -> list[int]:
        """Classes that a chain names directly, also through one module-level alias (`Alias = Class`)."""
        found: list[int] = []
        for entity in self.chain(scope_id, dotted):
            found.extend(self.as_classes(entity))
        return found

    def as_classes(self, entity: Entity, depth: int = 4) -> list[int]:
        if entity.rest or depth == 0:
            return self._inner_class(entity)
        if entity.kind == "definition":
            return [entity.scope] if self.kind(entity.scope) == CLASS else []
        if entity.kind == "global":
            file = self.program.file(entity.scope)
            start = self.program.first[entity.scope]
            found = []
            for assign in file.globals.get(entity.name, ()):
                if isinstance(assign[3], str):
                    for other in self.chain(start, assign[3]):
                        if other != entity:
                            found.extend(self.as_classes(other, depth - 1))
            return found
        return []

    def _inner_class(self, entity: Entity) -> list[int]:
        """`Outer.Inner`: a class defined in a class."""
        if entity.kind != "definition":
            return []
        index, local = self.program.locate(entity.scope)
        file = self.program.file(index)
        for part in entity.rest.split("."):
            found = [c for c in file.children.get(local, {}).get(part, ()) if file.heads[c][0] == CLASS]
            if not found:
                return []
            local = found[-1]
        return [self.program.first[index] + local]

    def kind(self, scope_id: int) -> str:
        index, local = self.program.locate(scope_id)
        return str(self.program.file(index).heads[local][0])
