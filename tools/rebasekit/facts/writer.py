"""The scope that is being read."""

from __future__ import annotations

import marshal
import sys
from typing import Any

from rebasekit.facts.records import refers


class ScopeWriter:
    """Collects one scope's facts; `pack` turns them into the tuples that `records` describes."""

    __slots__ = (
        "assigns", "bases", "bound", "calls", "decorators", "digest", "end", "flags", "guard", "imports", "index",
        "keeps_constants", "kind", "line", "loads", "name", "parameters", "parent", "result", "returns",
    )  # fmt: skip

    def __init__(self, kind: str, name: str, parent: int, index: int, guard: int, span: tuple[int, int]) -> None:
        self.kind = kind
        self.name = name
        self.parent = parent
        self.index = index
        self.guard = guard
        self.line, self.end = span
        self.digest = ""
        self.keeps_constants = kind != "f"
        self.bases: tuple[Any, ...] = ()
        self.parameters: tuple[Any, ...] = ()
        self.decorators: tuple[str, ...] = ()
        self.flags = ""
        self.result: str | None = None
        self.bound: set[str] = set()
        self.imports: list[tuple[Any, ...]] = []
        self.loads: dict[str, int] = {}
        self.calls: list[tuple[Any, ...]] = []
        self.assigns: list[tuple[Any, ...]] = []
        self.returns: list[tuple[Any, ...]] = []

    def pack(self) -> tuple[tuple[Any, ...], tuple[str, ...], tuple[bytes, bytes]]:
        """Head, chains read, and the rest as bytes: linking a tree needs only the first two of most scopes."""
        first = self.parameters[0][0] if self.parameters else ""
        flags = self.flags + ("d" if any(refers(p[4]) for p in self.parameters) else "")
        head = (
            self.kind, self.name, self.parent, self.line, self.end, self.guard, self.digest, self.bases,
            marshal.dumps(self.parameters) if self.parameters else b"", self.decorators,
            f" {' '.join(sorted(self.bound))} ", tuple(self.imports), flags, self.result, first,
        )  # fmt: skip
        body = marshal.dumps((tuple(self.loads.values()), tuple(self.calls), tuple(self.returns)))
        # Assignments apart: they are read alone, and often, to learn what attributes hold.
        assigns = marshal.dumps(tuple(self.assigns)) if self.assigns else b""
        # Interned strings are shared between files when they are loaded again.
        return head, tuple(map(sys.intern, self.loads)), (body, assigns)
