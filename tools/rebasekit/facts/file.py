"""One file of a tree as records, decoded when they are asked for."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from rebasekit.facts.packed import PackedFile
from rebasekit.facts.records import (
    CLASS,
    MODULE,
    SCRIPT,
    Assign,
    Body,
    Call,
    Guard,
    Parameter,
    RawImport,
    Return,
)
from rebasekit.facts.scope import Scope

INIT = "__init__"


def module_name(path: str) -> str:
    """`pkg/sub/__init__.py` is `pkg.sub`; folders without an `__init__.py` are packages all the same."""
    name = path.removesuffix(".py").replace("/", ".")
    return name.removesuffix("." + INIT) if name != INIT else ""


def module_names(paths: list[str]) -> list[str]:
    """The same for all paths of a tree, as one text: every first question starts with thousands of them."""
    text = "\0".join(["", *paths, ""]).replace(".py\0", "\0").replace("/", ".")
    text = text.replace(f"\0{INIT}\0", "\0\0").replace(f".{INIT}\0", "\0")
    return text.split("\0")[1:-1]


class FileFacts(PackedFile):
    """One file of a tree."""

    def __init__(self, index: int, path: str, outline: bytes, rest: bytes | Callable[[], bytes] = b"") -> None:
        super().__init__(outline, rest)
        self.index = index
        self.path = path
        self.module = module_name(path)
        self.is_package = path.endswith(INIT + ".py")
        self._scopes: dict[int, Scope] = {}
        self._read: dict[int, Body] = {}
        self.notes: dict[Any, Any] = {}  # what a check has made of the file, as long as that is decoded

    @property
    def package(self) -> str:
        """What a relative import of level one starts from."""
        return self.module if self.is_package else self.module.rpartition(".")[0]

    def scope(self, index: int) -> Scope:
        scope = self._scopes.get(index)
        if scope is None:
            scope = self._scopes[index] = Scope.of(self, index)
        return scope

    def parameters(self, index: int) -> tuple[Parameter, ...]:
        return tuple(map(Parameter._make, self.raw_parameters(index)))

    def mentioned(self) -> Iterator[tuple[int, set[str]]]:
        """The names that each scope mentions; what is imported under another name counts where the alias is read."""
        aliases = {i[0]: i[2] for head in self.heads for i in head[11] if i[2] and i[2] != i[0] != "*"}
        for index, packed in enumerate(self._bounds_and_reads[1]):
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

    @cached_property
    def globals(self) -> dict[str, list[Assign]]:
        """Assignments of the module's own level by name, as bare tuples."""
        found: dict[str, list[Assign]] = {}
        for assign in self.raw_assigns(0) if self.heads else ():
            if isinstance(assign[2], str):
                found.setdefault(assign[2], []).append(assign)
        return found

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
            elif "g" in head[6]:
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
        """Let go of most that was decoded."""
        super().forget()
        self.__dict__.pop("globals", None)
        self._scopes.clear()
        self._read.clear()
        self.notes.clear()

    @contextmanager
    def glance(self) -> Iterator[None]:
        """Let go, at the end, of what is decoded in between: one look at each of all files."""
        decoded = self.decoded()
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
