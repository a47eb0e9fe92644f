"""Additions inside a statement: an argument, an element, a parameter or a base that somebody put there."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from rebasekit.edit import anchors, headers, regions
from rebasekit.edit.blocks import Unplaceable
from rebasekit.edit.layout import indent_of, inside_strings
from rebasekit.edit.match import candidates
from rebasekit.edit.scopes import DEFINITIONS, Scope
from rebasekit.edit.script import Change
from rebasekit.edit.source import Source, split_lines
from rebasekit.model.hunk import Form, Place

_REST = ast.Constant(...)
_Literal = ast.List | ast.Tuple | ast.Set | ast.Dict
_Item = ast.expr | ast.keyword


def options(file: str, source: Source, change: Change) -> Iterator[Form]:
    """Forms for one thing added to the statement that the change lies in; the caller checks what they give."""
    region = regions.around(source, change)
    new = regions.reread(source, region, change)
    if new is None:
        return
    scope, body, last = region.scope, new.body, change.at + change.gone - 1
    if scope.name and region.first == scope.first:
        if not body or type(body[0]) is not type(scope.node):
            return
        yield from _header(file, scope, body[0], new.source)
        body = body[0].body
    old = [c for c in candidates(scope) if region.first <= c.first and c.last <= region.last]
    twins = candidates(Scope("", "", ast.Module(body, []), 1, 1))
    for one, two in zip(old, twins, strict=False):
        if isinstance(one.node, DEFINITIONS) or type(one.node) is not type(two.node):
            continue
        if one.first <= change.at and last <= one.last:
            yield from _inside(file, scope, (one.node, two.node), new.source)


def _header(file: str, old: Scope, new: ast.stmt, source: Source) -> Iterator[Form]:
    if isinstance(old.node, ast.ClassDef) and isinstance(new, ast.ClassDef):
        had = [ast.dump(b) for b in old.node.bases]
        added = [b for b in new.bases if ast.dump(b) not in had]
        if len(added) == 1:
            yield Form(file, old.label, Place.BASE, lines=_text(source, added[0]))
    elif isinstance(old.node, ast.FunctionDef | ast.AsyncFunctionDef) and isinstance(
        new, ast.FunctionDef | ast.AsyncFunctionDef
    ):
        before, after = headers.names(old.node.args), headers.names(new.args)
        fresh = [name for name in after if name not in before]
        if len(fresh) != 1:
            return
        try:
            item = headers.signature(source, new).items[index := after.index(fresh[0])]
        except Unplaceable:
            return
        lines = _dedented(source, item.start, item.end)
        yield Form(file, old.label, Place.PARAMETER, lines=lines)
        if index:
            yield Form(file, old.label, Place.PARAMETER, lines=lines, to=after[index - 1])


def _inside(file: str, scope: Scope, pair: tuple[ast.stmt, ast.stmt], source: Source) -> Iterator[Form]:
    found = _difference(*pair)
    if found is None:
        return
    target, other = found
    had, have = [ast.dump(n) for n in _items(target)], _items(other)
    fresh = [index for index, node in enumerate(have) if ast.dump(node) not in had]
    if len(fresh) != 1:
        return
    place = Place.ARGUMENT if isinstance(target, ast.Call) else Place.ELEMENT
    at, index = _marked(pair[0], target), fresh[0]
    if len(at) > anchors.LONGEST:
        return
    lines = _text(source, have[index])
    yield Form(file, scope.label, place, at=at, lines=lines)
    if index and (to := _name(have[index - 1])):
        yield Form(file, scope.label, place, at=at, lines=lines, to=to)


def _items(node: ast.AST) -> list[_Item]:
    """The items of a call or a literal in the order of the text; a pair of a dict as a keyword without a name."""
    if isinstance(node, ast.Call):
        found: list[_Item] = [*node.args, *node.keywords]
        return sorted(found, key=lambda n: (n.lineno, n.col_offset))
    if isinstance(node, ast.Dict):
        return [ast.Dict([key], [value]) for key, value in zip(node.keys, node.values, strict=True)]
    return [*getattr(node, "elts", [])]


def _name(node: _Item) -> str:
    """What `to` calls an item."""
    if isinstance(node, ast.keyword):
        return node.arg or ""
    if isinstance(node, ast.Dict) and not hasattr(node, "lineno"):
        return ast.unparse(node.keys[0]) if node.keys[0] else ""
    return ast.unparse(node)


def _text(source: Source, node: _Item) -> str:
    """An item as its author wrote it."""
    if isinstance(node, ast.Dict) and not hasattr(node, "lineno"):
        key, value = node.keys[0], node.values[0]
        if key is None:
            return f"**{_dedented(source, source.start(value), source.end(value))}"
        return _dedented(source, source.start(key), source.end(value))
    if isinstance(node, ast.keyword) and node.arg is None:
        return f"**{_dedented(source, source.start(node.value), source.end(node.value))}"
    return _dedented(source, source.start(node), source.end(node))


def _dedented(source: Source, start: int, end: int) -> str:
    """A piece of text whose further lines are relative to the indentation of its first line."""
    text, margin = source.text[start:end], indent_of(source.lines[source.line_at(start) - 1])
    if "\n" not in text:
        return text
    fixed = inside_strings(f"({text}")
    lines = enumerate(split_lines(text.replace("\r\n", "\n")), 1)
    return "".join(line if n == 1 or n in fixed else line.removeprefix(margin) for n, line in lines)


def _difference(old: ast.AST, new: ast.AST) -> tuple[ast.AST, ast.AST] | None:
    """The innermost pair of calls or literals below which all differences lie."""
    if type(old) is not type(new) or ast.dump(old) == ast.dump(new):
        return None
    ours, theirs = list(ast.iter_child_nodes(old)), list(ast.iter_child_nodes(new))
    if len(ours) == len(theirs):
        differing = [
            (a, b) for a, b in zip(ours, theirs, strict=True) if type(a) is not type(b) or ast.dump(a) != ast.dump(b)
        ]
        if len(differing) == 1 and (deeper := _difference(*differing[0])):
            return deeper
    return (old, new) if isinstance(old, ast.Call | _Literal) else None


def _marked(statement: ast.stmt, target: ast.AST) -> str:
    """The statement as a pattern in which the target is open and everything else as it is."""
    index = next(i for i, n in enumerate(ast.walk(statement)) if n is target)
    opened = copy.deepcopy(statement)
    twin = next(n for i, n in enumerate(ast.walk(opened)) if i == index)
    _Open(twin).visit(opened)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(opened, name, None)
        if isinstance(block, list) and block and not isinstance(opened, DEFINITIONS):
            setattr(opened, name, [ast.Expr(_REST)] if name == "body" else [])
    return ast.unparse(opened)


class _Open(ast.NodeTransformer):
    def __init__(self, target: ast.AST) -> None:
        self.target = target

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self.target:
            if isinstance(node, ast.Call):
                return ast.Call(node.func, [_REST], [])
            if isinstance(node, ast.Dict):
                return ast.Set([_REST])
            if isinstance(node, ast.Set):
                return ast.Set([_REST])
            return ast.List([_REST]) if isinstance(node, ast.List) else ast.Tuple([_REST])
        return self.generic_visit(node)
