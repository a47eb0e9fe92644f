"""The blocks of a compound statement, each with the guard under which it runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from rebasekit.edit.source import Unreadable


def unparsed(node: ast.expr | ast.pattern) -> str:
    """`ast.unparse`, once per node: guards are asked for again and again."""
    text: str | None = getattr(node, "_rk_text", None)
    if text is None:
        try:
            text = ast.unparse(node)
        except RecursionError:
            raise Unreadable(f"line {node.lineno}: the condition is nested too deeply") from None
        node._rk_text = text  # type: ignore[union-attr]
    return text


def blocks(node: ast.AST) -> Iterator[tuple[str, list[ast.stmt]]]:
    """The statement lists of a compound statement with the guard each stands under; none for definitions."""
    if isinstance(node, ast.If):
        test = unparsed(node.test)
        yield f"if {test}", node.body
        yield f"else {test}", node.orelse
    elif isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
        yield "loop", node.body
        yield "loop else", node.orelse
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        yield "with", node.body
    elif isinstance(node, (ast.Try, ast.TryStar)):
        yield "try", node.body
        for handler in node.handlers:
            yield f"except {unparsed(handler.type)}" if handler.type else "except", handler.body
        yield "try else", node.orelse
        yield "finally", node.finalbody
    elif isinstance(node, ast.Match):
        for case in node.cases:
            yield f"case {unparsed(case.pattern)}", case.body
