"""Reading simple statements: what they read, bind and end."""

from __future__ import annotations

import ast

from rebasekit.checks.unbound.expressions import Expressions
from rebasekit.checks.unbound.scopes import Guard, Star


class Simple(Expressions):
    """One method for each statement that holds no others, named after its class in `ast`."""

    def _return(self, node: ast.Return, guard: Guard | None) -> None:
        if node.value is not None:
            self.expression(node.value, guard)
        self.scope.dead = True

    def _raise(self, node: ast.Raise, guard: Guard | None) -> None:
        for part in (node.exc, node.cause):
            if part is not None:
                self.expression(part, guard)
        self.scope.dead = True

    def _break(self, node: ast.stmt, guard: Guard | None) -> None:
        self.scope.dead = True

    _continue = _break

    def _assert(self, node: ast.Assert, guard: Guard | None) -> None:
        self.expression(node.test, guard)
        if node.msg is not None:
            self.expression(node.msg, guard)
        if isinstance(node.test, ast.Constant) and not node.test.value:
            self.scope.dead = True

    def _assign(self, node: ast.Assign, guard: Guard | None) -> None:
        self.expression(node.value, guard)
        for target in node.targets:
            self.target(target, guard)
            if isinstance(target, ast.Name):
                self.reading.flags.setdefault(target.id, []).append((node.value, guard))

    def _augassign(self, node: ast.AugAssign, guard: Guard | None) -> None:
        if isinstance(node.target, ast.Name):
            self.load(node.target, guard)
        self.expression(node.value, guard)
        self.target(node.target, guard)

    def _annassign(self, node: ast.AnnAssign, guard: Guard | None) -> None:
        if self.scope.kind != "function":
            self.annotation(node.annotation, guard)
        if node.value is not None:
            self.expression(node.value, guard)
            self.target(node.target, guard)
        elif isinstance(node.target, ast.Name):
            self.scope.declared.add(node.target.id)
        else:
            self.expression_of_target(node.target, guard)
        if node.value is not None and isinstance(node.target, ast.Name):
            self.reading.flags.setdefault(node.target.id, []).append((node.value, guard))

    def _delete(self, node: ast.Delete, guard: Guard | None) -> None:
        for target in node.targets:
            if not isinstance(target, ast.Name):
                self.expression_of_target(target, guard)
                continue
            self.load(target, guard)
            if target.id not in self.scope.globals and not self.scope.dead:
                self.scope.may.discard(target.id)
                self.scope.must.discard(target.id)
                self.scope.declared.add(target.id)

    def _import(self, node: ast.Import, guard: Guard | None) -> None:
        self.reading.imports.append(node)
        for alias in node.names:
            self.bind(alias.asname or alias.name.partition(".")[0], "import", node.lineno, guard, alias.name)

    def _importfrom(self, node: ast.ImportFrom, guard: Guard | None) -> None:
        self.reading.imports.append(node)
        for alias in node.names:
            if alias.name == "*":
                if not self.typing:
                    self.reading.stars.append(Star(node.module or "", node.level, node.lineno))
                continue
            self.bind(alias.asname or alias.name, "import", node.lineno, guard, node.module or "")
            if node.module == "__future__" and alias.name == "annotations":
                self.reading.lazy_annotations = True

    def _global(self, node: ast.Global, guard: Guard | None) -> None:
        self.scope.globals.update(node.names)

    def _nonlocal(self, node: ast.Nonlocal, guard: Guard | None) -> None:
        self.scope.nonlocals.update(node.names)
