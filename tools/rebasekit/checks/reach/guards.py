"""Deciding tests from what is known of a deployment: true, false, or not decidable."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from rebasekit.facts.records import Guard
from rebasekit.facts.syntax import expression


class _Unknown:
    def __repr__(self) -> str:
        return "unknown"


class _Some:
    """A class, a function or an instance: true, and not None; nothing else is known."""

    def __repr__(self) -> str:
        return "something"


UNKNOWN = _Unknown()
# The opposite of `<` is no comparison where a side is not a number.
_OPPOSITES: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
_OF_TEXT = ("startswith", "endswith")
SOME = _Some()
Known = Mapping[str, Any]


def shown(guard: Guard) -> str:
    """A guard as text: `a`, `not (a and b)`, and `a is None` for what must not be `a is not None`."""
    if guard.holds:
        return guard.text
    turned = _turned(guard.text)
    if turned is not None:
        return turned
    simple = guard.text.replace(".", "").replace("_", "").isalnum() or guard.text.endswith("()")
    return f"not {guard.text}" if simple else f"not ({guard.text})"


def _turned(text: str) -> str | None:
    """The opposite of a single comparison."""
    node = _parsed(text)
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return None
    operator = _OPPOSITES.get(type(node.ops[0]))
    left, right = ast.get_source_segment(text, node.left), ast.get_source_segment(text, node.comparators[0])
    return f"{left} {operator} {right}" if operator and left and right else None


def decide(guard: Guard, known: Known, locals_: Known | None = None) -> bool | None:
    """Whether the guard lets control through; None when the facts do not say.

    `known` are deployment facts by attribute tail (`enable_x` or `server_args.enable_x`); `locals_` are values of
    plain names.
    """
    node = _parsed(guard.text)
    if node is None:
        return None
    value = _Evaluator(known, locals_ or {}).value(node)
    if isinstance(value, _Unknown):
        return None
    return bool(value) is guard.holds


def _parsed(text: str) -> ast.expr | None:
    """A guard's text as an expression; None for `except X` and `match`, which are no tests."""
    try:
        return expression(text)
    except RecursionError:
        return None


class _Evaluator:
    """Evaluates the few expressions that guards are made of; everything else is unknown."""

    def __init__(self, known: Known, locals_: Known) -> None:
        self.known = known
        self.locals = locals_

    def value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.BoolOp):
            return self._boolean(node)
        if isinstance(node, ast.UnaryOp):
            return self._unary(node)
        if isinstance(node, ast.Compare):
            return self._compare(node)
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            items = [self.value(item) for item in node.elts]
            return UNKNOWN if any(item is UNKNOWN for item in items) else items
        if isinstance(node, ast.NamedExpr):
            return self.value(node.value)
        if isinstance(node, ast.Name) and node.id in self.locals:
            return self.locals[node.id]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _OF_TEXT:
            return self._of_text(node, node.func)
        return self._fact(node)

    def _of_text(self, node: ast.Call, func: ast.Attribute) -> Any:
        """`text.startswith(other)` and its like, of two known strings."""
        text, others = self.value(func.value), [self.value(arg) for arg in node.args]
        if not isinstance(text, str) or len(others) != 1 or not isinstance(others[0], str) or node.keywords:
            return UNKNOWN
        return text.startswith(others[0]) if func.attr == "startswith" else text.endswith(others[0])

    def _fact(self, node: ast.expr) -> Any:
        chain = tail(node)
        while chain:
            name = ".".join(chain)
            if name in self.known:
                return self.known[name]
            chain = chain[1:]
        return UNKNOWN

    def _boolean(self, node: ast.BoolOp) -> Any:
        """`and` is false as soon as one part is, even if the others are unknown; `or` likewise."""
        stop = isinstance(node.op, ast.Or)
        last: Any = not stop
        unknown = False
        for part in node.values:
            value = self.value(part)
            if value is UNKNOWN:
                unknown = True
            elif bool(value) is stop:
                return value
            else:
                last = value
        return UNKNOWN if unknown else last

    def _unary(self, node: ast.UnaryOp) -> Any:
        value = self.value(node.operand)
        if value is UNKNOWN:
            return UNKNOWN
        if isinstance(node.op, ast.Not):
            return not value
        if isinstance(node.op, ast.USub) and isinstance(value, (int, float)):
            return -value
        return UNKNOWN

    def _compare(self, node: ast.Compare) -> Any:
        left = self.value(node.left)
        for operator, other in zip(node.ops, node.comparators, strict=True):
            right = self.value(other)
            result = UNKNOWN if left is UNKNOWN or right is UNKNOWN else _apply(operator, left, right)
            if result is UNKNOWN or not result:
                return result
            left = right
        return True


def _apply(operator: ast.cmpop, left: Any, right: Any) -> Any:
    if left is SOME or right is SOME:
        other = right if left is SOME else left
        if other is None and isinstance(operator, (ast.Is, ast.Eq)):
            return False
        if other is None and isinstance(operator, (ast.IsNot, ast.NotEq)):
            return True
        return UNKNOWN
    try:
        match operator:
            case ast.Eq():
                return left == right
            case ast.NotEq():
                return left != right
            case ast.Is():
                return left is right if left is None or right is None or isinstance(right, bool) else left == right
            case ast.IsNot():
                return left is not right if left is None or right is None or isinstance(right, bool) else left != right
            case ast.In():
                return left in right
            case ast.NotIn():
                return left not in right
            case ast.Lt():
                return left < right
            case ast.LtE():
                return left <= right
            case ast.Gt():
                return left > right
            case ast.GtE():
                return left >= right
    except TypeError:
        return UNKNOWN
    return UNKNOWN


def tail(node: ast.expr) -> list[str]:
    """The attribute chain that an expression ends in; calls without arguments and `.get()` are looked through.

    `get_memory().enable_x` is [get_memory, enable_x], `envs.FLAG.get()` is [envs, FLAG], `is_npu()` is [is_npu].
    """
    if isinstance(node, ast.Call) and not node.args and not node.keywords:
        chain = tail(node.func)
        return chain[:-1] if chain[-1:] == ["get"] and len(chain) > 1 else chain
    if isinstance(node, ast.Attribute):
        base = tail(node.value)
        return [*base, node.attr]
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr":
        name = node.args[1] if len(node.args) > 1 else None
        return [name.value] if isinstance(name, ast.Constant) and isinstance(name.value, str) else []
    return []
