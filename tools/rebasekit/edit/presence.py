"""Whether our statements already stand in upstream's scope: the same lines, or the same but for names and layout."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from rebasekit.edit.guards import blocks
from rebasekit.edit.layout import is_clause
from rebasekit.edit.match import is_elif
from rebasekit.edit.scopes import DEFINITIONS, Scope

Run = list[ast.stmt]
_SILENT = {"annotation", "returns", "type_comment", "simple", "ctx"}


@dataclass(frozen=True)
class Found:
    """A run of upstream statements that are ours: `guards` lead to its block, `block` identifies that block."""

    line: int
    guards: tuple[str, ...]
    block: int
    exact: bool


@dataclass(frozen=True)
class Presence:
    """What upstream has of our statements that it had not at the pin.

    `whole` are runs of all of them; `parts` the lines of single ones among several; `clashes` names that upstream
    now defines in another way.
    """

    whole: tuple[Found, ...] = ()
    parts: tuple[int, ...] = ()
    clashes: tuple[tuple[str, int], ...] = ()


def statements(lines: str) -> Run:
    """Our lines as statements; clauses are read as the branches of an `if`, none when they do not parse."""
    try:
        if is_clause(lines):
            return []
        return ast.parse(lines).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def presence(lines: str, new: Scope, base: Scope | None) -> Presence:
    """Compare our lines with the scope on the tag, less what the scope at the pin had."""
    ours = statements(lines)
    if not ours:
        return Presence()
    before = {(f.guards, f.exact) for f in _runs(ours, base)} if base else set()
    whole = tuple(f for f in _runs(ours, new) if (f.guards, f.exact) not in before)
    parts: tuple[int, ...] = ()
    if not whole and len(ours) > 1:
        weighty = [s for s in ours if weight(s) >= 4]
        parts = tuple(
            found[0].line for s in weighty if (found := list(_runs([s], new))) and not (base and list(_runs([s], base)))
        )
    return Presence(whole, parts, tuple(_clashes(ours, new, base)))


def weight(node: ast.AST) -> int:
    """How telling a statement is: names, attributes and calls in it. `return None` is in every function."""
    return sum(isinstance(n, (ast.Name, ast.Attribute, ast.Call, *DEFINITIONS)) for n in ast.walk(node))


def _runs(ours: Run, scope: Scope) -> Iterator[Found]:
    want_exact, want_named = [_spelled(s) for s in ours], _alpha(ours)
    for body, guards in statement_lists(scope):
        for index in range(len(body) - len(ours) + 1):
            window = body[index : index + len(ours)]
            if any(fingerprint(a) != fingerprint(b) for a, b in zip(window, ours, strict=True)):
                continue
            exact = [_spelled(s) for s in window] == want_exact
            if exact or _alpha(window) == want_named:
                yield Found(window[0].lineno, guards, id(body), exact)


def statement_lists(scope: Scope) -> Iterator[tuple[Run, tuple[str, ...]]]:
    """Every list of statements in a scope with the guards that lead to it."""
    yield from _lists(scope.body, ())


def _lists(body: Run, guards: tuple[str, ...]) -> Iterator[tuple[Run, tuple[str, ...]]]:
    if body:
        yield body, guards
    for node in body:
        if isinstance(node, DEFINITIONS):
            continue
        for guard, inner in blocks(node):
            if is_elif(node, inner):
                yield from _lists(inner, guards)
            else:
                yield from _lists(inner, (*guards, guard))


def fingerprint(node: ast.stmt) -> frozenset[str]:
    """What neither another spelling nor other local names change: attributes, arguments' names and definitions."""
    known: frozenset[str] | None = getattr(node, "_rk_fingerprint", None)
    if known is None:
        words = {type(node).__name__.removeprefix("Ann")}
        for inner in ast.walk(node):
            if isinstance(inner, ast.Attribute):
                words.add(f".{inner.attr}")
            elif isinstance(inner, ast.keyword) and inner.arg:
                words.add(f"{inner.arg}=")
            elif isinstance(inner, DEFINITIONS):
                words.add(f"def {inner.name}")
        known = frozenset(words)
        node._rk_fingerprint = known  # type: ignore[attr-defined]
    return known


@dataclass(frozen=True)
class _Name:
    """A variable in a spelling: what renaming may change."""

    id: str
    stored: bool


def _spelled(node: ast.AST) -> tuple[object, ...]:
    """What a node says as a flat tuple, without annotations, which say nothing about what runs; kept with the node."""
    known: tuple[object, ...] | None = getattr(node, "_rk_spelled", None)
    if known is None:
        known = tuple(_parts(node))
        node._rk_spelled = known  # type: ignore[attr-defined]
    return known


def _parts(node: object) -> Iterator[object]:
    if isinstance(node, list):
        yield len(node)
        for item in node:
            yield from _parts(item)
    elif isinstance(node, ast.Name):
        yield _Name(node.id, isinstance(node.ctx, ast.Store))
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield from (ast.Assign, 1, *_parts(node.target), *_parts(node.value))
    elif isinstance(node, ast.AST):
        yield type(node)
        for name in node._fields:
            if name not in _SILENT:
                yield from _parts(getattr(node, name, None))
    else:
        yield type(node)
        yield node


def _alpha(run: Run) -> list[object]:
    """The spelling in which the names that the run itself assigns are numbered."""
    parts = [part for statement in run for part in _spelled(statement)]
    # a run of one assignment would be like any other assignment of the same value: there the name is all it says
    if len(run) == 1 and not isinstance(run[0], DEFINITIONS):
        return parts
    names: dict[str, int] = {}
    for part in parts:
        if isinstance(part, _Name) and part.stored:
            names.setdefault(part.id, len(names))
    return [(names[part.id], part.stored) if isinstance(part, _Name) and part.id in names else part for part in parts]


def _clashes(ours: Run, new: Scope, base: Scope | None) -> Iterator[tuple[str, int]]:
    had = {n.name for n in _defined(base)} if base else set()
    mine = {s.name: _alpha([s]) for s in ours if isinstance(s, DEFINITIONS)}
    for node in _defined(new):
        if node.name in mine and node.name not in had and _alpha([node]) != mine[node.name]:
            yield node.name, node.lineno


def _defined(scope: Scope) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    for body, _ in statement_lists(scope):
        for node in body:
            if isinstance(node, DEFINITIONS):
                yield node
