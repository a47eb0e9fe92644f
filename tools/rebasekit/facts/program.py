"""The files of one tree as records, decoded when they are asked for."""

from __future__ import annotations

import marshal
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from rebasekit.facts.records import (
    CLASS,
    MODULE,
    SCRIPT,
    Assign,
    Body,
    Call,
    Guard,
    Import,
    Parameter,
    Return,
    Scope,
)

INIT = "__init__"
_MOST_OPEN = 500  # files of which calls are decoded; what is asked for again is decoded again
RawImport = tuple[str, str, str | None, int, int, int]  # the fields of records.Import


def module_name(path: str) -> str:
    """`pkg/sub/__init__.py` is `pkg.sub`; folders without an `__init__.py` are packages all the same."""
    name = path.removesuffix(".py").replace("/", ".")
    return name.removesuffix("." + INIT) if name != INIT else ""


def _unzip(packed: bytes) -> tuple[Any, ...]:
    part: tuple[Any, ...] = marshal.loads(zlib.decompress(packed))  # noqa: S302 - our own cache
    return part


class FileFacts:
    """One file: scope heads at once, everything else when it is asked for."""

    def __init__(self, index: int, path: str, packed: bytes) -> None:
        self.index = index
        self.path = path
        self.module = module_name(path)
        self.is_package = path.endswith(INIT + ".py")
        # What `extract` packed: heads, reads, assignments, acts, guards. An unread file has no scopes at all.
        self._packed: list[bytes] = list(marshal.loads(packed)) if packed else []  # noqa: S302 - our own cache
        self.heads = self._take(0) if packed else ()
        self._scopes: dict[int, Scope] = {}
        self._read: dict[int, Body] = {}
        self.notes: dict[Any, Any] = {}  # what a check has made of the file, as long as that is decoded
        self.opened: dict[FileFacts, None] | None = None  # files of the tree whose calls are decoded, oldest first

    def __len__(self) -> int:
        return len(self.heads)

    @property
    def package(self) -> str:
        """What a relative import of level one starts from."""
        return self.module if self.is_package else self.module.rpartition(".")[0]

    def scope(self, index: int) -> Scope:
        scope = self._scopes.get(index)
        if scope is None:
            head = Scope._make(self.heads[index])
            assert isinstance(head.bound, str)
            scope = self._scopes[index] = head._replace(
                parameters=self.parameters(index),
                bound=tuple(head.bound.split()),  # kept as one spaced string: a tree has a million of these
                imports=tuple(map(Import._make, head.imports)),
            )
        return scope

    def parameters(self, index: int) -> tuple[Parameter, ...]:
        return tuple(map(Parameter._make, self.raw_parameters(index)))

    def raw_parameters(self, index: int) -> tuple[Any, ...]:
        """Parameters as bare tuples in the order of `Parameter`'s fields."""
        packed = self.heads[index][8]
        found: tuple[Any, ...] = marshal.loads(packed) if packed else ()  # noqa: S302 - our own cache
        return found

    def _take(self, part: int) -> tuple[Any, ...]:
        """A part that stays unpacked."""
        packed, self._packed[part] = self._packed[part], b""
        return _unzip(packed)

    def _open(self, part: int) -> tuple[Any, ...]:
        """A part that is unpacked until many other files are in use."""
        if self.opened is not None and self not in self.opened:
            self.opened[self] = None
            if len(self.opened) > _MOST_OPEN:
                oldest = next(iter(self.opened))
                del self.opened[oldest]
                oldest.forget()
        return _unzip(self._packed[part])

    @cached_property
    def _reads(self) -> tuple[bytes, ...]:
        return self._take(1)

    @cached_property
    def _assigns(self) -> tuple[bytes, ...]:
        return self._take(2)

    @cached_property
    def _acts(self) -> tuple[bytes, ...]:
        return self._open(3)

    @cached_property
    def _guards(self) -> tuple[tuple[int, str, bool, int], ...]:
        return self._open(4)

    def mentioned(self) -> Iterator[tuple[int, set[str]]]:
        """The names that each scope mentions; what is imported under another name counts where the alias is read."""
        aliases = {i[0]: i[2] for head in self.heads for i in head[11] if i[2] and i[2] != i[0] != "*"}
        for index, packed in enumerate(self._reads if self.heads else ()):
            if packed:
                names: set[str] = set()
                for load in marshal.loads(packed)[0]:  # noqa: S302 - our own cache
                    if "." in load:
                        names.update((load[1:] if load[0] == "'" else load).split("."))
                    else:
                        names.add(load)
                if aliases:
                    names.update([aliases[name] for name in names & aliases.keys()])
                names.discard("")  # what stands on no name starts with ""
                yield index, names

    def mentions(self) -> dict[str, list[int]]:
        """The scopes that mention each name."""
        found: dict[str, list[int]] = {}
        for index, names in self.mentioned():
            for name in names:
                found.setdefault(name, []).append(index)
        return found

    def body(self, index: int) -> Body:
        body = self._read.get(index)
        if body is None:
            calls, returns = self.raw_acts(index)
            body = self._read[index] = Body(
                *self.reads(index),
                tuple(map(_call, calls)),
                tuple(map(Assign._make, self.raw_assigns(index))),
                tuple(map(Return._make, returns)),
            )
        return body

    def reads(self, index: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Chains read in a scope, and the line of each."""
        packed = self._reads[index]
        found: tuple[tuple[str, ...], tuple[int, ...]]
        found = marshal.loads(packed) if packed else ((), ())  # noqa: S302 - our own cache
        return found

    def may_read(self, index: int, words: tuple[bytes, ...]) -> bool:
        """Whether one of these stands in what a scope reads; cheaper than `reads`."""
        packed = self._reads[index]
        return any(word in packed for word in words)

    def raw_acts(self, index: int) -> tuple[tuple[Call, ...], tuple[Return, ...]]:
        """Calls and returns as bare tuples in the order of `records`' fields, arguments' lines as they are packed."""
        packed = self._acts[index]
        acts: tuple[tuple[Call, ...], tuple[Return, ...]]
        acts = marshal.loads(packed) if packed else ((), ())  # noqa: S302 - our own cache
        return acts

    @cached_property
    def globals(self) -> dict[str, list[Assign]]:
        """Assignments of the module's own level by name, as bare tuples."""
        found: dict[str, list[Assign]] = {}
        for assign in self.raw_assigns(0) if self.heads else ():
            if isinstance(assign[2], str):
                found.setdefault(assign[2], []).append(assign)
        return found

    def raw_assigns(self, index: int) -> tuple[Assign, ...]:
        """Assignments as bare tuples in the order of `Assign`'s fields."""
        packed = self._assigns[index]
        assigns: tuple[Assign, ...] = marshal.loads(packed) if packed else ()  # noqa: S302 - our own cache
        return assigns

    @cached_property
    def top(self) -> tuple[dict[str, list[RawImport]], frozenset[str]]:
        """Imports by alias, and other bound names, at module level (script blocks included)."""
        imports: dict[str, list[RawImport]] = {}
        bound: set[str] = set()
        for head in self.heads:
            if head[0] in (MODULE, SCRIPT):
                bound.update(head[10].split())
                for item in head[11]:
                    if item[3] >= 0:
                        imports.setdefault(item[0], []).append(item)
            elif "g" in head[12]:
                # `global x` in a function makes x a module global, even if only functions assign it.
                bound.update(item[0] for item in head[11] if item[3] < 0)
        return imports, frozenset(bound)

    def guards(self, index: int) -> list[Guard]:
        """Tests on the way to guard `index`, outermost first."""
        found = []
        while index:
            guard = Guard._make(self._guards[index])
            found.append(guard)
            index = guard.parent
        return found[::-1]

    def typing_only(self, guard: int) -> bool:
        """Whether what stands under a guard is read by type checkers alone."""
        return any(g.holds and g.text in ("TYPE_CHECKING", "typing.TYPE_CHECKING") for g in self.guards(guard))

    def forget(self) -> None:
        """Let go of most that was decoded: a whole tree of it is too much to hold while it is linked."""
        for name in ("_acts", "_guards", "globals"):
            self.__dict__.pop(name, None)
        self._scopes.clear()
        self._read.clear()
        self.notes.clear()

    @contextmanager
    def glance(self) -> Iterator[None]:
        """Let go, at the end, of what is decoded in between: one look at each of all files."""
        decoded = "_acts" in self.__dict__ or "_guards" in self.__dict__
        try:
            yield
        finally:
            if not decoded:
                self.forget()

    def guard(self, index: int) -> Guard:
        return Guard._make(self._guards[index])

    @cached_property
    def children(self) -> dict[int, dict[str, list[int]]]:
        """Definitions directly inside each scope, by name; twins (if/else, overloads) share a name."""
        found: dict[int, dict[str, list[int]]] = {}
        for index, head in enumerate(self.heads):
            if head[2] >= 0:
                parent = head[2]
                # What a script block defines is a module global, as in any `if`.
                if self.heads[parent][0] == "x":
                    parent = 0
                found.setdefault(parent, {}).setdefault(head[1].rpartition(".")[2], []).append(index)
        return found

    @cached_property
    def inner_classes(self) -> dict[int, list[int]]:
        """Classes directly inside each scope that has any."""
        return {
            parent: found
            for parent, named in self.children.items()
            if (found := [c for same in named.values() for c in same if self.heads[c][0] == CLASS])
        }


def _call(raw: Any) -> Call:
    """Arguments that all stand on the call's line are packed without theirs."""
    call = Call._make(raw)
    return call if len(call.lines) == len(call.args) else call._replace(lines=(call.line,) * len(call.args))


class Program:
    """Every file of a tree; scope ids count through all files, in path order."""

    def __init__(self, paths: list[str], sizes: list[int], load: Callable[[int], FileFacts], unread: dict[str, str]):
        self.paths = paths
        self.unread = unread  # path to reason
        self._load = load
        self._files: dict[int, FileFacts] = {}
        self._opened: dict[FileFacts, None] = {}
        self.first = [0]
        for size in sizes:
            self.first.append(self.first[-1] + size)
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
        return {
            module_name(path): index
            for index, path in sorted(enumerate(self.paths), key=lambda item: item[1].endswith(INIT + ".py"))
        }

    @cached_property
    def packages(self) -> set[str]:
        """Every folder that holds Python files, however deep."""
        found: set[str] = set()
        for path in self.paths:
            folder = path.rpartition("/")[0]
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
