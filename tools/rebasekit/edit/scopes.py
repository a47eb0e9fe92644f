"""Scopes: the module, and every class and function by its qualified name.

Definitions inside `if`, `try`, `with` and loops belong to the scope around the block. Where a name is defined more
than once, a qualifier in brackets tells the definitions apart: a decorator (`size[@size.setter]`) or the guard they
stand under (`load[if is_cuda()]`, `load[else is_cuda()]`, `load[except ImportError]`).
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from rebasekit.edit.guards import blocks, unparsed
from rebasekit.edit.labels import mark, split_label
from rebasekit.edit.layout import dedent
from rebasekit.edit.source import Source

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def digest(text: str) -> str:
    """Digest of a piece of source: indentation of the whole piece and the kind of line end do not count."""
    plain = dedent(text.replace("\r\n", "\n").replace("\r", "\n")).rstrip("\n")
    return hashlib.sha256(plain.encode()).hexdigest()[:16]


def first_line(node: ast.stmt) -> int:
    """First line of a statement, its decorators included."""
    far: int | None = getattr(node, "_rk_first", None)
    if far is not None:
        return far
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(d.lineno for d in decorators)])


def last_line(node: ast.stmt) -> int:
    assert node.end_lineno is not None
    return node.end_lineno


@dataclass(frozen=True)
class Scope:
    """`name` is the qualified name without qualifiers, `label` with those that it needs to be unique."""

    name: str
    label: str
    node: ast.Module | Definition
    first: int
    last: int
    marks: tuple[str, ...] = field(default=(), compare=False)  # decorators, then guards from the innermost out

    @cached_property
    def children(self) -> list[Scope]:
        """The definitions directly in it, in source order."""
        return _children(self)

    @property
    def body(self) -> list[ast.stmt]:
        return self.node.body

    def text(self, source: Source) -> str:
        return source.slice(self.first, self.last)

    def digest(self, source: Source) -> str:
        """Digest of the scope's own text; a class's or module's nested definitions count by their headers only,

        so that a change inside one method does not make every other hunk in its class due for review.
        """
        if not isinstance(self.node, (ast.Module, ast.ClassDef)):
            return digest(self.text(source))
        return digest("".join(_own_lines(self, source)))


def _own_lines(scope: Scope, source: Source) -> Iterator[str]:
    hidden: set[int] = set()
    for node in _nested(scope.node.body):
        start = node.body[0].lineno if node.body[0].lineno > node.lineno else last_line(node) + 1
        hidden.update(range(start, last_line(node) + 1))
    for number in range(scope.first, scope.last + 1):
        if number not in hidden:
            yield source.lines[number - 1]


def _nested(body: list[ast.stmt]) -> Iterator[Definition]:
    for node, _ in _definitions(body, ()):
        yield node


def _definitions(body: list[ast.stmt], guards: tuple[str, ...]) -> Iterator[tuple[Definition, tuple[str, ...]]]:
    for node in body:
        if isinstance(node, DEFINITIONS):
            yield node, guards
            continue
        for guard, inner in blocks(node):
            yield from _definitions(inner, (*guards, guard))


def qualifiers(node: Definition, guards: tuple[str, ...]) -> tuple[str, ...]:
    """Everything that can tell a definition from another of its name, the innermost first."""
    return tuple(f"@{unparsed(d)}" for d in node.decorator_list) + tuple(reversed(guards))


def module_scope(source: Source) -> Scope:
    """The whole file as a scope; one per source, so that what is found in it is found once.

    It is kept with the source and not with the tree: trees without cycles are freed at once.
    """
    scope: Scope | None = source.__dict__.get("_rk_scope")
    if scope is None:
        scope = source.__dict__["_rk_scope"] = Scope("", "", source.tree, 1, len(source.lines))
    return scope


def children(scope: Scope) -> list[Scope]:
    """The definitions directly in a scope, labelled so that no two are the same unless nothing tells them apart."""
    return scope.children


def _children(scope: Scope) -> list[Scope]:
    found = [(node, qualifiers(node, guards)) for node, guards in _definitions(scope.body, ())]
    twins: dict[str, list[tuple[str, ...]]] = {}
    for node, marks in found:
        twins.setdefault(node.name, []).append(marks)
    name, label = (f"{scope.name}." if scope.name else ""), (f"{scope.label}." if scope.label else "")
    return [
        Scope(
            name + node.name,
            label + node.name + mark(marks, twins[node.name]),
            node,
            first_line(node),
            last_line(node),
            marks,
        )
        for node, marks in found
    ]


def walk(scope: Scope) -> Iterator[Scope]:
    """The scope and all scopes below it, in source order."""
    yield scope
    for child in children(scope):
        yield from walk(child)


def parse_name(name: str) -> list[tuple[str, str | None]]:
    """Split `A.b[@b.setter].c` into names with qualifiers (`X][Y` for two); raise ValueError for anything else."""
    return split_label(name)


def find(source: Source, name: str) -> list[Scope]:
    """All scopes with that name; one when the name is unique, none when it is not there."""
    level = [module_scope(source)]
    for part, qualifier in parse_name(name):
        named = [(scope, child) for scope in level for child in children(scope) if _called(child, part)]
        if qualifier is None:
            level = [child for _, child in named]
            continue
        level = [c for s, c in named if c.label == f"{s.label}.{part}[{qualifier}]".lstrip(".")] or [
            c for _, c in named if _stands(c, qualifier)
        ]
    return level


def _called(scope: Scope, name: str) -> bool:
    return isinstance(scope.node, DEFINITIONS) and scope.node.name == name


def _stands(scope: Scope, qualifier: str) -> bool:
    """Whether a definition that needs no such qualifier any more is still the one: its twin may be gone.

    A decorator is the definition's own; of the guards only the innermost is sure not to be shared with a twin.
    """
    decorators = [mark for mark in scope.marks if mark.startswith("@")]
    guards = scope.marks[len(decorators) :]
    runs = ["][".join(scope.marks[:count]) for count in range(2, len(scope.marks) + 1)]
    return qualifier in (*decorators, *guards[:1], *runs) or (not qualifier and not scope.marks)
