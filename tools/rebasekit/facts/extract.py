"""One pass over a file's syntax tree: statements, definitions, tests, early returns."""

from __future__ import annotations

import ast
from collections.abc import Callable
from itertools import accumulate
from typing import Any

from rebasekit.facts.definitions import DefinitionReader, leaves
from rebasekit.facts.packed import Packed, pack_file
from rebasekit.facts.parse import Parsed, Unread, parse
from rebasekit.facts.records import MODULE, SCRIPT, refers
from rebasekit.facts.writer import ScopeWriter


class FileReader(DefinitionReader):
    """Reads a whole file; `scopes` holds its module, classes and functions in source order."""

    def __init__(self, parsed: Parsed) -> None:
        self.lines = parsed.lines
        self.source = memoryview(parsed.text)
        self.starts = list(accumulate([len(line) + 1 for line in parsed.lines], initial=0))
        self.guards = [(0, "", True, 0)]
        self.guard = 0
        self.scopes: list[ScopeWriter] = []
        self.scope = self.open(MODULE, "", 0, (1, len(parsed.lines)))
        self.block(parsed.tree.body)

    def drop_plain(self) -> None:
        """Forget what leads nowhere (`ScopeWriter.drop_plain`), now that all names are known."""
        stars = any(item[0] == "*" for scope in self.scopes for item in scope.imports)
        known = None if stars else {name for scope in self.scopes for name in scope.bound}
        for scope in self.scopes:
            scope.drop_plain(known)

    def block(self, body: list[ast.stmt]) -> None:
        """Read statements in order; a test whose branch leaves the block guards everything after it."""
        outer = self.guard
        for statement in body:
            reader = _STATEMENTS.get(statement.__class__)
            if reader is not None:
                reader(self, statement)
            if statement.__class__ is ast.If:
                self.guard = self.after(statement, self.guard)
        self.guard = outer

    def after(self, node: ast.If, guard: int) -> int:
        if leaves(node.body):
            guard = self.test(guard, node.test, False)
            if len(node.orelse) == 1 and node.orelse[0].__class__ is ast.If:
                guard = self.after(node.orelse[0], guard)
        elif node.orelse and leaves(node.orelse):
            guard = self.test(guard, node.test, True)
        return guard

    def under(self, guard: int, body: list[ast.stmt]) -> None:
        outer, self.guard = self.guard, guard
        self.block(body)
        self.guard = outer

    # statements

    def if_(self, node: ast.If) -> None:
        if self.scope.kind == MODULE and is_main_test(node.test):
            return self.script(node)
        self.read(node.test)
        self.under(self.test(self.guard, node.test, True), node.body)
        if node.orelse:
            self.under(self.test(self.guard, node.test, False), node.orelse)
        return None

    def script(self, node: ast.If) -> None:
        """`if __name__ == "__main__":` is a scope of its own: importing the module does not run it."""
        outer_scope, outer_guard = self.scope, self.guard
        span = (node.lineno, node.body[-1].end_lineno or node.lineno)
        self.scope = self.open(SCRIPT, "__main__", self.guard, span)
        self.guard = 0
        self.under(self.test(0, node.test, True), node.body)
        self.scope, self.guard = outer_scope, outer_guard
        self.block(node.orelse)

    def while_(self, node: ast.While) -> None:
        self.read(node.test)
        self.under(self.test(self.guard, node.test, True), node.body)
        self.block(node.orelse)

    def for_(self, node: Any) -> None:
        value = self.read(node.iter)
        self.bind(node.target, ("s", value) if value is not None else None)
        self.block(node.body)
        self.block(node.orelse)

    def try_(self, node: Any) -> None:
        self.block(node.body)
        for handler in node.handlers:
            caught = self.text(handler.type) if handler.type is not None else ""
            if handler.type is not None:
                self.read(handler.type)
            if handler.name:
                self.scope.bound.add(handler.name)
            self.under(self.note(self.guard, f"except {caught}".strip(), True, handler.lineno), handler.body)
        self.block(node.orelse)
        self.block(node.finalbody)

    def with_(self, node: Any) -> None:
        for item in node.items:
            value = self.read(item.context_expr)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, value)
        self.block(node.body)

    def match(self, node: ast.Match) -> None:
        self.read(node.subject)
        subject = self.text(node.subject, 80)
        for case in node.cases:
            for child in ast.walk(case.pattern):
                if isinstance(child, ast.MatchValue):
                    self.read(child.value)
                elif isinstance(child, ast.MatchClass):
                    self.read(child.cls)
                elif isinstance(child, (ast.MatchAs, ast.MatchStar)) and child.name:
                    self.scope.bound.add(child.name)
            text = f"match {subject}: case {ast.unparse(case.pattern)}"[:200]
            guard = self.note(self.guard, text, True, case.pattern.lineno)
            if case.guard is not None:
                self.read(case.guard)
                guard = self.test(guard, case.guard, True)
            self.under(guard, case.body)

    def assign(self, node: ast.Assign) -> None:
        value = self.read(node.value)
        text = self.text(node.value, 200) if self.scope.keeps_constants else None
        for target in node.targets:
            if isinstance(target, (ast.Tuple, ast.List)) and isinstance(node.value, (ast.Tuple, ast.List)):
                self.pairs(target.elts, node.value.elts, value)
            else:
                self.bind(target, value, None, text)

    def pairs(self, targets: list[ast.expr], values: list[ast.expr], whole: Any) -> None:
        if len(targets) != len(values) or any(v.__class__ not in (ast.Name, ast.Attribute) for v in values):
            return self.bind_each(targets, whole)
        for target, value in zip(targets, values, strict=True):
            self.bind(target, self.read(value))
        return None

    def annotated(self, node: ast.AnnAssign) -> None:
        value = self.read(node.value) if node.value is not None else None
        text = self.text(node.value, 200) if node.value is not None and self.scope.keeps_constants else None
        annotation = self.text(node.annotation, 200)
        if node.target.__class__ is ast.Name and value is None:
            self.scope.bound.add(node.target.id)
            self.scope.assigns.append((node.lineno, self.guard, node.target.id, None, annotation, text))
        else:
            self.bind(node.target, value, annotation, text)

    def augmented(self, node: ast.AugAssign) -> None:
        value = self.read(node.value)
        self.read(node.target)
        if value.__class__ is tuple and value[0] in "dus":
            self.bind(node.target, value)
        elif node.target.__class__ is ast.Name:
            self.scope.bound.add(node.target.id)

    def expression(self, node: ast.Expr) -> None:
        if node.value.__class__ is ast.Constant:
            return  # a docstring: what it mentions is not code
        value = self.read(node.value)
        if isinstance(node.value, (ast.Yield, ast.YieldFrom)):
            self.scope.returns.append((node.lineno, self.guard, ("d", (None, value, node.lineno))))

    def return_(self, node: ast.Return) -> None:
        value = self.read(node.value)
        if node.value is not None and refers(value):
            self.scope.returns.append((node.value.lineno, self.guard, value))
        else:
            self.scope.loose = True

    def raise_(self, node: ast.Raise) -> None:
        self.read(node.exc)
        self.read(node.cause)

    def assert_(self, node: ast.Assert) -> None:
        self.read(node.test)
        self.read(node.msg)

    def delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            self.read(target)

    def shared(self, node: Any) -> None:
        self.scope.flags += "g"
        self.scope.imports.extend((name, "", None, -1, node.lineno, self.guard) for name in node.names)


