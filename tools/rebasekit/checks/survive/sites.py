"""The nodes on a hunk's own lines at which something of upstream's may be used, in source order."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from rebasekit.checks.survive.api import NotRead
from rebasekit.checks.survive.hints import Hints, hints
from rebasekit.checks.survive.passing import passed_on
from rebasekit.facts.file import FileFacts
from rebasekit.facts.parse import Parsed, Unread, parse

_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+(:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*)?")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Site:
    """A node, the scope id it stands in, and its line in the patched file."""

    node: ast.AST
    scope: int
    line: int
    called: bool = False  # the node is what a call calls
    imported: ast.ImportFrom | ast.Import | None = None  # the statement of an alias
    spared: bool = False  # an import under `if TYPE_CHECKING:`, or whose failure is caught
    function: ast.AST | None = None  # the outermost function around it
    unpacked: int = 0  # names that a call's result is taken apart into

    @property
    def hints(self) -> Hints:
        """What the function's text says of its names."""
        return _hints(self.function) if self.function is not None else {}


class SiteReader:
    """Walks a patched file once; keeps what lies on the own lines."""

    def __init__(self, path: str, source: bytes, lines: tuple[int, ...], file: FileFacts, first: int) -> None:
        parsed = _parsed(source)
        if isinstance(parsed, Unread):
            raise NotRead(path, parsed.reason)
        self.tree = parsed.tree
        self.lines = frozenset(lines)
        self.ordered = sorted(self.lines)
        self.first = first
        self.ids = {(head[3], head[1].rpartition(".")[2]): local for local, head in enumerate(file.heads)}
        self.function: ast.AST | None = None  # the outermost one around what is being visited
        self.unpacked: dict[int, int] = {}  # calls, by `id`, to the number of names that they are assigned to
        self.sites = list(self._block(self.tree, first, False))

    def _own(self, node: ast.AST) -> int:
        """The line on which the telling part of a node ends, when it is ours; else 0."""
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Attribute):
            line = node.end_lineno or line  # in a chain over several lines, where the attribute stands
        return line if line in self.lines else 0

    def _touches(self, node: ast.AST) -> bool:
        """Whether any line of the node is ours; hunks are small and files are not."""
        end = getattr(node, "end_lineno", None)
        if end is None:
            return True
        outer = [d.lineno for d in getattr(node, "decorator_list", ())]
        at = bisect_left(self.ordered, min([node.lineno, *outer]))  # type: ignore[attr-defined]  # it has an end
        return at < len(self.ordered) and self.ordered[at] <= end

    def _block(self, node: ast.AST, scope: int, spared: bool) -> Iterator[Site]:
        for child in ast.iter_child_nodes(node):
            yield from self._visit(child, scope, spared)

    def _visit(self, node: ast.AST, scope: int, spared: bool, called: bool = False) -> Iterator[Site]:
        if not self._touches(node):
            return
        line = self._own(node)
        if isinstance(node, _DEFINITIONS):
            yield from self._definition(node, scope, spared, line)
            return
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from self._visit(node.test, scope, spared)
            for statement in node.body:
                yield from self._visit(statement, scope, True)
            for statement in node.orelse:
                yield from self._visit(statement, scope, spared)
            return
        if isinstance(node, ast.Try) and any(_catches(handler) for handler in node.handlers):
            for statement in node.body:
                yield from self._visit(statement, scope, True)
            for part in (*node.handlers, *node.orelse, *node.finalbody):
                yield from self._visit(part, scope, spared)
            return
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                if alias.lineno in self.lines or line:
                    yield Site(alias, scope, alias.lineno, imported=node, spared=spared)
            return
        if isinstance(node, ast.Assign):
            self._unpacks(node)
        if isinstance(node, ast.Call):
            # An argument of ours in upstream's call: the call is checked, its name is upstream's business.
            given = [self._own(part) for part in (node.func, *node.args, *node.keywords)]
            if line or any(given):
                first, taken = line or next(filter(None, given)), self.unpacked.get(id(node), 0)
                yield Site(node, scope, first, function=self.function, unpacked=taken)
            for call in passed_on(node):
                if line or any(self._own(part) for part in (call.func, *call.args, *call.keywords)):
                    yield Site(call, scope, line or node.lineno, function=self.function)
            yield from self._visit(node.func, scope, spared, called=True)
            for child in (*node.args, *node.keywords):
                yield from self._visit(child, scope, spared)
            return
        if line and (
            isinstance(node, (ast.Name, ast.Attribute, ast.Compare)) or dotted_string(node) or table_key(node)
        ):
            yield Site(node, scope, line, called, function=self.function)
        yield from self._block(node, scope, spared)

    def _unpacks(self, node: ast.Assign) -> None:
        """Remember `a, b = f()`, if the names are ours too."""
        value = node.value.value if isinstance(node.value, ast.Await) else node.value
        target = node.targets[0]
        parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) and self._own(target) else []
        if isinstance(value, ast.Call) and parts and not any(isinstance(part, ast.Starred) for part in parts):
            self.unpacked[id(value)] = len(parts)

    def _definition(self, node: ast.AST, scope: int, spared: bool, line: int) -> Iterator[Site]:
        assert isinstance(node, _DEFINITIONS)
        local = self.ids.get((node.lineno, node.name))
        inner = scope if local is None else self.first + local
        if line:
            yield Site(node, inner, line)
        outer: list[ast.AST] = list(node.decorator_list)
        if isinstance(node, ast.ClassDef):
            outer += [*node.bases, *node.keywords]
        else:
            outer += [node.args, *([node.returns] if node.returns else [])]
        for child in outer:
            yield from self._visit(child, scope, spared)
        outermost = self.function
        if not isinstance(node, ast.ClassDef):
            self.function = outermost or node
        for child in node.body:
            yield from self._visit(child, inner, spared)
        self.function = outermost

    def words(self) -> list[str]:
        """The sites as text, to see whether two trees hold the same lines of ours."""
        return [_word(site.node) for site in self.sites]


@lru_cache(maxsize=64)
def _hints(function: ast.AST) -> Hints:
    """Both trees have trees of their own; a function is asked about for each of its sites."""
    return hints(function)


@lru_cache(maxsize=4)
def _parsed(source: bytes) -> Parsed | Unread:
    """Several hunks of one file are read one after the other."""
    return parse(source)


def _catches(handler: ast.ExceptHandler) -> bool:
    """Whether a handler catches what a failed import raises."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {ast.unparse(kind).rpartition(".")[2] if kind is not None else "" for kind in kinds}
    return bool(names & {"", "ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


def dotted_string(node: ast.AST) -> str:
    """`pkg.module.name` of a string that may name something, as `import_module` and mocks take it; else empty."""
    value = node.value if isinstance(node, ast.Constant) else None
    return value.replace(":", ".") if isinstance(value, str) and _DOTTED.fullmatch(value) else ""


def table_key(node: ast.AST) -> str:
    """The key of `TABLE["key"]`; else empty."""
    key = node.slice if isinstance(node, ast.Subscript) and isinstance(node.value, (ast.Name, ast.Attribute)) else None
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""


def _word(node: ast.AST) -> str:
    if isinstance(node, _DEFINITIONS):
        return f"def {node.name}"
    if isinstance(node, ast.alias):
        return f"import {node.name}"
    return ast.dump(node)
