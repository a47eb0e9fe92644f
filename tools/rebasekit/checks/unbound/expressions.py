"""Reading expressions: names in the order in which they are read, with the conditions on the way to them."""

from __future__ import annotations

import ast

from rebasekit.checks.unbound.scopes import Binding, Guard, Load, Reading, Scope

_Lazy = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FIELDS = {kind: kind._fields for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST)}


class Expressions:
    """The state of a reading, and what expressions do to it."""

    def __init__(self, reading: Reading, scope: Scope) -> None:
        self.reading = reading
        self.scope = scope
        self.typing = 0  # depth of blocks that only a type checker reads
        self.caught = 0  # depth of `try` blocks that catch a missing name

    def later(self, node: _Lazy, guard: Guard | None) -> None:
        """Keep a body for later; the statements know how."""
        raise NotImplementedError

    def bind(self, name: str, how: str, line: int, guard: Guard | None, source: str = "") -> None:
        scope = self.scope
        while scope.kind == "comprehension" and scope.parent is not None and how == "walrus":
            scope = scope.parent
        self.bind_in(scope, name, how, line, guard, source)

    def bind_in(self, scope: Scope, name: str, how: str, line: int, guard: Guard | None, source: str = "") -> None:
        if name in scope.globals:
            self.reading.module.bindings.setdefault(name, []).append(Binding("lazy", line, guard))
            return
        if name in scope.nonlocals:
            return
        if self.typing:
            scope.typing.setdefault(name, []).append(Binding(how, line, guard))
            return
        scope.bindings.setdefault(name, []).append(Binding(how, line, guard, source))
        if not scope.dead:
            scope.may.add(name)
            scope.must.add(name)

    def load(self, node: ast.Name, guard: Guard | None) -> None:
        scope = self.scope
        name = node.id
        if scope.dead or self.typing:
            return
        position = (node.lineno, node.col_offset)
        self.reading.evaluated.add(position)
        while scope.kind == "class" and name not in scope.may and scope.parent is not None:
            scope = scope.parent  # a class body that has not bound the name reads what stands around it
        if name not in scope.must:
            scope.loads.append(Load(name, *position, guard, name in scope.may, self.scope, self.caught > 0))

    def annotation(self, node: ast.expr, guard: Guard | None) -> None:
        """An annotation that Python evaluates, unless the file says that none are."""
        if not self.reading.lazy_annotations:
            self.expression(node, guard)

    def defaults(self, arguments: ast.arguments, guard: Guard | None) -> None:
        for default in (*arguments.defaults, *arguments.kw_defaults):
            if default is not None:
                self.expression(default, guard)

    def expression(self, node: ast.AST, guard: Guard | None) -> None:
        kind = type(node)
        if kind is ast.Name:
            self.load(node, guard)  # type: ignore[arg-type]
        elif kind is ast.Constant:
            pass
        elif kind is ast.Attribute:
            self.expression(node.value, guard)  # type: ignore[attr-defined]
        elif kind is ast.BoolOp:
            self._bool_op(node, guard)  # type: ignore[arg-type]
        elif kind is ast.IfExp:
            assert isinstance(node, ast.IfExp)
            self.expression(node.test, guard)
            self.expression(node.body, Guard(guard, node.test, True, "", node.lineno, False))
            self.expression(node.orelse, Guard(guard, node.test, False, "", node.lineno, False))
        elif kind is ast.Lambda:
            assert isinstance(node, ast.Lambda)
            self.defaults(node.args, guard)
            self.later(node, guard)
        elif kind is ast.NamedExpr:
            assert isinstance(node, ast.NamedExpr)
            self.expression(node.value, guard)
            self.bind(node.target.id, "walrus", node.lineno, guard)
        elif kind in _COMPREHENSIONS:
            self._comprehension(node, guard)  # type: ignore[arg-type]
        else:
            for name in _FIELDS[kind]:
                value = getattr(node, name)
                if isinstance(value, ast.expr):
                    self.expression(value, guard)
                elif isinstance(value, list):
                    for item in value:
                        if isinstance(item, (ast.expr, ast.keyword)):
                            self.expression(item, guard)

    def _bool_op(self, node: ast.BoolOp, guard: Guard | None) -> None:
        """Each operand runs only when the ones before it let it."""
        holds = isinstance(node.op, ast.And)
        for value in node.values:
            self.expression(value, guard)
            guard = Guard(guard, value, holds, "", node.lineno, False)

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, guard: Guard | None
    ) -> None:
        outer = self.scope
        inner = Scope("comprehension", outer.name, outer, guard)
        inner.dead = outer.dead
        for number, generator in enumerate(node.generators):
            self.scope = inner if number else outer
            self.expression(generator.iter, guard)
            self.scope = inner
            self.target(generator.target, guard)
            for test in generator.ifs:
                self.expression(test, guard)
                guard = Guard(guard, test, True, "", node.lineno, False)
        parts = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
        for part in parts:
            self.expression(part, guard)
        self.scope = outer
        visible = outer
        while visible.kind == "class" and visible.parent is not None:
            visible = visible.parent  # a class's names cannot be seen from within a comprehension
        lazy = isinstance(node, ast.GeneratorExp)
        for load in inner.loads:
            if load.name in inner.bindings:
                continue  # `[x for x in x if …]` and the like; targets are bound before they are read
            if load.name not in visible.must:
                reached = load.name in visible.may
                found = load._replace(reached=reached or lazy, scope=visible)
                visible.loads.append(found)

    def target(self, node: ast.expr, guard: Guard | None) -> None:
        """What an assignment, a loop or a `with` binds."""
        if isinstance(node, ast.Name):
            self.bind(node.id, "assignment", node.lineno, guard)
        elif isinstance(node, (ast.Tuple, ast.List)):
            for element in node.elts:
                self.target(element, guard)
        elif isinstance(node, ast.Starred):
            self.target(node.value, guard)
        else:
            self.expression_of_target(node, guard)

    def expression_of_target(self, node: ast.expr, guard: Guard | None) -> None:
        """`a.b = …` and `a[b] = …` read `a` and `b`."""
        if isinstance(node, ast.Attribute):
            if isinstance(node.ctx, ast.Store):
                self.reading.stores.append(node)
            self.expression(node.value, guard)
        elif isinstance(node, ast.Subscript):
            self.expression(node.value, guard)
            self.expression(node.slice, guard)
        elif isinstance(node, (ast.Tuple, ast.List)):
            for element in node.elts:
                self.expression_of_target(element, guard)

    def pattern(self, node: ast.pattern, guard: Guard | None) -> None:
        """What a `case` reads and captures."""
        for child in ast.walk(node):
            if isinstance(child, (ast.MatchAs, ast.MatchStar)) and child.name:
                self.bind(child.name, "assignment", child.lineno, guard)
            elif isinstance(child, ast.MatchMapping) and child.rest:
                self.bind(child.rest, "assignment", child.lineno, guard)
            elif isinstance(child, ast.Name):
                self.load(child, guard)
