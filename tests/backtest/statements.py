"""The statements of a file, each with the scope and the blocks that it stands in. Knows nothing of rebasekit."""

from __future__ import annotations

import ast
import functools
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

Place = tuple[tuple[str, ...], tuple[str, ...]]  # scope and blocks
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Statement(NamedTuple):
    """`scope` are the definitions around it, `blocks` the branches inside the innermost of them.

    `code` is a simple statement or the header of a compound one, in a spelling that layout, comments, annotations
    of arguments' order and the order of keywords do not change.
    """

    scope: tuple[str, ...]
    blocks: tuple[str, ...]
    code: str


@dataclass(frozen=True)
class Reading:
    """A file's statements in order; `spans` are the lines of each, `weights` how much each says."""

    statements: tuple[Statement, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()
    weights: tuple[int, ...] = ()

    def on(self, lines: set[int]) -> list[tuple[Statement, int]]:
        """The statements that have some of these lines, with their weights."""
        every = zip(self.statements, self.spans, self.weights, strict=True)
        return [(s, w) for s, (first, last), w in every if not lines.isdisjoint(range(first, last + 1))]

    def at(self, line: int) -> Statement | None:
        """The last statement that begins on or before a line."""
        found = [s for s, (first, _) in zip(self.statements, self.spans, strict=True) if first <= line]
        return found[-1] if found else None

    @cached_property
    def count(self) -> Counter[Statement]:
        return Counter(self.statements)

    @cached_property
    def scoped(self) -> Counter[tuple[tuple[str, ...], str]]:
        """How often each code stands in each scope, whatever the block."""
        return Counter((s.scope, s.code) for s in self.statements)

    @cached_property
    def coded(self) -> dict[str, list[Statement]]:
        """Statements by their code."""
        found: dict[str, list[Statement]] = {}
        for statement in self.statements:
            found.setdefault(statement.code, []).append(statement)
        return found

    @cached_property
    def places(self) -> dict[Place, list[str]]:
        """The codes of each block, in order."""
        found: dict[Place, list[str]] = {}
        for statement in self.statements:
            found.setdefault((statement.scope, statement.blocks), []).append(statement.code)
        return found


@functools.lru_cache(maxsize=4096)
def read(data: bytes) -> Reading | None:
    """None when it is no Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError):
        return None
    found = list(_walk(tree.body, (), ()))
    return Reading(tuple(s for s, _, _ in found), tuple(span for _, span, _ in found), tuple(w for _, _, w in found))


def _walk(
    body: list[ast.stmt], scope: tuple[str, ...], blocks: tuple[str, ...]
) -> Iterator[tuple[Statement, tuple[int, int], int]]:
    for node in body:
        head = _head(node)
        code = " ".join(_spelled(part) for part in head)
        yield Statement(scope, blocks, code), _span(node), sum(_weight(part) for part in head)
        if isinstance(node, DEFINITIONS):
            yield from _walk(node.body, (*scope, node.name), ())
            continue
        for name, inner in _branches(node):
            yield from _walk(inner, scope, (*blocks, f"{code} {name}"))


def _span(node: ast.stmt) -> tuple[int, int]:
    """The lines of a simple statement, or of the header of a compound one with its decorators."""
    decorators = [d.lineno for d in getattr(node, "decorator_list", [])]
    inner = [body[0].lineno - 1 for _, body in _branches(node)] or [node.end_lineno or node.lineno]
    if isinstance(node, DEFINITIONS):
        inner = [node.body[0].lineno - 1]
    return min([node.lineno, *decorators]), max(node.lineno, min(inner))


def _head(node: ast.stmt) -> list[ast.AST | str]:
    """The statement without its blocks."""
    if isinstance(node, ast.ClassDef):
        return ["class", node.name, *node.decorator_list, *node.bases, *node.keywords]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return ["def", node.name, *node.decorator_list, node.args]
    if isinstance(node, ast.If | ast.While):
        return [type(node).__name__.lower(), node.test]
    if isinstance(node, ast.For | ast.AsyncFor):
        return ["for", node.target, node.iter]
    if isinstance(node, ast.With | ast.AsyncWith):
        return ["with", *node.items]
    if isinstance(node, ast.Try | ast.TryStar):
        return ["try", *(h.type for h in node.handlers if h.type)]
    if isinstance(node, ast.Match):
        return ["match", node.subject]
    return [node]


def _branches(node: ast.stmt) -> Iterator[tuple[str, list[ast.stmt]]]:
    for name in ("body", "orelse", "finalbody"):
        if inner := getattr(node, name, None):
            yield name, inner
    for handler in getattr(node, "handlers", []):
        yield f"except {_spelled(handler.type) if handler.type else ''}", handler.body
    for case in getattr(node, "cases", []):
        yield f"case {_spelled(case.pattern)}", case.body


@functools.singledispatch
def _spelled(part: object) -> str:
    return str(part)


@_spelled.register
def _(part: ast.AST) -> str:
    return ast.dump(_sorted(part))


def _sorted(node: ast.AST) -> ast.AST:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call):
            inner.keywords.sort(key=lambda keyword: keyword.arg or "")
    return node


def _weight(part: ast.AST | str) -> int:
    """How much a statement says: names, attributes, calls and texts. `return None` is in every function."""
    if isinstance(part, str):
        return 2 * (part not in ("class", "def", "if", "while", "for", "with", "try", "match"))
    telling = (ast.Name, ast.Attribute, ast.Call, ast.arg, ast.alias, ast.Constant)
    return sum(isinstance(node, telling) for node in ast.walk(part))
