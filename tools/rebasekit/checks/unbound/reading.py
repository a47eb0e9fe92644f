"""Reading a file in the order in which it runs: which names are bound on some, and on every, way to a place.

States are sets of names: `may` is bound on some way here, `must` on every way. A name that is read and not in `may`
fails on every run that gets there; one in `may` only depends on a branch. Where this cannot be known, the reading
is optimistic: it never invents a failure.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from rebasekit.checks.unbound.inside import bound_in, catches_missing, never_returns, suppresses, type_checking
from rebasekit.checks.unbound.scopes import Guard, Reading, Scope
from rebasekit.checks.unbound.simple import Simple

_Function = (ast.FunctionDef, ast.AsyncFunctionDef)


def read(tree: ast.Module) -> Reading:
    """Read a whole file."""
    return Statements(tree).reading


class Statements(Simple):
    """The statements that hold others; simple ones and expressions are below."""

    def __init__(self, tree: ast.Module) -> None:
        scope = Scope("module", "", None)
        super().__init__(Reading(scope, [scope]), scope)
        self.functions: list[tuple[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, Scope]] = []
        self.block(tree.body, None)
        self._bodies()

    def _bodies(self) -> None:
        """Read the function bodies once everything around them is known: they run later."""
        while self.functions:
            node, scope = self.functions.pop()
            self.scope, self.typing, self.caught = scope, 0, 0
            if isinstance(node, ast.Lambda):
                self.expression(node.body, scope.guard)
            else:
                self.block(node.body, scope.guard)

    def later(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, guard: Guard | None) -> None:
        name = getattr(node, "name", "<lambda>")
        outer = self.scope
        scope = Scope("function", f"{outer.name}.{name}" if outer.name else name, outer, guard)
        for argument in ast.walk(node.args):
            if isinstance(argument, ast.arg):
                scope.parameters += (argument.arg,)
        if self.typing or outer.dead:
            return
        self.reading.scopes.append(scope)
        for parameter in scope.parameters:
            self.bind_in(scope, parameter, "parameter", node.lineno, None)
        self.functions.append((node, scope))

    def block(self, body: Iterable[ast.stmt], guard: Guard | None) -> Guard | None:
        """Read statements; the guard that holds behind them is returned."""
        for node in body:
            guard = self.statement(node, guard)
        return guard

    def statement(self, node: ast.stmt, guard: Guard | None) -> Guard | None:
        kind = type(node)
        if kind is ast.Expr:
            self.expression(node.value, guard)  # type: ignore[attr-defined]
            if never_returns(node.value):  # type: ignore[attr-defined]
                self.scope.dead = True
        elif kind is ast.If:
            return self._if(node, guard, "if")  # type: ignore[arg-type]
        elif method := getattr(self, f"_{kind.__name__.lower()}", None):
            method(node, guard)
            if kind is ast.Assert:
                return Guard(guard, node.test, True, "", node.lineno, False)  # type: ignore[attr-defined]
        return guard

    def _functiondef(self, node: ast.FunctionDef | ast.AsyncFunctionDef, guard: Guard | None) -> None:
        for decorator in node.decorator_list:
            self.expression(decorator, guard)
        self.defaults(node.args, guard)
        for argument in ast.walk(node.args):
            if isinstance(argument, ast.arg) and argument.annotation is not None:
                self.annotation(argument.annotation, guard)
        if node.returns is not None:
            self.annotation(node.returns, guard)
        self.later(node, guard)
        self.bind(node.name, "definition", node.lineno, guard)

    _asyncfunctiondef = _functiondef

    def _classdef(self, node: ast.ClassDef, guard: Guard | None) -> None:
        for part in (*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)):
            self.expression(part, guard)
        outer = self.scope
        inner = Scope("class", f"{outer.name}.{node.name}" if outer.name else node.name, outer, guard)
        inner.dead = outer.dead
        if not self.typing:
            self.reading.scopes.append(inner)
        for name in ("__module__", "__qualname__", "__class__"):
            inner.may.add(name)
            inner.must.add(name)
        self.scope = inner
        self.block(node.body, guard)
        self.scope = outer
        self.bind(node.name, "definition", node.lineno, guard)

    def _if(self, node: ast.If, guard: Guard | None, word: str) -> Guard | None:
        self.expression(node.test, guard)
        scope, typing = self.scope, type_checking(node.test)
        constant = bool(node.test.value) if isinstance(node.test, ast.Constant) else None
        may, must, dead = set(scope.may), set(scope.must), scope.dead
        then = Guard(guard, node.test, True, word, node.lineno, True)
        other = Guard(guard, node.test, False, "else", node.lineno, True)
        self._arm(node.body, then, skipped=typing is True or constant is False, typing=typing is True)
        first = (scope.may, scope.must, scope.dead)
        scope.may, scope.must, scope.dead = may, must, dead
        skipped, as_typing = typing is False or constant is True, typing is False
        if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If) and not skipped:
            chained = Guard(guard, node.test, False, "", node.lineno, False)
            self._if(node.orelse[0], chained, "elif")
        else:
            self._arm(node.orelse, other, skipped=skipped, typing=as_typing)
        second_dead, first_dead = scope.dead, first[2]
        self.join([first, (scope.may, scope.must, scope.dead)])
        if first_dead != second_dead and not dead and typing is None:
            return Guard(guard, node.test, second_dead, "", node.lineno, False)
        return guard

    def _arm(self, body: list[ast.stmt], guard: Guard, *, skipped: bool, typing: bool) -> None:
        """One side of an `if`; a side that never runs binds nothing."""
        self.typing += typing
        was_dead = self.scope.dead
        if skipped and not typing:
            self.scope.dead = True
        self.block(body, guard)
        self.scope.dead = self.scope.dead or was_dead or skipped
        self.typing -= typing

    def join(self, states: list[tuple[set[str], set[str], bool]]) -> None:
        """Where several ways meet: `may` is any of them, `must` all of them; ways that end do not count."""
        scope = self.scope
        live = [state for state in states if not state[2]]
        scope.dead = not live
        if live:
            scope.may = set().union(*(state[0] for state in live))
            scope.must = set.intersection(*(state[1] for state in live))

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, guard: Guard | None, inner: Guard | None) -> None:
        """A loop's body. Optimistic: it is taken to run at least once, and to its end."""
        scope = self.scope
        endless = isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
        dead = scope.dead
        scope.may |= bound_in(node.body)
        self.block(node.body, inner)
        scope.dead = dead
        self.block(node.orelse, guard)
        scope.dead = dead or (endless and not _leaves(node.body))

    def _for(self, node: ast.For | ast.AsyncFor, guard: Guard | None) -> None:
        self.expression(node.iter, guard)
        self.target(node.target, guard)
        self._loop(node, guard, guard)

    _asyncfor = _for

    def _while(self, node: ast.While, guard: Guard | None) -> None:
        self.scope.may |= bound_in(node.body)
        self.expression(node.test, guard)
        self._loop(node, guard, Guard(guard, node.test, True, "", node.lineno, False))

    def _with(self, node: ast.With | ast.AsyncWith, guard: Guard | None) -> None:
        scope = self.scope
        for item in node.items:
            self.expression(item.context_expr, guard)
            if item.optional_vars is not None:
                self.target(item.optional_vars, guard)
        caught = suppresses(node)
        before, dead = set(scope.must), scope.dead
        self.caught += caught
        self.block(node.body, guard)
        self.caught -= caught
        if caught:
            scope.must, scope.dead = before, dead

    _asyncwith = _with

    def _try(self, node: ast.Try, guard: Guard | None) -> None:
        scope = self.scope
        may, must, dead = set(scope.may), set(scope.must), scope.dead
        caught = any(catches_missing(handler) for handler in node.handlers)
        inside = Guard(guard, None, True, "try", node.lineno, True) if node.handlers else guard
        self.caught += caught
        self.block(node.body, inside)
        self.caught -= caught
        self.block(node.orelse, inside)
        states = [(scope.may, scope.must, scope.dead)]
        tried = may | bound_in(node.body)
        for handler in node.handlers:
            scope.may, scope.must, scope.dead = set(tried), set(must), dead
            if handler.type is not None:
                self.expression(handler.type, guard)
            if handler.name:
                self.bind(handler.name, "assignment", handler.lineno, guard)
            failed = Guard(guard, None, False, "", node.lineno, False)
            self.block(handler.body, Guard(failed, handler.type, False, "except", handler.lineno, True))
            if handler.name:
                scope.may.discard(handler.name)
                scope.must.discard(handler.name)
            states.append((scope.may, scope.must, scope.dead))
        self.join(states)
        if node.finalbody:
            finished = (set(scope.may), set(scope.must), scope.dead)
            scope.may |= tried | finished[0]
            scope.dead = dead
            self.block(node.finalbody, guard)
            scope.dead = scope.dead or finished[2]

    _trystar = _try

    def _match(self, node: ast.Match, guard: Guard | None) -> None:
        self.expression(node.subject, guard)
        scope = self.scope
        before = (set(scope.may), set(scope.must), scope.dead)
        states = []
        complete = False
        for case in node.cases:
            scope.may, scope.must, scope.dead = set(before[0]), set(before[1]), before[2]
            self.pattern(case.pattern, guard)
            if case.guard is not None:
                self.expression(case.guard, guard)
            inside = Guard(guard, node.subject, True, "case", case.pattern.lineno, True)
            self.block(case.body, inside)
            states.append((scope.may, scope.must, scope.dead))
            wild = isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None
            complete = complete or (wild and case.guard is None)
        self.join(states if complete else [*states, before])


def _leaves(body: list[ast.stmt]) -> bool:
    """Whether a loop's body can leave the loop by `break`."""
    todo: list[ast.AST] = list(body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Break):
            return True
        if not isinstance(node, (*_Function, ast.ClassDef, ast.For, ast.AsyncFor, ast.While)):
            todo += [
                child
                for child in ast.iter_child_nodes(node)
                if isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case))
            ]
    return False
