"""Deciding a test when one name's value is known: true, false, or not decidable by it."""

from __future__ import annotations

import ast
from collections.abc import Container
from typing import Any

_UNKNOWN = object()


def decide(text: str, names: Container[str], value: object) -> bool | None:
    """Whether the test `text` is true when whatever ends in one of `names` is `value`; None when that is not enough."""
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None
    found = _value(node, names, value)
    return None if found is _UNKNOWN else bool(found)


def _value(node: ast.expr, names: Container[str], value: object) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.BoolOp):
        return _boolean(node, names, value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = _value(node.operand, names, value)
        return _UNKNOWN if inner is _UNKNOWN else not inner
    if isinstance(node, ast.Compare):
        return _compare(node, names, value)
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        items = [_value(item, names, value) for item in node.elts]
        return _UNKNOWN if any(item is _UNKNOWN for item in items) else items
    return value if last_name(node) in names else _UNKNOWN


def last_name(node: ast.expr) -> str:
    """The name that an expression ends in; `x.get()` and calls without arguments are looked through."""
    if isinstance(node, ast.Call) and not node.args and not node.keywords:
        inner = node.func
        if isinstance(inner, ast.Attribute) and inner.attr == "get":
            inner = inner.value
        return last_name(inner)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _boolean(node: ast.BoolOp, names: Container[str], value: object) -> Any:
    stop = isinstance(node.op, ast.Or)
    unknown = False
    for part in node.values:
        found = _value(part, names, value)
        if found is _UNKNOWN:
            unknown = True
        elif bool(found) is stop:
            return stop
    return _UNKNOWN if unknown else not stop


def _compare(node: ast.Compare, names: Container[str], value: object) -> Any:
    if len(node.ops) != 1:
        return _UNKNOWN
    left, right = _value(node.left, names, value), _value(node.comparators[0], names, value)
    if left is _UNKNOWN or right is _UNKNOWN:
        return _UNKNOWN
    try:
        match node.ops[0]:
            case ast.Eq() | ast.Is():
                return left == right
            case ast.NotEq() | ast.IsNot():
                return left != right
            case ast.In():
                return left in right
            case ast.NotIn():
                return left not in right
    except TypeError:
        return _UNKNOWN
    return _UNKNOWN


def names_in(text: str) -> set[str]:
    """Names that a test's parts end in."""
    try:
        node = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError):
        return set()
    return {name for part in ast.walk(node) if isinstance(part, ast.expr) and (name := last_name(part))}
