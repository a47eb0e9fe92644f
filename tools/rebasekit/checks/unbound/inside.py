"""Questions about pieces of syntax: what they bind, whether they end the way, what they catch."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from rebasekit.facts.syntax import dotted

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# Calls after which nothing runs.
_ENDS = {"sys.exit", "exit", "quit", "os._exit", "os.abort", "pytest.skip", "pytest.fail", "assert_never"}
# What a missing name or a failed import raises, and what stands above.
_MISSING = {"NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError", "Exception", "BaseException"}


def bound_in(body: Iterable[ast.stmt]) -> set[str]:
    """Every name that statements of a scope may bind, at any depth but not in scopes of their own.

    `x += 1` is left out: it reads first, so it never gives `x` its first value.
    """
    names: set[str] = set()
    todo: list[ast.AST] = list(body)
    while todo:
        node = todo.pop()
        if isinstance(node, _SCOPES):
            names.add(node.name)
            continue
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                names.add(node.id)
            continue
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            todo.append(node.value)
            continue
        if isinstance(node, ast.alias):
            names.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names.add(node.rest)
        elif isinstance(node, (ast.Lambda, ast.Constant)):
            continue
        todo.extend(ast.iter_child_nodes(node))
    return names


def never_returns(node: ast.expr) -> bool:
    """Whether an expression statement ends the process or the function for certain."""
    return isinstance(node, ast.Call) and dotted(node.func) in _ENDS


def type_checking(test: ast.expr) -> bool | None:
    """True for `TYPE_CHECKING`, False for its negation, None for another condition."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = type_checking(test.operand)
        return None if inner is None else not inner
    return True if dotted(test).rpartition(".")[2] == "TYPE_CHECKING" else None


def catches_missing(handler: ast.ExceptHandler) -> bool:
    """Whether a handler catches what a missing name or module raises."""
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(dotted(kind).rpartition(".")[2] in _MISSING for kind in kinds)


def suppresses(node: ast.With | ast.AsyncWith) -> bool:
    """Whether the block may end early without the code behind it noticing."""
    calls = [item.context_expr for item in node.items]
    names = [dotted(call.func if isinstance(call, ast.Call) else call).rpartition(".")[2] for call in calls]
    return any(name in ("suppress", "raises") for name in names)


def writes_globals(tree: ast.Module) -> bool:
    """Whether a module gives itself names that its text does not show."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and _names_of_module(node.value):
            return True
        if isinstance(node, ast.Call):
            if dotted(node.func) == "exec":
                return True
            if dotted(node.func) == "setattr" and node.args and ast.unparse(node.args[0]) == "sys.modules[__name__]":
                return True
            method = node.func
            if (
                isinstance(method, ast.Attribute)
                and method.attr in ("update", "setdefault")
                and _names_of_module(method.value)
            ):
                return True
    return False


def _names_of_module(node: ast.expr) -> bool:
    return ast.unparse(node) in ("globals()", "vars()", "locals()", "sys.modules[__name__].__dict__")
