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
