"""The brackets of definitions: a function's parameters, a class's bases."""

from __future__ import annotations

import ast

from rebasekit.edit.blocks import Unplaceable
from rebasekit.edit.brackets import Bracketed, Token, code_tokens, listed, pairs
from rebasekit.edit.source import Source


def names(arguments: ast.arguments) -> list[str]:
    """The parameters in the order of the text; the marks `/` and `*` count as if they were names."""
    found = [arg.arg for arg in arguments.posonlyargs]
    if found:
        found.append("/")
    found += [arg.arg for arg in arguments.args]
    if arguments.vararg:
        found.append(arguments.vararg.arg)
    elif arguments.kwonlyargs:
        found.append("*")
    found += [arg.arg for arg in arguments.kwonlyargs]
    return found + ([arguments.kwarg.arg] if arguments.kwarg else [])


def signature(source: Source, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Bracketed:
    """The parameters of a function."""
    tokens = _header(source, node)
    words = [word for word, _, _ in tokens]
    open_ = words.index("(", words.index("def"))
    return listed(source, tokens, _span(tokens, open_), len(names(node.args)))


def bases(source: Source, node: ast.ClassDef) -> Bracketed | int:
    """The bases and keywords of a class; the offset behind its name when it has no brackets."""
    tokens = _header(source, node)
    if tokens[2][0] != "(":
        if tokens[2][0] != ":":
            raise Unplaceable("the class's header cannot be read")
        return tokens[1][2]
    return listed(source, tokens, _span(tokens, 2), len(node.bases) + len(node.keywords))


def _header(source: Source, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> list[Token]:
    """The tokens from `def` or `class` to the body."""
    return list(code_tokens(source, source.start(node), source.start(node.body[0])))


def _span(tokens: list[Token], open_: int) -> tuple[int, int]:
    close = pairs(tokens).get(open_)
    if close is None:
        raise Unplaceable("the header's brackets cannot be read")
    return tokens[open_][2], tokens[close][1]
