"""Whether anything gets to a hunk's lines inside their own function: a `return` before them may have come."""

from __future__ import annotations

import ast

from rebasekit.edit.scopes import DEFINITIONS, first_line, last_line
from rebasekit.edit.source import Source, Unreadable
from rebasekit.model.placement import Placement

_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def cut_off(placement: Placement | None, data: bytes | None) -> int:
    """The line of a statement that always leaves the block before the hunk's first statement; 0 for none."""
    if placement is None or data is None or not placement.lines or not placement.file.endswith(".py"):
        return 0
    try:
        return _cut(Source.of(data).tree.body, set(placement.lines))
    except Unreadable:
        return 0


def _cut(body: list[ast.stmt], ours: set[int]) -> int:
    first = min(ours)
    left = 0
    for node in body:
        if first_line(node) in ours and last_line(node) in ours:
            return left
        if first_line(node) <= first <= last_line(node):
            inner = max((_cut(block, ours) for block in _blocks(node)), default=0)
            return inner or (0 if isinstance(node, DEFINITIONS) and not left else left)
        left = left or (node.lineno if _leaves(node) else 0)
    return 0


def _blocks(node: ast.AST) -> list[list[ast.stmt]]:
    blocks = [block for name in ("body", "orelse", "finalbody") if isinstance(block := getattr(node, name, None), list)]
    parts: list[ast.AST] = [*getattr(node, "handlers", ()), *getattr(node, "cases", ())]
    return blocks + [part.body for part in parts]  # type: ignore[attr-defined]


def _leaves(node: ast.stmt) -> bool:
    """Whether nothing behind the statement in its block runs."""
    if isinstance(node, ast.If):
        return bool(node.orelse) and all(any(map(_leaves, block)) for block in (node.body, node.orelse))
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return False  # a context manager may swallow an exception
    return isinstance(node, _LEAVES)
