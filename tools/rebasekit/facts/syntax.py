"""Pieces of syntax that more than one check asks about."""

from __future__ import annotations

import ast


def dotted(node: ast.expr) -> str:
    """`a.b.c` of a name or a chain of attributes of one; empty for anything else."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


def expression(text: str | None) -> ast.expr | None:
    """The text as an expression; None when it is empty, cut off or no expression."""
    try:
        return ast.parse(text, mode="eval").body if text else None
    except (SyntaxError, ValueError):
        return None
