"""One tree as a catalogue of APIs: what a name, a chain or an attribute is, and whether an API is there."""

from __future__ import annotations

import ast
from functools import cached_property

from rebasekit.checks.survive.api import Api, Found, NotRead
from rebasekit.checks.survive.members import Members, check_read
from rebasekit.checks.survive.receivers import Receivers
from rebasekit.checks.survive.signature import Signature, bound_by, of_class, of_function
from rebasekit.facts.file import FileFacts
from rebasekit.facts.query import Facts
from rebasekit.facts.resolve import Entity
from rebasekit.facts.syntax import expression


class Catalog:
    """Answers about one tree."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.members = Members(facts)

    @cached_property
    def receivers(self) -> Receivers:
        return Receivers(self.facts, self.members)

    def file(self, path: str) -> FileFacts | None:
        """The facts of a file; raise NotRead when there are none because it could not be read."""
        if path in self.facts.unread:
            raise NotRead(path, self.facts.unread[path])
        index = self.facts.program.index_of.get(path)
        return self.facts.program.file(index) if index is not None else None

    def name(self, scope: int, chain: str) -> Found | None:
        """What a chain names in a scope through modules and definitions; None when it is not upstream's to name."""
        for entity in self.facts.resolver.chain(scope, chain):
            found = self.entity(entity)
            if found is not None:
                return found
        return None

    def entity(self, entity: Entity) -> Found | None:
        program = self.facts.program
        if entity.kind == "external":
            check_read(self.facts, entity.name)
            return None
        if entity.kind == "module":
            return Found("module", Api(entity.name)) if not entity.rest else None
        if entity.kind == "global":
            module = program.file(entity.scope).module
            return Found("global", Api(module, "", entity.name)) if not entity.rest else None
        if entity.kind != "definition" or self._local(entity.scope):
            return None
        if not entity.rest:
            return self.definition(entity.scope)
        if self.facts.is_class(entity.scope):
            first, _, more = entity.rest.partition(".")
            member = self.members.member(entity.scope, first)
            if more and member is not None and member.kind == "class":
                return self.entity(Entity("definition", member.scopes[0], "", more))
            return member if not more else None
        return None

    def _local(self, scope: int) -> bool:
        """Whether a definition stands inside a function: nobody else's API."""
        index, local = self.facts.program.locate(scope)
        heads = self.facts.program.file(index).heads
        while local > 0:
            local = heads[local][2]
            if heads[local][0] == "f":
                return True
        return False

    def definition(self, scope: int) -> Found:
        head = self.facts.program.scope(scope)
        api = self.members.top(self.facts.program.file_of(scope).module, head.name, "")
        return Found("class" if head.kind == "c" else "function", api, (scope,))

    def find(self, api: Api) -> Found | None:
        """The API of that name in this tree; raise NotRead when its file could not be read."""
        if not api.name:
            known = api.module in self.facts.program.modules or api.module in self.facts.program.packages
            return Found("module", api) if known else None
        if api.owner:
            for class_id in self.classes(api.module, api.owner):
                found = self.members.member(class_id, api.name)
                if found is None:
                    self.members.watch(api.name)
                    found = self.members.member(class_id, api.name)
                if found is not None:
                    return found
                self.members.needs_read(class_id)
            return None
        check_read(self.facts, api.module)
        for entity in self.facts.resolver.module_member(api.module, api.name):
            # Only what the module itself gives: a submodule of that name is no member that was imported.
            found = self.entity(entity)
            if found is not None:
                return found
        return Found("global", api) if self._passed_on(api) else None

    def _passed_on(self, api: Api, depth: int = 8) -> bool:
        """Whether the module imports the name from another package: it has it, whatever it is."""
        index = self.facts.program.modules.get(api.module)
        file = self.facts.program.file(index) if index is not None else None
        if file is None or not len(file):
            return False
        imports = file.top[0]
        for item in (*imports.get(api.name, ()), *imports.get("*", ())):
            source = self.facts.resolver.sources(file, item)[0]
            if item[0] != "*" and (item[2] is None or source.kind == "external"):
                return True
            name = api.name if item[0] == "*" else item[2]
            if depth and source.kind == "module" and name and self._passed_on(Api(source.name, "", name), depth - 1):
                return True
        return False

    def classes(self, module: str, owner: str) -> list[int]:
        """Classes of that qualified name in a module."""
        check_read(self.facts, module)
        first, _, rest = owner.partition(".")
        found: list[int] = []
        for entity in self.facts.resolver.module_member(module, first):
            if entity.kind in ("definition", "global"):
                found.extend(self.facts.resolver.as_classes(entity._replace(rest=rest)))
        return found

    def owner_class(self, api: Api) -> int | None:
        """The class that an API is, or is a member of."""
        found = self.classes(api.module, api.owner) if api.owner else []
        return found[0] if found else None

    def signatures(self, found: Found, on_class: bool = False) -> list[Signature]:
        """What calling it takes, one per definition; empty when that is not known."""
        if found.kind == "class":
            return [s for scope in found.scopes for s in of_class(self.facts, scope)]
        if found.kind == "function":
            return [of_function(self.facts, scope, 0) for scope in found.scopes]
        if found.kind == "method":
            program = self.facts.program
            return [of_function(self.facts, s, bound_by(program.scope(s), on_class)) for s in found.scopes]
        return []

    def returned(self, found: Found) -> int | None:
        """How many values a function returns by its annotation; None when that does not say."""
        if found.kind not in ("function", "method"):
            return None
        counts = {_length(self.facts.program.scope(scope).result) for scope in found.scopes}
        return counts.pop() if len(counts) == 1 else None

    def managed(self, found: Found) -> bool:
        """Whether a function is a context manager by its decorator."""
        decorators = {d.rpartition(".")[2] for s in found.scopes for d in self.facts.program.scope(s).decorators}
        return bool(decorators & {"contextmanager", "asynccontextmanager"})

    def rebound(self, found: Found) -> str:
        """What the module puts in the place of a function below its definition, whatever happens; empty if nothing.

        `f = wrap(f)` keeps the function.
        """
        if found.kind != "function" or len(found.scopes) != 1:
            return ""
        head, file = self.facts.program.scope(found.scopes[0]), self.facts.program.file_of(found.scopes[0])
        for line, guard, target, _ref, _note, text in file.raw_assigns(0):
            if target == head.name and line > head.end and not guard and text and head.name not in text:
                return str(text)
        return ""

    def assignable(self, found: Found) -> bool:
        """Whether an attribute can be assigned: no property without a setter, no field of a frozen class."""
        program = self.facts.program
        if found.kind == "property":
            decorators = [d for scope in found.scopes for d in program.scope(scope).decorators]
            return any(text.endswith((".setter", "cached_property")) for text in decorators)
        if found.kind != "attribute" or found.holder is None:
            return True
        made = [d for owner in self.facts.hierarchy.order(found.holder) for d in program.scope(owner).decorators]
        return not any("dataclass" in text and "frozen=True" in text.replace(" ", "") for text in made)

    def parse_dotted(self, dotted: str) -> Api | None:
        """`pkg.mod.Class.member` as an API: the longest module that the tree has, then what is inside."""
        parts = dotted.split(".")
        for cut in range(len(parts), 0, -1):
            module = ".".join(parts[:cut])
            if module in self.facts.program.modules or module in self.facts.program.packages:
                rest = parts[cut:]
                return Api(module, ".".join(rest[:-1]), rest[-1]) if rest else Api(module)
        return None


def _length(annotation: str | None) -> int | None:
    """The number of parts of `tuple[A, B]`."""
    node = expression(annotation.strip("\"'") if annotation else None)
    if not isinstance(node, ast.Subscript) or ast.unparse(node.value).rpartition(".")[2] not in ("tuple", "Tuple"):
        return None
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    endless = any(isinstance(part, ast.Constant) and part.value is Ellipsis for part in parts)
    return None if endless else len(parts)
