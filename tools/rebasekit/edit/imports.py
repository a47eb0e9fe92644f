"""The `import` place: our imports go after the last import at the head of the module."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from rebasekit.edit import blocks
from rebasekit.edit.blocks import Unplaceable
from rebasekit.edit.layout import to_block
from rebasekit.edit.owned import Splice
from rebasekit.edit.scopes import DEFINITIONS
from rebasekit.edit.source import Source

_CODING = re.compile(r"#.*?coding[:=][ \t]*[-\w.]+")


def _bindings(lines: str) -> Iterator[tuple[str, str]]:
    """What each import statement binds and how; `*` is a name of its own."""
    try:
        body = ast.parse(lines).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Unplaceable(f"our import does not parse: {getattr(error, 'msg', error)}") from None
    for node in body:
        yield from _bound(node)


def _bound(node: ast.stmt) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            yield name, f"import {alias.name}" + (f" as {alias.asname}" if alias.asname else "")
    elif isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        for alias in node.names:
            yield alias.asname or alias.name, f"from {module} import {alias.name}"
    else:
        raise Unplaceable("`import` takes import statements only")


def is_future(node: ast.stmt) -> bool:
    """Whether a statement is a `from __future__` import, which has to come before all other code."""
    return isinstance(node, ast.ImportFrom) and node.module == "__future__" and not node.level


def head_imports(source: Source) -> list[ast.stmt]:
    """The module's own imports before its first definition."""
    found: list[ast.stmt] = []
    for node in source.tree.body:
        if isinstance(node, DEFINITIONS):
            break
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.append(node)
    return found


def already_bound(lines: str, source: Source) -> bool:
    """Whether the module's head already imports all that our lines import, under the same names."""
    have = {binding for node in head_imports(source) for binding in _bound(node)}
    return all(binding in have for binding in _bindings(lines))


def clash(lines: str, source: Source) -> str | None:
    """A name of ours that the module's head, or one of its own definitions, already binds to something else."""
    have: dict[str, set[str]] = {}
    for node in head_imports(source):
        for name, meaning in _bound(node):
            have.setdefault(name, set()).add(meaning)
    for node in source.tree.body:
        if isinstance(node, DEFINITIONS):
            word = "class" if isinstance(node, ast.ClassDef) else "def"
            have.setdefault(node.name, set()).add(f"{word} {node.name}")
    for name, meaning in _bindings(lines):
        others = {other for other in have.get(name, ()) if other != meaning and not _one_package(other, meaning)}
        if name != "*" and others:
            return f"`{name}` is already bound by `{min(others)}`"
    return None


def _one_package(a: str, b: str) -> bool:
    """`import a.b` and `import a.c` bind the same `a`."""
    return all(text.startswith("import ") and " as " not in text for text in (a, b))


def import_splices(lines: str, source: Source) -> list[Splice]:
    """After the last import of the head, else after the docstring, else after the comments at the very start.

    A `from __future__` import goes after those that are there, before everything else.
    """
    for _ in _bindings(lines):
        pass
    ours = ast.parse(lines).body
    future = any(is_future(node) for node in ours)
    if future and not all(is_future(node) for node in ours):
        raise Unplaceable("a `from __future__` import stands before the others: give it a hunk of its own")
    text = to_block(lines, "", source.newline)
    offset = _import_offset(source, future)
    if offset == len(source.text) and source.text and not source.text.endswith(("\n", "\r")):
        text = source.newline + text.removesuffix(source.newline)
    return [Splice(offset, offset, text)]


def _import_offset(source: Source, future: bool) -> int:
    problem: Unplaceable | None = None
    for node in reversed([n for n in head_imports(source) if is_future(n) or not future]):
        try:
            return blocks.end_of(source, node)
        except Unplaceable as error:  # `import pdb; pdb.set_trace()`: the import before it will do
            problem = error
    if problem:
        raise problem
    doc = blocks.docstring(source.tree)
    return blocks.end_of(source, doc) if doc is not None else _after_comments(source)


def _after_comments(source: Source) -> int:
    """Offset after the comments at the start of a file; those right above a statement are the statement's."""
    count = 0
    for line in source.lines:
        if not line.startswith("#"):
            break
        count += 1
    if count < len(source.lines) and source.lines[count].strip():
        count = sum(line.startswith("#!") or bool(_CODING.match(line)) for line in source.lines[: min(count, 2)])
    return source.starts[count]
