"""What each place of a hunk does to a file's text: splices of our lines at a matched anchor."""

from __future__ import annotations

import ast

from rebasekit.edit import blocks, inner
from rebasekit.edit.blocks import Unplaceable
from rebasekit.edit.imports import import_splices, is_future
from rebasekit.edit.layout import clause_word, dedent, indent_of, is_clause, to_block
from rebasekit.edit.match import Match
from rebasekit.edit.owned import Splice
from rebasekit.edit.patterns import parse_pattern
from rebasekit.edit.scopes import DEFINITIONS, Scope
from rebasekit.edit.source import Source
from rebasekit.model.hunk import Form, Place

STATEMENT_PLACES = {Place.BEFORE, Place.AFTER, Place.REPLACE, Place.DELETE, Place.FIRST, Place.LAST}
INNER_PLACES = {Place.ELEMENT, Place.ARGUMENT, Place.PARAMETER, Place.BASE}


def splices(form: Form, source: Source, scope: Scope, found: list[Match]) -> list[Splice]:
    """The splices that put the form's lines into `source`; raise Unplaceable with the reason.

    `found` are the matches of the form's anchor, as many as its count says; empty for places without an anchor.
    """
    if form.place is Place.IMPORT:
        return import_splices(form.lines, source)
    if form.place is Place.PARAMETER:
        return inner.parameter(source, scope, form.lines.strip(), form.to)
    if form.place is Place.BASE:
        return inner.base(source, scope, form.lines.strip())
    result: list[Splice] = []
    for match in found or (None,):
        result += _one(form, source, scope, match)
    _after_future(form, source, result)
    return result


def _after_future(form: Form, source: Source, result: list[Splice]) -> None:
    """Raise Unplaceable for code before a `from __future__` import: the file would parse, and not compile."""
    futures = [node for node in source.tree.body if is_future(node)]
    if not futures or form.place in INNER_PLACES:
        return
    first = source.start(futures[-1])
    if any(splice.start <= first and _runs(splice.new) for splice in result):
        raise Unplaceable("nothing can stand before a `from __future__` import")


def _runs(lines: str) -> bool:
    """Whether lines are more than `from __future__` imports, strings and comments."""
    try:
        body = ast.parse(dedent(lines)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    return not all(
        is_future(node) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)) for node in body
    )


def _one(form: Form, source: Source, scope: Scope, match: Match | None) -> list[Splice]:
    place = form.place
    if place in (Place.FIRST, Place.LAST):
        return [_end(form, source, match.node if match else scope.node)]
    if match is None:
        raise Unplaceable(f"`{place.value}` needs an anchor")
    if place is Place.ELEMENT:
        return inner.element(source, parse_pattern(form.at), match, form.lines.strip(), form.to)
    if place is Place.ARGUMENT:
        return inner.argument(source, parse_pattern(form.at), match, form.lines.strip(), form.to)
    if place in (Place.REPLACE, Place.DELETE):
        return [_instead(form, source, match)]
    return [_beside(form, source, match)]


def _lines(form: Form, source: Source, indentation: str) -> str:
    if form.keep_newlines:
        return form.lines
    return to_block(form.lines, indentation, source.newline)


def _instead(form: Form, source: Source, match: Match) -> Splice:
    node = match.node
    if match.candidate.elif_:
        if form.lines and not is_clause(form.lines):
            raise Unplaceable(f"only clauses can stand instead of the `elif` of line {node.lineno}")
        start = blocks.elif_start(source, match.candidate)
        end = blocks.clause_end(source, node)
        return Splice(start, end, _lines(form, source, indent_of(source.lines[node.lineno - 1])))
    start, end = blocks.start_of(source, node), blocks.end_of(source, node)
    text = _lines(form, source, blocks.indentation(source, node)) if form.place is Place.REPLACE else ""
    if text and end == len(source.text) and not source.text.endswith(("\n", "\r")):
        text = text.rstrip("\r\n")
    return Splice(start, end, text)


def _beside(form: Form, source: Source, match: Match) -> Splice:
    node, elif_ = match.node, match.candidate.elif_
    clause = clause_word(form.lines)
    indent = indent_of(source.lines[node.lineno - 1])
    if form.place is Place.BEFORE:
        if elif_ != bool(clause):
            what = "a clause" if clause else "a statement"
            raise Unplaceable(f"{what} cannot stand before line {node.lineno}")
        start = blocks.elif_start(source, match.candidate) if elif_ else blocks.start_of(source, node)
        return Splice(start, start, _lines(form, source, indent))
    if clause:
        end = blocks.clause_end(source, node, clause)
        return _append(form, source, end, blocks.clause_indentation(source, node))
    if elif_:
        raise Unplaceable(f"a statement cannot stand after the `elif` of line {node.lineno}")
    blocks.start_of(source, node)
    return _append(form, source, blocks.end_of(source, node), indent)


def _append(form: Form, source: Source, offset: int, indentation: str) -> Splice:
    """Lines at the end of a statement; a file without a final line end keeps having none."""
    text = _lines(form, source, indentation)
    if offset == len(source.text) and source.text and not source.text.endswith(("\n", "\r")):
        text = source.newline + text.removesuffix(source.newline)
    return Splice(offset, offset, text)


def _end(form: Form, source: Source, owner: ast.AST) -> Splice:
    """`first` and `last`: in the body of a scope or of a compound statement."""
    body: list[ast.stmt] = getattr(owner, "body", [])
    if not body:
        if isinstance(owner, ast.Module):
            return _append(form, source, len(source.text), "")
        raise Unplaceable("the anchor has no body")
    indent = blocks.indentation(source, body[0])
    if form.place is Place.LAST:
        blocks.start_of(source, body[0])
        return _append(form, source, blocks.end_of(source, body[-1]), indent)
    doc = blocks.docstring(owner) if isinstance(owner, (*DEFINITIONS, ast.Module)) else None
    head = [doc] if doc is not None else []
    head += [node for node in body if is_future(node) and _runs(form.lines)]
    if head:
        blocks.start_of(source, head[-1])
        return _append(form, source, blocks.end_of(source, head[-1]), indent)
    start = blocks.start_of(source, body[0])
    return Splice(start, start, _lines(form, source, indent))
