"""Matching a pattern against statements."""

from __future__ import annotations

import ast
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from rebasekit.edit.guards import blocks
from rebasekit.edit.patterns import Pattern
from rebasekit.edit.scopes import DEFINITIONS, Scope, first_line, last_line
from rebasekit.edit.source import Unreadable
from rebasekit.edit.unify import Bindings, unify


@dataclass(frozen=True)
class Candidate:
    """A statement in its block: `siblings[index]` is `node`; `guards` lead from the scope's body to the block."""

    node: ast.stmt
    siblings: list[ast.stmt]
    index: int
    guards: tuple[str, ...]
    elif_: bool = False

    @property
    def depth(self) -> int:
        return len(self.guards)

    @cached_property
    def first(self) -> int:
        """Its first line, decorators included."""
        return first_line(self.node)

    @cached_property
    def last(self) -> int:
        return last_line(self.node)


@dataclass(frozen=True)
class Match:
    """A candidate that fits, with the nodes of the pattern and what they met."""

    candidate: Candidate
    nodes: dict[ast.AST, ast.AST]

    @property
    def node(self) -> ast.stmt:
        return self.candidate.node


_KNOWN: weakref.WeakKeyDictionary[ast.AST, tuple[Candidate, ...]] = weakref.WeakKeyDictionary()


def candidates(scope: Scope) -> Iterator[Candidate]:
    """Every statement of a scope in source order; nested definitions count, what is in them does not."""
    known = _KNOWN.get(scope.node)
    if known is None:
        known = _KNOWN[scope.node] = tuple(_block(scope.body, ()))
    return iter(known)


def _block(body: list[ast.stmt], guards: tuple[str, ...]) -> Iterator[Candidate]:
    for index, node in enumerate(body):
        yield Candidate(node, body, index, guards)
        if not isinstance(node, DEFINITIONS):
            yield from _inside(node, guards)


def _inside(node: ast.stmt, guards: tuple[str, ...]) -> Iterator[Candidate]:
    for guard, inner in blocks(node):
        if is_elif(node, inner):
            # an `elif` is a nested `if` for the parser, and at the same depth for everybody else
            yield Candidate(inner[0], inner, 0, guards, elif_=True)
            yield from _inside(inner[0], guards)
        else:
            yield from _block(inner, (*guards, guard))


def is_elif(node: ast.stmt, inner: list[ast.stmt]) -> bool:
    """Whether the block is the `elif` of `node`: the parser gives it the column of the `if` that it belongs to."""
    return (
        isinstance(node, ast.If)
        and inner is node.orelse
        and len(inner) == 1
        and isinstance(inner[0], ast.If)
        and inner[0].col_offset == node.col_offset
    )


def matches(pattern: Pattern, scope: Scope) -> list[Match]:
    """All statements of the scope that fit the pattern, in source order."""
    found = []
    for candidate in candidates(scope):
        if type(pattern.node) is not type(candidate.node) or (pattern.elif_ and not candidate.elif_):
            continue
        bindings = Bindings()
        try:
            fit = unify(pattern.node, candidate.node, bindings, top=True)
        except RecursionError:
            raise Unreadable(f"line {candidate.node.lineno}: the statement is nested too deeply") from None
        if fit:
            found.append(Match(candidate, bindings.nodes))
    return found


def fits(pattern: ast.AST, node: ast.AST) -> bool:
    """Whether an expression or statement fits a parsed pattern node."""
    return unify(pattern, node, Bindings())
