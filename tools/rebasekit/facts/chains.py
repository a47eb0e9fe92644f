"""Chains that a running scope reads: what each leads to, and the classes that they name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rebasekit.facts.file import FileFacts
from rebasekit.facts.marks import Origin
from rebasekit.facts.records import CLASS, FUNCTION
from rebasekit.facts.resolve import Entity
from rebasekit.facts.settings import TEST
from rebasekit.facts.types import Held, Types

if TYPE_CHECKING:
    from rebasekit.facts.reachability import Reachability


class Chains:
    """Follows chains from a name, or from an object whose classes are known, to what runs because of them."""

    def __init__(self, reach: Reachability, types: Types) -> None:
        self.reach = reach
        self.program = reach.program
        self.resolver = reach.resolver
        self.types = types
        self._outside: dict[int, set[str]] = {}  # by file: names of its module that lead out of the tree
        self._calling: dict[str, str] = {}

    def read(
        self, scope: int, file: FileFacts, local: int, loads: tuple[str, ...], lines: tuple[int, ...]
    ) -> dict[str, list[int]]:
        """Follow every chain that a scope reads; return the classes named, by chain."""
        head = file.heads[local]
        receiver = self.types.receiver(scope)
        bound = frozenset(file.bound(local).split())
        variables = self._variables(file, local, bound)
        put_off = self.resolver.deferred.strings(file, self.resolver) if head[2] < 0 else ()
        # Names that lead out of the tree are most of what is read. A scope may hide one of its module.
        flat = self._flat(file, head[2])
        outside = self._outside.setdefault(file.index, set()) if flat else set()
        classes: dict[str, list[int]] = {}
        for load, line in zip(loads, lines, strict=True):
            root, _, rest = load.partition(".")
            if (root in outside and root not in bound) or load in put_off:
                continue
            if receiver is not None and root == receiver[0]:
                if wanted := self.calling(rest):
                    self.attributes(Held((receiver[1],), True), wanted, (scope, line))
            elif not root or root[0] == "'" or root.startswith("super"):
                self._special(scope, load, (scope, line), receiver)
            elif root in variables:
                if wanted := self.calling(rest):
                    self.attributes(self.types.of_local(scope, root), wanted, (scope, line))
            else:
                free = flat and root not in bound
                entities = self.resolver.member(file.index, root) if free else self.resolver.name(scope, root)
                if len(entities) == 1 and entities[0].kind == "external":
                    if root not in bound:
                        outside.add(root)
                elif named := self._named(scope, root, rest, entities, (scope, line)):
                    classes[load] = named
        return classes

    def _variables(self, file: FileFacts, local: int, bound: frozenset[str]) -> frozenset[str]:
        """Names of a function that hold what it assigns: not what it imports, declares global or defines."""
        head = file.heads[local]
        if head[0] != FUNCTION:
            return frozenset()
        return bound.difference([item[0] for item in head[11]], file.children.get(local, ()))

    def _flat(self, file: FileFacts, local: int) -> bool:
        """Whether only classes and the module are around a scope: its free names are the module's."""
        while local > 0:
            if file.heads[local][0] != CLASS:
                return False
            local = file.heads[local][2]
        return True

    def calling(self, rest: str) -> str:
        """Attributes up to the last one that is a method's name somewhere: what follows can run nothing."""
        found = self._calling.get(rest)
        if found is None:
            found = rest
            while found and found.rpartition(".")[2] not in self.reach.method_names:
                found = found.rpartition(".")[0]
            self._calling[rest] = found
        return found

    def _special(self, scope: int, load: str, origin: Origin, receiver: tuple[str, int] | None) -> None:
        """Chains that do not start at a name: on a call or a subscript, in a string, on `super()`."""
        root, _, rest = load.partition(".")
        if not root:
            self.reach.demand_all(rest, origin)
        elif root[0] == "'":
            self._string(load[1:], origin)
        elif receiver is not None and (root == "super" or root[5:6] == "("):
            self._super(scope, root, rest, receiver[1], origin)
        else:
            self._named(scope, root, rest, self.resolver.name(scope, root), origin)

    def _named(self, scope: int, root: str, rest: str, entities: tuple[Entity, ...], origin: Origin) -> list[int]:
        """A chain that starts at a name; returns the classes that it names."""
        found: list[int] = []
        for entity in entities:
            if entity.kind == "local":
                if wanted := self.calling(rest):
                    self.attributes(self.types.chain(scope, root), wanted, origin)
            elif not rest:
                found.extend(self.reach.use(entity, origin))
            else:
                for end in self.resolver.walk(entity, rest):
                    found.extend(self.reach.use(end, origin))
        return found

    def attributes(self, held: Held, rest: str, origin: Origin) -> None:
        """Attributes of an object, one after the other, as long as its classes are known."""
        if self.reach.level == TEST:
            return self.reach.demand_all(rest, origin)  # who among the tests calls whom is of no interest
        names = rest.split(".") if rest else []
        for at, name in enumerate(names):
            if not held.classes:
                return self.reach.demand_all(".".join(names[at:]), origin)
            for class_id in held.classes:
                self.reach.demand_on(class_id, name, origin)
            if not held.complete:
                self.reach.demand(name, origin)
            if at + 1 < len(names):
                options = [self.types.attribute(class_id, name) for class_id in held.classes]
                complete = held.complete and all(option.complete for option in options)
                held = Held(tuple(dict.fromkeys(c for option in options for c in option.classes)), complete)
        return None

    def _super(self, scope: int, root: str, rest: str, class_id: int, origin: Origin) -> None:
        after = class_id
        if root != "super":
            named = self.resolver.classes(scope, root[6:-1])
            after = named[0] if named else class_id
        name, _, more = rest.partition(".")
        for target in self.reach.lookup(class_id, name, after):
            self.reach.mark(target, origin)
        self.reach.demand_all(more, origin)

    def _string(self, dotted: str, origin: Origin) -> list[int]:
        """A string that names a module, class or function may be imported by whoever gets it."""
        module = dotted
        while module and module not in self.program.modules and module not in self.program.packages:
            module = module.rpartition(".")[0]
        if "." not in module:
            return []
        rest = dotted[len(module) + 1 :]
        index = self.program.modules.get(module)
        if index is not None:
            self.reach.guess_module(index, origin)
        if not rest:
            if module in self.program.packages:
                self.reach.scan_package(module, origin)
            return []
        classes = []
        for entity in self.resolver.module_member(module, rest) if index is not None and "." not in rest else ():
            if entity.kind == "definition":
                classes.extend(self.reach.use(entity, origin))
        for class_id in classes:
            self.reach.build(class_id, origin)
        return []
