"""Whether an anchor stands under another condition than at the pin, at the same depth.

A condition that upstream made stricter, or said in other words, still has what it asked before: its names, read where
they are or through a local that is made of them. One that lost a name, or is turned round, is another condition.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from rebasekit.edit.match import Candidate, candidates
from rebasekit.edit.scopes import Scope


def other_guard(old: Candidate, new: Candidate, scope: Scope) -> tuple[str, str] | None:
    """The outermost guard at the pin and the one that now stands for it, where they are two conditions; else None."""
    if len(old.guards) != len(new.guards):
        return None
    differing = ((a, b) for a, b in zip(old.guards, new.guards, strict=True) if a != b)
    return next(((a, b) for a, b in differing if not _kept(a, b, scope)), None)


def _kept(old: str, new: str, scope: Scope) -> bool:
    """Whether the new guard asks all that the old one did."""
    before, after = _condition(old), _condition(new)
    if before is None or after is None:
        return False
    if ast.dump(_turned(before)) == ast.dump(after):
        return False
    return set(_words(before)) <= set(_words(after)) | set(_through_locals(after, scope))


def _condition(guard: str) -> ast.expr | None:
    """When a block runs, None for one that hangs on no condition; the `else` of `not a` runs when `if a` would."""
    word, _, test = guard.partition(" ")
    if word not in ("if", "else"):
        return None
    condition = ast.parse(test, mode="eval").body
    return condition if word == "if" else _turned(condition)


def _turned(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    return ast.UnaryOp(ast.Not(), test)


def _words(node: ast.AST) -> Iterator[str]:
    """What an expression reads: the last name of each chain, however the object before it is had, and constants."""
    if isinstance(node, ast.Attribute):
        yield node.attr
        node = node.value
        while isinstance(node, ast.Attribute):
            node = node.value
    elif isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Constant):
        yield repr(node.value)
    for child in ast.iter_child_nodes(node):
        yield from _words(child)


def _through_locals(test: ast.expr, scope: Scope) -> Iterator[str]:
    names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    for candidate in candidates(scope):
        node = candidate.node
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id in names for t in node.targets):
            yield from _words(node.value)
