"""What is wrong with a patched file by itself: it does not parse, names are unbound, definitions doubled, APIs gone."""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter
from collections.abc import Iterator

from pyflakes import checker, messages
from tests.backtest.statements import DEFINITIONS

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@functools.lru_cache(maxsize=1024)
def unbound(data: bytes) -> tuple[tuple[str, int], ...]:
    """Names that are not bound where they are used, with the line; empty when the file does not parse.

    Annotations are left out: texts in them look like names that nothing binds.
    """
    try:
        tree = ast.parse(data)
    except SyntaxError:
        return ()
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign | ast.arg):
            node.annotation = ast.Constant(None) if isinstance(node, ast.AnnAssign) else None
    kinds = (messages.UndefinedName, messages.UndefinedLocal)
    found = [m for m in checker.Checker(tree).messages if isinstance(m, kinds)]
    return tuple((str(m.message_args[0]), int(m.lineno)) for m in found)


@functools.lru_cache(maxsize=1024)
def doubled(data: bytes) -> Counter[str]:
    """Definitions of one name in one block of a class or module, beyond the first."""
    try:
        return Counter(_doubled(ast.parse(data)))
    except SyntaxError:
        return Counter()


def _doubled(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for block in ("body", "orelse", "finalbody"):
            body = getattr(inner, block, None)
            nodes = body if isinstance(body, list) else []
            names = [d.name for d in nodes if isinstance(d, DEFINITIONS) and _plain(d)]
            for each, count in Counter(names).items():
                if count > 1:
                    yield from [f"{getattr(inner, 'name', '')}.{each}"] * (count - 1)


def _plain(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Without a decorator that makes several definitions one, such as `@x.setter` or `@overload`."""
    return not node.decorator_list


def identifiers(data: bytes) -> set[str]:
    """Every word of a file that could be a name."""
    return set(_NAME.findall(data.decode("utf-8", "replace")))


def used(code: str) -> set[str]:
    """Attributes, keywords and imported names in a statement's spelling (`ast.dump`)."""
    return set(re.findall(r"(?:attr|keyword\(arg|alias\(name)='(\w+)'", code))


def defined(code: str) -> set[str]:
    """Names that a statement's spelling defines: definitions, parameters, imports and targets of assignments."""
    found = re.findall(r"^(?:def|class) (\w+)|arg\(arg='(\w+)'|(?:as)?name='(\w+)'", code)
    found += re.findall(r"(?:Name\(id='(\w+)'|attr='(\w+)'), ctx=Store\(\)()", code)
    return {name for names in found for name in names if name}
