"""Every file of a tree, and the ids that count scopes through all of them."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import accumulate

from rebasekit.facts.file import INIT, FileFacts, module_names
from rebasekit.facts.packed import PackedFile
from rebasekit.facts.records import Body
from rebasekit.facts.scope import Scope


class Program:
    """Every file of a tree; scope ids count through all files, in path order."""

    def __init__(self, paths: list[str], sizes: list[int], load: Callable[[int], FileFacts], unread: dict[str, str]):
        self.paths = paths
        self.unread = unread  # path to reason
        self._load = load
        self._files: dict[int, FileFacts] = {}
        self._opened: dict[PackedFile, None] = {}
        self.first = list(accumulate(sizes, initial=0))
        self._owners: array[int] | None = None

    def __len__(self) -> int:
        return self.first[-1]

    def file(self, index: int) -> FileFacts:
        found = self._files.get(index)
        if found is None:
            found = self._files[index] = self._load(index)
            found.opened = self._opened
        return found

    @cached_property
    def index_of(self) -> dict[str, int]:
        return {path: index for index, path in enumerate(self.paths)}

    @cached_property
    def modules(self) -> dict[str, int]:
        """File index by module name; a package's `__init__.py` wins over a module beside it."""
        names = module_names(self.paths)
        found = dict(zip(names, range(len(names)), strict=True))
        if len(found) < len(names):
            found.update((names[at], at) for at, path in enumerate(self.paths) if path.endswith(INIT + ".py"))
        return found

    @cached_property
    def packages(self) -> set[str]:
        """Every folder that holds Python files, however deep."""
        found: set[str] = set()
        for folder in dict.fromkeys(path.rpartition("/")[0] for path in self.paths):
            while folder and (name := folder.replace("/", ".")) not in found:
                found.add(name)
                folder = folder.rpartition("/")[0]
        return found

    def locate(self, scope_id: int) -> tuple[int, int]:
        """File index and index within the file of a scope id."""
        owners = self._owners
        index = owners[scope_id] if owners is not None else bisect_right(self.first, scope_id) - 1
        return index, scope_id - self.first[index]

    def prepare(self) -> None:
        """Make `locate` a look-up: it pays for whoever asks about most scopes of the tree."""
        if self._owners is None:
            sizes = (self.first[i + 1] - self.first[i] for i in range(len(self.paths)))
            self._owners = array("I", (index for index, size in enumerate(sizes) for _ in range(size)))

    def file_of(self, scope_id: int) -> FileFacts:
        return self.file(self.locate(scope_id)[0])

    def scope(self, scope_id: int) -> Scope:
        index, local = self.locate(scope_id)
        return self.file(index).scope(local)

    def body(self, scope_id: int) -> Body:
        index, local = self.locate(scope_id)
        return self.file(index).body(local)

    def reads(self, scope_id: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Chains read in a scope, and the line of each; what is called and assigned there stays packed."""
        index, local = self.locate(scope_id)
        return self.file(index).reads(local)

    def enclosing_class(self, scope_id: int) -> int | None:
        """The class whose method this scope is, or is nested in."""
        index, local = self.locate(scope_id)
        heads = self.file(index).heads
        while local > 0:
            parent = heads[local][2]
            if heads[local][0] == "f" and parent >= 0 and heads[parent][0] == "c":
                return self.first[index] + int(parent)
            local = parent
        return None

    def label(self, scope_id: int) -> str:
        """How a scope is called in reports: its qualified name, `<module>` for module level."""
        scope = self.scope(scope_id)
        return "<module>" if scope.kind in "mx" and "." not in scope.name else scope.name

    def ids(self, file: FileFacts, locals_: Iterable[int]) -> list[int]:
        return [self.first[file.index] + local for local in locals_]
