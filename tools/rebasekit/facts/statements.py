"""Reading statements that hold no others: assignments, returns, calls that stand alone."""

from __future__ import annotations

import ast
from typing import Any

from rebasekit.facts.definitions import DefinitionReader
from rebasekit.facts.records import refers


class StatementReader(DefinitionReader):
    """One method for each kind."""

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
