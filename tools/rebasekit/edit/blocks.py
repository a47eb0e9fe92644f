"""Where statements begin and end as whole lines."""

from __future__ import annotations

import ast

from rebasekit.edit.layout import indent_of
from rebasekit.edit.match import Candidate
from rebasekit.edit.scopes import DEFINITIONS, first_line, last_line
from rebasekit.edit.source import Source


class Unplaceable(Exception):
    """Our lines cannot stand at this place; `str()` is the reason, for people."""


class AlreadyThere(Unplaceable):
    """What the hunk adds is there already."""


def start_of(source: Source, node: ast.stmt) -> int:
    """Offset of the line on which a statement begins; raise Unplaceable when it shares that line."""
    line = first_line(node)
    decorated = getattr(node, "decorator_list", [])  # a decorator's `@` always begins a line
    if not decorated and source.text[source.starts[line - 1] : source.start(node)].strip(" \t\f"):
        raise Unplaceable(f"the statement shares line {line} with another")
    return source.starts[line - 1]


def end_of(source: Source, node: ast.stmt) -> int:
    """Offset after the last line of a statement, its comment and line end included."""
    return end_of_line(source, source.end(node), last_line(node))


def end_of_line(source: Source, offset: int, line: int) -> int:
    """Offset of the next line's start when nothing but a comment follows; raise Unplaceable."""
    rest = source.text[offset : source.starts[line]].strip()
    if rest == "\\":
        raise Unplaceable(f"a backslash continues line {line}")
    if rest and not rest.startswith("#"):
        raise Unplaceable(f"the statement shares line {line} with another")
    return source.starts[line]


def indentation(source: Source, node: ast.stmt) -> str:
    return indent_of(source.lines[first_line(node) - 1])


def clause_end(source: Source, node: ast.stmt, word: str = "") -> int:
    """Offset at which a clause goes that begins with `word`; without a word, after the statement's first body.

    An `elif` or `except` goes first among the clauses. `else` and `finally` go where the grammar has them: last, but
    for the `finally` that stays behind an `else`.
    """
    if isinstance(node, ast.Match):
        return end_of(source, node.cases[-1].body[-1])
    body: list[ast.stmt] = getattr(node, "body", [])
    if not body or isinstance(node, DEFINITIONS):
        raise Unplaceable("the anchor has no clauses")
    if word == "finally" or (word == "else" and not isinstance(node, ast.Try | ast.TryStar)):
        return end_of(source, node)
    if word == "else" and isinstance(node, ast.Try | ast.TryStar) and node.handlers:
        return end_of(source, node.handlers[-1].body[-1])
    return end_of(source, body[-1])


def clause_indentation(source: Source, node: ast.stmt) -> str:
    """Indentation of a statement's clauses: its own, or that of the cases of a `match`."""
    line = node.lineno
    if isinstance(node, ast.Match):
        line = node.cases[0].pattern.lineno
        while not source.lines[line - 1].lstrip(" \t\f").startswith("case"):
            line -= 1
    return indent_of(source.lines[line - 1])


def elif_start(source: Source, candidate: Candidate) -> int:
    """Offset of the line of an `elif`."""
    return source.starts[candidate.node.lineno - 1]


def docstring(node: ast.AST) -> ast.stmt | None:
    body: list[ast.stmt] = getattr(node, "body", [])
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        return body[0] if isinstance(body[0].value.value, str) else None
    return None
