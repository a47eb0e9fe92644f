"""Expressions as `facts` writes them down (see `facts.records`)."""

from __future__ import annotations

import ast

from rebasekit.facts.records import Ref
from rebasekit.facts.syntax import dotted

_ONE_OF = frozenset({"next", "max", "min", "random.choice", "heappop", "heapq.heappop"})
_SAME = frozenset({"copy.copy", "copy.deepcopy", "copy", "deepcopy", "dataclasses.replace", "replace"})
_LISTS = frozenset({"list", "tuple", "set", "reversed", "sorted", "iter", "filter"})


def to_ref(node: ast.expr | None) -> Ref:
    """An expression as `facts` writes it down (see `facts.records`)."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = to_ref(node.value)
        if isinstance(base, str):
            return f"{base}.{node.attr}"
        if isinstance(base, tuple) and base[0] == "a":
            return ("a", base[1], f"{base[2]}.{node.attr}")
        return ("a", base, node.attr)
    if isinstance(node, ast.Call):
        if (passed := of_call(node)) is not None:
            return passed
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            return "super"
        return ("r", to_ref(node.func))
    if isinstance(node, ast.Subscript):
        return to_ref(node.value) if isinstance(node.slice, ast.Slice) else ("s", to_ref(node.value))
    if isinstance(node, ast.IfExp):
        return ("u", (to_ref(node.body), 0, 0), (to_ref(node.orelse), 0, 0))
    if isinstance(node, ast.BoolOp):
        return ("u", *((to_ref(value), 0, 0) for value in node.values))
    if isinstance(node, (ast.Await, ast.NamedExpr, ast.Starred)):
        return to_ref(node.value)
    return None


def of_call(node: ast.Call) -> Ref:
    """What a call gives that passes on what it was given; None for any other call."""
    name = dotted(node.func)
    if not node.args:
        return None
    if name in ("cast", "typing.cast"):
        return ("r", class_text(node.args[0]))
    if name in _ONE_OF:
        return element(node.args[0])
    if name in _SAME:
        return to_ref(node.args[0])
    return None


def element(source: ast.expr) -> Ref:
    """An element of a list: `x`, `x[1:]`, `list(x)`, `reversed(x)`, `x.values()`."""
    if isinstance(source, ast.Subscript) and isinstance(source.slice, ast.Slice):
        return element(source.value)
    if isinstance(source, ast.Call):
        if dotted(source.func) in _LISTS and source.args:
            return element(source.args[-1])
        if isinstance(source.func, ast.Attribute) and source.func.attr in ("values", "copy") and not source.args:
            return element(source.func.value)
    ref = to_ref(source)
    return ("s", ref) if ref is not None else None


def class_text(node: ast.expr) -> str | None:
    """The name of a class as an expression or a string says it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return dotted(node) or None
