"""The few statements around changed lines: what has to be read again to know what the change makes of a file."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from rebasekit.edit import script
from rebasekit.edit.layout import indent_of
from rebasekit.edit.scopes import Scope, children, first_line, last_line, module_scope
from rebasekit.edit.script import Change
from rebasekit.edit.source import Source, Unreadable


@dataclass(frozen=True)
class Region:
    """Lines `first` … `last` of a scope: all of it, or whole statements of its body."""

    scope: Scope
    first: int
    last: int


@dataclass(frozen=True)
class Reread:
    """A region with a change in it, read as a file of its own; `body` are its statements."""

    source: Source
    body: list[ast.stmt]


def chain(source: Source, change: Change) -> list[Scope]:
    """The scopes that hold all changed lines, the module first.

    An insertion before a scope's first line is not in it, and one after its last line is not either.
    """
    last = change.at + max(change.gone - 1, 0)
    found = [module_scope(source)]
    while True:
        inner = [
            c
            for c in children(found[-1])
            if c.first <= change.at and last <= c.last and (change.gone or c.first < change.at)
        ]
        if not inner:
            return found
        found.append(inner[0])


def around(source: Source, change: Change) -> Region:
    """The statement that the change lies in, or the ones before and behind it, in the innermost scope."""
    scope = chain(source, change)[-1]
    body = scope.body
    if not body or (scope.name and first_line(body[0]) == scope.node.body[0].lineno == _header_end(scope)):
        return Region(scope, scope.first, scope.last)
    before = [i for i, node in enumerate(body) if first_line(node) < change.at]
    behind = [i for i, node in enumerate(body) if last_line(node) >= change.at + change.gone]
    low, high = (before[-1] if before else 0), (behind[0] if behind else len(body) - 1)
    while low and last_line(body[low - 1]) == first_line(body[low]):
        low -= 1
    while high + 1 < len(body) and last_line(body[high]) == first_line(body[high + 1]):
        high += 1
    if scope.name and not before:
        return Region(scope, scope.first, scope.last)
    first = first_line(body[low]) if before else scope.first
    last = last_line(body[high]) if behind else scope.last
    return Region(scope, min(first, change.at), max(last, change.at + change.gone - 1))


def _header_end(scope: Scope) -> int:
    """The line of a definition's name: its header ends there or later."""
    return scope.node.lineno if not isinstance(scope.node, ast.Module) else 0


def reread(source: Source, region: Region, change: Change) -> Reread | None:
    """The region after the change; None when it does not parse any more."""
    moved = Change(change.at - region.first + 1, change.gone, change.lines)
    text = "".join(script.apply([moved], source.lines[region.first - 1 : region.last]))
    margin = indent_of(source.lines[region.first - 1]) if region.scope.name else ""
    # a class takes an indented block, and no clause can belong to it
    fresh = Source(f"class _:\n{text}" if margin else text)
    try:
        body = fresh.tree.body
    except Unreadable:
        return None
    if not margin:
        return Reread(fresh, body)
    if len(body) != 1 or not isinstance(body[0], ast.ClassDef):
        return None
    inside = body[0].body
    # without its header a block would be read at a depth that it does not have in the file
    return Reread(fresh, inside) if indent_of(fresh.lines[first_line(inside[0]) - 1]) == margin else None
