"""What one scope binds and reads, as the reading of a file leaves it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Kind = Literal["module", "class", "function", "comprehension"]


class Guard(NamedTuple):
    """One condition on the way to a piece of code: `test` was `holds`, after everything in `outer`.

    `branch` tells a block of the code (`word` is its keyword) from a mere condition: an early return before, the left
    side of an `and`.
    """

    outer: Guard | None
    test: ast.expr | None
    holds: bool
    word: str
    line: int
    branch: bool

    @property
    def label(self) -> str:
        """What a reader calls the branch: `elif is_hip():`."""
        text = ast.unparse(self.test) if self.test is not None else ""
        if self.word == "else":
            return f"else: of if {text}:"
        return f"{self.word} {text}:" if text else f"{self.word}:"

    def path(self) -> Iterator[Guard]:
        """This guard and all around it, the innermost first."""
        guard: Guard | None = self
        while guard is not None:
            yield guard
            guard = guard.outer


class Binding(NamedTuple):
    """A place that gives a name its value; `how` is import, definition, assignment, parameter or lazy (`global`).

    `source` is the module that an import reads.
    """

    how: str
    line: int
    guard: Guard | None
    source: str = ""


class Load(NamedTuple):
    """A read of a name that may fail: `reached` tells whether any binding of the scope can come before it."""

    name: str
    line: int
    column: int
    guard: Guard | None
    reached: bool
    scope: Scope
    caught: bool  # inside a `try` that catches what a missing name raises


# Names with the values that they are given anywhere, and the guards under which: what conditions mean.
Flags = dict[str, list[tuple[ast.expr, Guard | None]]]


class Star(NamedTuple):
    """`from module import *`, with the dots of a relative import in `level`."""

    module: str
    level: int
    line: int


@dataclass(eq=False)
class Scope:
    """A module, class, function or comprehension.

    `bindings` are those of run time, `typing` those under TYPE_CHECKING. `may` and `must` are the names that some
    and that every way to the end of the scope's code has bound.
    """

    kind: Kind
    name: str
    parent: Scope | None
    guard: Guard | None = None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    typing: dict[str, list[Binding]] = field(default_factory=dict)
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)
    loads: list[Load] = field(default_factory=list)
    may: set[str] = field(default_factory=set)
    must: set[str] = field(default_factory=set)
    dead: bool = False
    declared: set[str] = field(default_factory=set)  # annotated without a value: local, and not bound
    parameters: tuple[str, ...] = ()

    def owns(self, name: str) -> bool:
        """Whether reading the name inside the scope means the scope's own variable."""
        if name in self.globals or name in self.nonlocals:
            return False
        return name in self.bindings or name in self.typing or name in self.declared


@dataclass(eq=False)
class Reading:
    """Everything about one file: its scopes in source order, what is read too early, and how its names can change."""

    module: Scope
    scopes: list[Scope] = field(default_factory=list)
    stars: list[Star] = field(default_factory=list)
    imports: list[ast.Import | ast.ImportFrom] = field(default_factory=list)  # at any depth, in no order
    stores: list[ast.Attribute] = field(default_factory=list)  # `a.b = …` at any depth
    evaluated: set[tuple[int, int]] = field(default_factory=set)  # positions of the reads that happen at run time
    flags: Flags = field(default_factory=dict)
    dynamic: bool = False  # writes into `globals()`: names may come from anywhere
    lazy_annotations: bool = False  # `from __future__ import annotations`