def is_main_test(node: ast.expr) -> bool:
    """Whether this is `__name__ == "__main__"`."""
    return (
        isinstance(node, ast.Compare)
        and isinstance(node.left, ast.Name)
        and node.left.id == "__name__"
        and isinstance(node.comparators[0], ast.Constant)
        and node.comparators[0].value == "__main__"
    )


_STATEMENTS: dict[type[Any], Callable[[FileReader, Any], None]] = {
    ast.Expr: FileReader.expression,
    ast.Assign: FileReader.assign,
    ast.If: FileReader.if_,
    ast.Return: FileReader.return_,
    ast.FunctionDef: FileReader.define,
    ast.AsyncFunctionDef: FileReader.define,
    ast.ClassDef: FileReader.define,
    ast.For: FileReader.for_,
    ast.AsyncFor: FileReader.for_,
    ast.While: FileReader.while_,
    ast.With: FileReader.with_,
    ast.AsyncWith: FileReader.with_,
    ast.Try: FileReader.try_,
    ast.TryStar: FileReader.try_,
    ast.AnnAssign: FileReader.annotated,
    ast.AugAssign: FileReader.augmented,
    ast.Raise: FileReader.raise_,
    ast.Assert: FileReader.assert_,
    ast.Delete: FileReader.delete,
    ast.Global: FileReader.shared,
    ast.Nonlocal: FileReader.shared,
    ast.Import: FileReader.import_,
    ast.ImportFrom: FileReader.import_from,
    ast.Match: FileReader.match,
}


def extract(data: bytes) -> Packed | Unread:
    """One file's facts, packed (see `records`); `FileFacts` unpacks it."""
    parsed = parse(data)
    if isinstance(parsed, Unread):
        return parsed
    try:
        reader = FileReader(parsed)
        reader.drop_plain()
        return pack_file([scope.pack() for scope in reader.scopes], reader.guards)
    except (RecursionError, MemoryError):
        return Unread("nesting: too deep to read")
    except ValueError as error:
        return Unread(f"too large to keep: {error}")
