"""What every part of a file's reader works on: the lines, the tests on the way, and the scope that is written."""

from __future__ import annotations

import ast

from rebasekit.facts.records import Ref
from rebasekit.facts.writer import ScopeWriter


class Reading:
    """The place in a file that a reader has come to. `guards` are all tests seen, `guard` the one that holds here."""

    dotted = 0  # strings seen that may name a module, class or function
    scope: ScopeWriter
    lines: list[bytes]
    guards: list[tuple[int, str, bool, int]]
    guard: int

    def read(self, node: ast.expr | None) -> Ref:
        """Visit an expression and say what it refers to."""
        raise NotImplementedError

    def aside(self, node: ast.expr) -> None:
        """Visit an expression whose own strings name nothing that is imported."""
        raise NotImplementedError

    def attribute(self, node: ast.Attribute) -> Ref:
        """The same for an attribute chain."""
        raise NotImplementedError

    def text(self, node: ast.expr, limit: int = 400) -> str:
        """The source of an expression on one line."""
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        if first == last:
            raw = self.lines[first][node.col_offset : node.end_col_offset]
            return raw.decode("utf-8", "replace")[:limit]
        raw = b" ".join(
            [
                self.lines[first][node.col_offset :],
                *self.lines[first + 1 : last],
                self.lines[last][: node.end_col_offset],
            ]
        )
        return " ".join(raw[: 4 * limit].decode("utf-8", "replace").split())[:limit]

    def test(self, parent: int, node: ast.expr, holds: bool) -> int:
        """A guard for `node`; `not x` is kept as x with the other outcome, so both branches share one text."""
        while node.__class__ is ast.UnaryOp and isinstance(node.op, ast.Not):
            node, holds = node.operand, not holds
        return self.note(parent, self.text(node), holds, node.lineno)

    def note(self, parent: int, text: str, holds: bool, line: int) -> int:
        self.guards.append((parent, text, holds, line))
        return len(self.guards) - 1
