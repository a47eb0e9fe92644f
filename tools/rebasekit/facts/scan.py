"""Reading one running scope: what it names, imports, builds and hands on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rebasekit.facts.decorators import Decorators
from rebasekit.facts.file import FileFacts
from rebasekit.facts.records import CLASS, FUNCTION, RawImport, Ref
from rebasekit.facts.resolve import Entity
from rebasekit.facts.settings import TEST
from rebasekit.facts.types import Held, Types

if TYPE_CHECKING:
    from rebasekit.facts.reachability import Reachability

# A class among their arguments is described, not built.
_DESCRIBE = frozenset({"super", "TypeVar", "NewType", "type", "get_type_hints", "NamedTuple", "TypedDict"})

# Whoever calls these imports modules that it finds in a folder.
_SCANS = (b"iter_modules", b"walk_packages")
# Whoever calls this takes classes out of modules, and picks them by a class above them.
_MEMBERS = (b"getmembers",)

Origin = tuple[int, int]  # scope id, line


class Scanner:
    """Tells a `Reachability` what each scope that runs leads to."""

    def __init__(self, reach: Reachability) -> None:
        self.reach = reach
        self.program = reach.program
        self.resolver = reach.resolver
        self._outside: dict[int, set[str]] = {}  # by file: names of its module that lead out of the tree
        self._calling: dict[str, str] = {}
        self._imported: dict[tuple[str, str, str | None, int], tuple[str, ...]] = {}
        self.types = Types(reach.program, reach.resolver, reach.hierarchy)
        self.decorators = Decorators(reach.program, reach.resolver)

    def process(self, scope: int) -> None:
        index, local = self.program.locate(scope)
        file = self.program.file(index)
        head = file.heads[local]
        self._imports(file, head, scope)
        self._inner_classes(file, local, scope)
        if self.reach.level == TEST:
            return self._process_test(scope, file, local)
        loads, lines = file.reads(local)
        classes = self._read(scope, file, local, loads, lines)
        if file.may_read(local, _SCANS):
            self.reach.scan_packages()
        if classes and file.may_read(local, _MEMBERS):
            for class_id in dict.fromkeys(c for named in classes.values() for c in named):
                self.reach.expect(class_id, (scope, head[3]))
        decorated = "c" in head[6]
        if classes or decorated:
            calls, returns = file.raw_acts(local)
            if classes:
                self._escapes(scope, classes, calls, file.raw_assigns(local), returns)
            for call in calls if decorated else ():
                if call[6]:
                    self._decorated(scope, call)
        self._defaults(scope, file, head)
        # Anything in the entry's own package marker: a function that runs has its module imported.
        if head[0] in (FUNCTION, CLASS):
            self.reach.import_module(file.module, (scope, head[3]))
        return None

    def _read(
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

    def _process_test(self, scope: int, file: FileFacts, local: int) -> None:
        """In tests it is enough to know what is named: whom tests call, and how, is of no interest."""
        origin = (scope, file.heads[local][3])
        receiver = self.types.receiver(scope)
        for load in file.reads(local)[0]:
            root, _, rest = load.partition(".")
            if not root or root[0] == "'" or root.startswith("super") or (receiver and root == receiver[0]):
                self.reach.demand_all(rest, origin)
                continue
            for entity in self.resolver.name(scope, root):
                for end in self.resolver.walk(entity, rest) if rest and entity.kind == "module" else (entity,):
                    if end.kind != "external":
                        self._build_all(self.reach.use(end, origin), origin)
            self.reach.demand_all(rest, origin)

    def _imports(self, file: FileFacts, head: tuple[object, ...], scope: int) -> None:
        items = head[11]
        assert isinstance(items, tuple)
        if head[0] == FUNCTION and len(items) > 1:
            # Of several ways the one that fewest tests pick is shown: it is what happens by default.
            items = tuple(sorted(items, key=lambda item: sum(g.holds for g in file.guards(item[5])) if item[5] else 0))
        for item in items:
            if item[3] < 0 or (item[5] and file.typing_only(item[5])):
                continue
            key = (file.package if item[3] else "", *item[1:4])
            modules = self._imported.get(key)
            if modules is None:
                modules = self._imported[key] = tuple(self._modules(file, item))
            for module in modules:
                self.reach.import_module(module, (scope, item[4]))

    def _modules(self, file: FileFacts, item: RawImport) -> Iterator[str]:
        """What an import statement runs: a module, and the module below it that it may name."""
        if item[2] is None:
            yield item[1]
            return
        for module in self.resolver.sources(file, item):
            if module.kind == "module":
                yield module.name
                if (below := f"{module.name}.{item[2]}") in self.program.modules:
                    yield below

    def _inner_classes(self, file: FileFacts, local: int, scope: int) -> None:
        first = self.program.first[file.index]
        for child in file.inner_classes.get(local, ()):
            self.reach.mark(first + child, (scope, file.heads[child][3]))

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

    def _escapes(
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
                    self._build_all(classes[callee], (scope, line))
                elif callee in _DESCRIBE:
                    continue
                elif callee.endswith(".__new__") and callee[:-8] in classes:
                    self._build_all(classes[callee[:-8]], (scope, line))
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
                self._build_all(classes[chain], (scope, line))

    def _build_all(self, classes: Iterable[int], origin: Origin) -> None:
        for class_id in classes:
            self.reach.build(class_id, origin)

    def _defaults(self, scope: int, file: FileFacts, head: Ref) -> None:
        if "d" not in head[6]:
            return
        outer = self.program.first[file.index] + max(head[2], 0)
        for parameter in file.parameters(scope - self.program.first[file.index]):
            for chain in values(parameter[4]) if parameter[4] is not None else ():
                for entity in self.resolver.chain(outer, chain):
                    self._build_all(self.reach.use(entity, (scope, parameter[5])), (scope, parameter[5]))

    def _decorated(self, scope: int, call: Ref) -> None:
        if self.decorators.registers(scope, call[2]):
            for entity in self.resolver.name(scope, call[3][0]):
                if entity.kind == "definition":
                    self._build_all(self.reach.use(entity, (scope, call[0])), (scope, call[0]))


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
