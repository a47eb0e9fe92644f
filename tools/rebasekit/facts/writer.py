"""The scope that is being read."""

from __future__ import annotations

import builtins
import marshal
from collections.abc import Collection
from typing import Any

from rebasekit.facts.records import FUNCTION

_BUILTINS = frozenset(vars(builtins))


class ScopeWriter:
    """Collects one scope's facts; `pack` turns them into the tuples that `records` describes."""

    __slots__ = (
        "assigns", "bases", "bound", "calls", "decorates", "decorators", "defined", "digest", "end", "flags", "guard",
        "imports", "index", "keeps_constants", "kind", "line", "loads", "loose", "name", "parameters", "parent",
        "result", "returns",
    )  # fmt: skip

    def __init__(self, kind: str, name: str, parent: int, index: int, guard: int, span: tuple[int, int]) -> None:
        self.kind = kind
        self.name = name
        self.parent = parent
        self.index = index
        self.guard = guard
        self.line, self.end = span
        self.digest = b""
        self.keeps_constants = kind != FUNCTION
        self.bases: tuple[Any, ...] = ()
        self.parameters: tuple[Any, ...] = ()
        self.decorators: tuple[str, ...] = ()
        self.decorates = False
        self.flags = ""
        self.loose = False  # some return gives what is not kept in `returns`
        self.result: str | None = None
        self.bound: set[str] = set()
        self.defined: set[str] = set()  # of those: functions and classes
        self.imports: list[tuple[Any, ...]] = []
        self.loads: dict[str, int] = {}
        self.calls: list[tuple[Any, ...]] = []
        self.assigns: list[tuple[Any, ...]] = []
        self.returns: list[tuple[Any, ...]] = []

    def drop_plain(self, known: Collection[str] | None) -> None:
        """Forget reads of bare names that lead nowhere: variables of a function, and builtins.

        `known` are the names bound anywhere in the file; None when it has a star import, which may bind any name.
        """
        own: set[str] = set()
        if self.kind == FUNCTION:
            own = self.bound - self.defined - {item[0] for item in self.imports}
        loads = self.loads
        for name in own.intersection(loads):
            del loads[name]
        if known is not None:
            for name in _BUILTINS.intersection(loads).difference(known):
                del loads[name]

    def pack(self) -> tuple[Any, ...]:
        """The head (see `records.Head`), and parts that are wanted apart, in the order that `pack_file` takes.

        What is read and bound, of every scope that runs; assignments, often, to learn what attributes hold; calls and
        returns, of few; parameters; the digest.
        """
        first = self.parameters[0][0] if self.parameters else ""
        flags = self.flags + ("c" if self.decorates else "")
        bound = f" {' '.join(sorted(self.bound))} "
        function = self.kind == FUNCTION
        head = (
            self.kind, self.name, self.parent, self.line, self.end, self.guard, flags, self.bases, self.result,
            self.decorators, None if function else bound, tuple(self.imports), first,
        )  # fmt: skip
        reads = marshal.dumps((tuple(self.loads), tuple(self.loads.values()))) if self.loads else b""
        acts = marshal.dumps((tuple(self.calls), tuple(self.returns))) if self.calls or self.returns else b""
        assigns = marshal.dumps(tuple(self.assigns)) if self.assigns else b""
        parameters = marshal.dumps(self.parameters) if self.parameters else b""
        return head, bound if function else None, reads, assigns, acts, parameters, self.digest
