"""Reading one running scope: what it names, imports, builds and hands on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rebasekit.facts.chains import Chains
from rebasekit.facts.decorators import Decorators
from rebasekit.facts.escapes import Escapes
from rebasekit.facts.file import FileFacts
from rebasekit.facts.records import CLASS, FUNCTION, RawImport
from rebasekit.facts.settings import TEST
from rebasekit.facts.types import Types

if TYPE_CHECKING:
    from rebasekit.facts.reachability import Reachability

# Whoever calls these imports modules that it finds in a folder.
_SCANS = (b"iter_modules", b"walk_packages")
# Whoever calls this takes classes out of modules, and picks them by a class above them.
_MEMBERS = (b"getmembers",)


class Scanner:
    """Tells a `Reachability` what each scope that runs leads to."""

    def __init__(self, reach: Reachability) -> None:
        self.reach = reach
        self.program = reach.program
        self.resolver = reach.resolver
        self._imported: dict[tuple[str, str, str | None, int], tuple[str, ...]] = {}
        self.types = Types(reach.program, reach.resolver, reach.hierarchy)
        self.decorators = Decorators(reach.program, reach.resolver)
        self.chains = Chains(reach, self.types)
        self.escapes = Escapes(reach, self.decorators)

    def process(self, scope: int) -> None:
        """Read a scope that runs."""
        index, local = self.program.locate(scope)
        file = self.program.file(index)
        head = file.heads[local]
        self._imports(file, head, scope)
        self._inner_classes(file, local, scope)
        if self.reach.level == TEST:
            return self._process_test(scope, file, local)
        loads, lines = file.reads(local)
        classes = self.chains.read(scope, file, local, loads, lines)
        if file.may_read(local, _SCANS):
            self.reach.scan_packages()
        if classes and file.may_read(local, _MEMBERS):
            for class_id in dict.fromkeys(c for named in classes.values() for c in named):
                self.reach.expect(class_id, (scope, head[3]))
        decorated = "c" in head[6]
        if classes or decorated:
            calls, returns = file.raw_acts(local)
            if classes:
                self.escapes.follow(scope, classes, calls, file.raw_assigns(local), returns)
            for call in calls if decorated else ():
                if call[6]:
                    self.escapes.decorated(scope, call)
        self.escapes.defaults(scope, file, head)
        # Anything in the entry's own package marker: a function that runs has its module imported.
        if head[0] in (FUNCTION, CLASS):
            self.reach.import_module(file.module, (scope, head[3]))
        return None

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
                        self.escapes.build_all(self.reach.use(end, origin), origin)
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
