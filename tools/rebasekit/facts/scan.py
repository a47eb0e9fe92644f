"""Reading one running scope: what it names, imports, builds and hands on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rebasekit.facts.decorators import Decorators
from rebasekit.facts.program import FileFacts
from rebasekit.facts.records import CLASS, FUNCTION, Ref
from rebasekit.facts.resolve import Entity
from rebasekit.facts.settings import TEST
from rebasekit.facts.types import Held, Types

if TYPE_CHECKING:
    from rebasekit.facts.reachability import Reachability

# A class among their arguments is described, not built.
_DESCRIBE = frozenset({"super", "TypeVar", "NewType", "type", "get_type_hints", "NamedTuple", "TypedDict"})

_MOST_OPEN = 1000  # files whose bodies are kept decoded
# Whoever calls these imports modules that it finds in a folder.
_SCANS = ("iter_modules", "walk_packages")
# Whoever calls this takes classes out of modules, and picks them by a class above them.
_MEMBERS = "getmembers"

Origin = tuple[int, int]  # scope id, line


class Scanner:
    """Tells a `Reachability` what each scope that runs leads to."""

    def __init__(self, reach: Reachability) -> None:
        self.reach = reach
        self.program = reach.program
        self.resolver = reach.resolver
        self._open: dict[int, FileFacts] = {}
        self._outside: dict[int, set[str]] = {}  # by file: names of its module that lead out of the tree
        self._calling: dict[str, str] = {}
        self.types = Types(reach.program, reach.resolver, reach.hierarchy)
        self.decorators = Decorators(reach.program, reach.resolver)

    def process(self, scope: int) -> None:
        index, local = self.program.locate(scope)
        file = self.program.file(index)
        head = file.heads[local]
        self._keep(file)
        self._imports(file, head, scope)
        self._inner_classes(file, local, scope)
        if self.reach.level == TEST:
            return self._process_test(scope, file, local)
        loads, lines = file.reads(local)
        classes = self._read(scope, file, head, loads, lines)
        if any(load.endswith(_SCANS) for load in loads):
            self.reach.scan_packages()
        if classes and any(load.endswith(_MEMBERS) for load in loads):
            for class_id in dict.fromkeys(c for named in classes.values() for c in named):
                self.reach.expect(class_id, (scope, head[3]))
        decorated = "c" in head[12]
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

    def _keep(self, file: FileFacts) -> None:
        """Scopes of one file run soon after one another; what was decoded of others makes room."""
        if self._open.pop(file.index, None) is None and len(self._open) >= _MOST_OPEN:
            self._open.pop(next(iter(self._open))).forget()
        self._open[file.index] = file

    def _read(
        self, scope: int, file: FileFacts, head: Ref, loads: tuple[str, ...], lines: tuple[int, ...]
    ) -> dict[str, list[int]]:
        """Follow every chain that a scope reads; return the classes named, by chain."""
        receiver = self.types.receiver(scope)
        classes: dict[str, list[int]] = {}
        # Names that lead out of the tree are most of what is read. A function may hide one of its module.
        outside = self._outside.setdefault(file.index, set())
        put_off = self.resolver.deferred.strings(file) if head[2] < 0 else ()
        flat = self._flat(file, head[2])
        skip = {root for root in outside if f" {root} " not in head[10]} if flat else set()
        for load, line in zip(loads, lines, strict=True):
            root, _, rest = load.partition(".")
            if root in skip or load in put_off:
                continue
            if receiver is not None and root == receiver[0]:
                if rest := self.calling(rest):
                    self.attributes(Held((receiver[1],), True), rest, (scope, line))
            elif not root or root[0] == "'" or root.startswith("super"):
                self._special(scope, load, (scope, line), receiver)
            else:
                entities = self.resolver.name(scope, root)
                if len(entities) == 1 and entities[0].kind == "external":
                    skip.add(root)
                    if flat and f" {root} " not in head[10]:
                        outside.add(root)
                    continue
                named = self._named(scope, root, rest, entities, (scope, line))
                if named:
                    classes[load] = named
        return classes

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
            if item[3] < 0 or (item[5] and self._typing_only(file, item[5])):
                continue
            origin = (scope, item[4])
            for module in self.resolver.sources(file, item) if item[2] is not None else self._plain(item):
                if module.kind == "module":
                    self.reach.import_module(module.name, origin)
                    if item[2] is not None:
                        below = f"{module.name}.{item[2]}"
                        if below in self.program.modules:
                            self.reach.import_module(below, origin)

    def _plain(self, item: tuple[str, str, str | None, int, int, int]) -> Iterable[Entity]:
        return (Entity("module", -1, item[1]),)

    def _typing_only(self, file: FileFacts, guard: int) -> bool:
        return any(g.holds and g.text in ("TYPE_CHECKING", "typing.TYPE_CHECKING") for g in file.guards(guard))

    def _inner_classes(self, file: FileFacts, local: int, scope: int) -> None:
        for children in file.children.get(local, {}).values():
            for child in children:
                if file.heads[child][0] == CLASS:
                    self.reach.mark(self.program.first[file.index] + child, (scope, file.heads[child][3]))

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
        if "d" not in head[12]:
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
