"""Reading blocks: the statements in them, the tests on the way to each, early returns."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from rebasekit.facts.definitions import leaves
from rebasekit.facts.records import MODULE, SCRIPT
from rebasekit.facts.statements import StatementReader


class BlockReader(StatementReader):
    """Keeps the test that holds at each statement."""

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


def is_main_test(node: ast.expr) -> bool:
    """Whether this is `__name__ == "__main__"`."""
    return (
        isinstance(node, ast.Compare)
        and isinstance(node.left, ast.Name)
        and node.left.id == "__name__"
        and isinstance(node.comparators[0], ast.Constant)
        and node.comparators[0].value == "__main__"
    )


_STATEMENTS: dict[type[Any], Callable[[BlockReader, Any], None]] = {
    ast.Expr: BlockReader.expression,
    ast.Assign: BlockReader.assign,
    ast.If: BlockReader.if_,
    ast.Return: BlockReader.return_,
    ast.FunctionDef: BlockReader.define,
    ast.AsyncFunctionDef: BlockReader.define,
    ast.ClassDef: BlockReader.define,
    ast.For: BlockReader.for_,
    ast.AsyncFor: BlockReader.for_,
    ast.While: BlockReader.while_,
    ast.With: BlockReader.with_,
    ast.AsyncWith: BlockReader.with_,
    ast.Try: BlockReader.try_,
    ast.TryStar: BlockReader.try_,
    ast.AnnAssign: BlockReader.annotated,
    ast.AugAssign: BlockReader.augmented,
    ast.Raise: BlockReader.raise_,
    ast.Assert: BlockReader.assert_,
    ast.Delete: BlockReader.delete,
    ast.Global: BlockReader.shared,
    ast.Nonlocal: BlockReader.shared,
    ast.Import: BlockReader.import_,
    ast.ImportFrom: BlockReader.import_from,
    ast.Match: BlockReader.match,
}
