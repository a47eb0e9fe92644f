"""Patterns for a given statement, the most general first: what an import proposes as `at`."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from rebasekit.edit.match import Candidate, matches
from rebasekit.edit.patterns import PatternError, parse_pattern
from rebasekit.edit.scopes import DEFINITIONS, Scope

LONGEST = 400  # characters of a proposed pattern: a longer one is upstream's text, not a description of it
_REST = ast.Constant(...)
_BODY: list[ast.stmt] = [ast.Expr(_REST)]


def patterns(candidate: Candidate, scope: Scope) -> Iterator[str]:
    """Patterns that fit the statement and nothing else in its scope; a long literal never ends up in one."""
    for text in dict.fromkeys(_texts(candidate.node)):
        text = f"el{text}" if candidate.elif_ and text.startswith("if ") else text
        try:
            found = matches(parse_pattern(text), scope)
        except (PatternError, RecursionError):
            continue
        if len(found) == 1 and found[0].node is candidate.node:
            yield text
            return


def _texts(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, DEFINITIONS):
        yield _definition(node)
        return
    if isinstance(node, ast.Assign):
        yield f"{' = '.join(ast.unparse(t) for t in node.targets)} = ..."
    elif isinstance(node, ast.AnnAssign):
        yield f"{ast.unparse(node.target)}: ...{' = ...' if node.value else ''}"
    elif isinstance(node, ast.AugAssign):
        yield ast.unparse(ast.AugAssign(node.target, node.op, _REST))
    elif (isinstance(node, (ast.Return, ast.Raise)) and _call(getattr(node, "value", getattr(node, "exc", None)))) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ):
        yield ast.unparse(_with_open_call(node))
    yield from _exact(node)


def _definition(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    if isinstance(node, ast.ClassDef):
        return f"class {node.name}: ..."
    word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    plain = f"{word} {node.name}(...): ..."
    marks = "".join(f"@{ast.unparse(d)}\n" for d in node.decorator_list)
    return marks + plain if marks else plain


def _call(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Call)


def _with_open_call(node: ast.stmt) -> ast.stmt:
    opened = copy.deepcopy(node)
    call = next(n for n in ast.walk(opened) if isinstance(n, ast.Call))
    call.args, call.keywords = [_REST], []
    return opened


def _exact(node: ast.stmt) -> Iterator[str]:
    """The statement with its blocks left open; then with them in full when it is short."""
    opened = copy.deepcopy(node)
    for name in ("body", "orelse", "finalbody"):
        if getattr(opened, name, None):
            setattr(opened, name, list(_BODY) if name == "body" else getattr(opened, name))
    if hasattr(opened, "orelse"):
        opened.orelse = []
    if isinstance(opened, ast.Try):
        for handler in opened.handlers:
            handler.body = list(_BODY)
        if opened.finalbody:
            opened.finalbody = list(_BODY)
    if isinstance(opened, ast.Match):
        return
    text = ast.unparse(opened)
    if len(text) <= LONGEST:
        yield text
