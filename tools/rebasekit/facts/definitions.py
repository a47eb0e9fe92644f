"""Reading definitions: classes, functions, their parameters and decorators, and imports."""

from __future__ import annotations

import ast
import hashlib
from typing import Any

from rebasekit.facts.expressions import ExpressionReader
from rebasekit.facts.packed import DIGEST
from rebasekit.facts.records import CLASS, FUNCTION, refers
from rebasekit.facts.writer import ScopeWriter


class DefinitionReader(ExpressionReader):
    """Opens a scope for each definition; `scopes` holds all of the file in source order."""

    scopes: list[ScopeWriter]
    source: memoryview  # of the file's UTF-8 text
    starts: list[int]  # of its lines, and where one more would start

    def block(self, body: list[ast.stmt]) -> None:
        """Read statements in order."""
        raise NotImplementedError

    def open(self, kind: str, name: str, guard: int, span: tuple[int, int]) -> ScopeWriter:
        index = len(self.scopes)
        parent = self.scope if index else None
        qualified = f"{parent.name}.{name}" if parent is not None and parent.name else name
        scope = ScopeWriter(kind, qualified, parent.index if parent is not None else -1, index, guard, span)
        text = self.source[self.starts[span[0] - 1] : self.starts[span[1]] - 1]
        scope.digest = hashlib.blake2b(text, digest_size=DIGEST).digest()
        self.scopes.append(scope)
        return scope

    def import_(self, node: ast.Import) -> None:
        for name in node.names:
            if name.asname:
                self._import(name.asname, name.name, None, 0, node.lineno)
            else:
                self._import(name.name.partition(".")[0], name.name, None, 0, node.lineno)

    def import_from(self, node: ast.ImportFrom) -> None:
        for name in node.names:
            self._import(name.asname or name.name, node.module or "", name.name, node.level, node.lineno)

    def _import(self, alias: str, module: str, name: str | None, level: int, line: int) -> None:
        self.scope.imports.append((alias, module, name, level, line, self.guard))
        if alias != "*":
            self.scope.bound.add(alias)

    def define(self, node: Any) -> None:
        for decorator in node.decorator_list:
            callee = self.read(decorator)
            self.scope.calls.append((decorator.lineno, self.guard, callee, (node.name,), (), (node.lineno,), True))
            self.scope.decorates = True
        self.scope.bound.add(node.name)
        self.scope.defined.add(node.name)
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        outer_scope, outer_guard = self.scope, self.guard
        is_class = node.__class__ is ast.ClassDef
        if is_class:
            bases = tuple([self.read(base) for base in node.bases])
            keywords = tuple([(k.arg, self.read(k.value), k.value.lineno) for k in node.keywords])
        else:
            parameters = self.parameters(node.args)
        inner = self.open(CLASS if is_class else FUNCTION, node.name, self.guard, (first, node.end_lineno or first))
        inner.line = node.lineno
        inner.decorators = tuple([self.text(d, 200) for d in node.decorator_list])
        if is_class:
            inner.bases = bases
            if keywords:
                outer_scope.calls.append(
                    (node.lineno, self.guard, f"{node.name}.__init_subclass__", (), keywords, (), False)
                )
        else:
            inner.parameters = parameters
            inner.flags = "a" if node.__class__ is ast.AsyncFunctionDef else ""
            inner.flags += "d" if any(refers(p[4]) for p in parameters if p[3] is not None) else ""
            inner.result = self.text(node.returns, 200) if node.returns is not None else None
            inner.bound.update([p[0] for p in parameters])
        self.scope, self.guard = inner, 0
        self.block(node.body)
        if not is_class and not inner.loose and leaves(node.body):
            inner.flags += "r"
        self.scope, self.guard = outer_scope, outer_guard

    def parameters(self, args: ast.arguments) -> tuple[Any, ...]:
        positional = [*args.posonlyargs, *args.args]
        defaults: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
        kinds = ["o"] * len(args.posonlyargs) + ["p"] * len(args.args)
        found = [self.parameter(a, k, d) for a, k, d in zip(positional, kinds, defaults, strict=True)]
        if args.vararg is not None:
            found.append(self.parameter(args.vararg, "v", None))
        found.extend(self.parameter(a, "k", d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True))
        if args.kwarg is not None:
            found.append(self.parameter(args.kwarg, "w", None))
        return tuple(found)

    def parameter(self, arg: ast.arg, kind: str, default: ast.expr | None) -> tuple[Any, ...]:
        annotation = self.text(arg.annotation, 200) if arg.annotation is not None else None
        if default is None:
            return (arg.arg, kind, annotation, None, None, arg.lineno)
        ref = self.read(default)
        return (arg.arg, kind, annotation, self.text(default, 200), ref, default.lineno)


def leaves(body: list[ast.stmt]) -> bool:
    """Whether control never falls out of the end of this block."""
    last = body[-1]
    kind = last.__class__
    if kind in (ast.Return, ast.Raise, ast.Continue, ast.Break):
        return True
    if isinstance(last, ast.If):
        return bool(last.orelse) and leaves(last.body) and leaves(last.orelse)
    if isinstance(last, (ast.With, ast.AsyncWith)):
        return leaves(last.body)
    return False
