"""Reading expressions: what a value may refer to, which calls happen, under which tests."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from rebasekit.facts.bindings import BindingReader
from rebasekit.facts.calls import DOTTED, LOADED, CallReader
from rebasekit.facts.records import Ref, refers

_LONGEST_CONSTANT = 160


class ExpressionReader(CallReader, BindingReader):
    """Reads one file's expressions into the current `ScopeWriter`."""

    def read(self, node: ast.expr | None) -> Ref:
        """Visit an expression and say what it refers to."""
        kind = node.__class__
        if kind is ast.Name:
            name: str = node.id  # type: ignore[union-attr]
            loads = self.scope.loads
            if name not in loads:
                loads[name] = node.lineno  # type: ignore[union-attr]
            return name
        if kind is ast.Constant:
            value = node.value  # type: ignore[union-attr]
            if value is None or value is True or value is False:
                return ("v", value)
            if value.__class__ is str:
                if len(value) > _LONGEST_CONSTANT:
                    return None
                if "." in value and DOTTED.match(value):
                    self.dotted += 1
                    self.scope.loads.setdefault("'" + value.replace(":", "."), node.lineno)  # type: ignore[union-attr]
                return ("v", value)
            return ("v", value) if value.__class__ is int or value.__class__ is float else None
        if kind is ast.Attribute:
            return self.attribute(node)  # type: ignore[arg-type]
        reader = _READERS.get(kind)
        if reader is not None:
            return reader(self, node)
        return None

    def attribute(self, node: ast.Attribute) -> Ref:
        base: ast.expr = node.value
        chain = node.attr
        while base.__class__ is ast.Attribute:
            chain = f"{base.attr}.{chain}"
            base = base.value
        loads = self.scope.loads
        if base.__class__ is ast.Name:
            dotted = f"{base.id}.{chain}"
            if dotted not in loads:
                loads[dotted] = node.lineno
            return dotted
        if base.__class__ is ast.Call and base.func.__class__ is ast.Name and base.func.id == "super":
            return self.parent(base, chain, node.lineno)
        below = self.read(base)
        dotted = "." + chain
        if dotted not in loads:
            loads[dotted] = node.lineno
        return ("a", below, chain) if below is not None else ("a", None, chain)

    def conditional(self, node: ast.IfExp) -> Ref:
        self.read(node.test)
        outer = self.guard
        self.guard = yes = self.test(outer, node.test, True)
        body = self.read(node.body)
        self.guard = no = self.test(outer, node.test, False)
        orelse = self.read(node.orelse)
        self.guard = outer
        return ("u", (body, yes, node.body.lineno), (orelse, no, node.orelse.lineno))

    def boolean(self, node: ast.BoolOp) -> Ref:
        outer = self.guard
        holds = isinstance(node.op, ast.And)
        options = []
        for value in node.values:
            options.append((self.read(value), self.guard, value.lineno))
            if value is not node.values[-1]:
                self.guard = self.test(self.guard, value, holds)
        self.guard = outer
        return ("u", *options)

    def display(self, node: Any) -> Ref:
        items = [(None, self.read(item), item.lineno) for item in node.elts]
        kept = [item for item in items if refers(item[1])]
        return ("d", *kept) if kept else None

    def dictionary(self, node: ast.Dict) -> Ref:
        kept = []
        for key, value in zip(node.keys, node.values, strict=True):
            name = self.read(key) if key is not None else None
            ref = self.read(value)
            if refers(ref):
                label = name[1] if isinstance(name, tuple) and name[0] == "v" else name
                # `**other` spreads another container: its elements are ours.
                kept.append(
                    (label if isinstance(label, str) else None, ("s", ref) if key is None else ref, value.lineno)
                )
        return ("d", *kept) if kept else None

    def subscript(self, node: ast.Subscript) -> Ref:
        base = self.read(node.value)
        if base == LOADED:
            self.aside(node.slice)  # asked for, not imported
        else:
            self.read(node.slice)
        return ("s", base) if base is not None else None

    def comprehension(self, node: Any) -> Ref:
        outer = self.guard
        for part in node.generators:
            self.bind(part.target, ("s", self.read(part.iter)))
            for condition in part.ifs:
                self.read(condition)
                self.guard = self.test(self.guard, condition, True)
        if node.__class__ is ast.DictComp:
            self.read(node.key)
            element, line = self.read(node.value), node.value.lineno
        else:
            element, line = self.read(node.elt), node.elt.lineno
        self.guard = outer
        return ("d", (None, element, line)) if refers(element) else None

    def named(self, node: ast.NamedExpr) -> Ref:
        value = self.read(node.value)
        self.bind(node.target, value)
        return value

    def function(self, node: ast.Lambda) -> Ref:
        """A lambda's body counts as run where the lambda stands: whoever gets it may call it."""
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            self.scope.bound.add(argument.arg)
        for default in (*node.args.defaults, *node.args.kw_defaults):
            self.read(default)
        return ("v", "lambda") if self.read(node.body) is None else None

    def inner(self, node: Any) -> Ref:
        return self.read(node.value)

    def operands(self, node: ast.AST) -> Ref:
        read = self.read
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                read(child)
        return None

    def binary(self, node: ast.BinOp) -> Ref:
        left, right = self.read(node.left), self.read(node.right)
        # `A + [B]` joins containers.
        items = [item for r in (left, right) if r.__class__ is tuple and r[0] == "d" for item in r[1:]]
        return ("d", *items) if items else None

    def unary(self, node: ast.UnaryOp) -> Ref:
        self.read(node.operand)
        return None

    def compare(self, node: ast.Compare) -> Ref:
        for side in (node.left, *node.comparators):
            self.aside(side)
        return None

    def aside(self, node: ast.expr) -> None:
        """Read an expression whose strings are compared or looked up: they name nothing that is imported."""
        kind = node.__class__
        if kind is ast.Tuple or kind is ast.List or kind is ast.Set:
            for item in node.elts:  # type: ignore[attr-defined]
                self.aside(item)
        elif kind is not ast.Constant:
            self.read(node)

    def formatted(self, node: ast.JoinedStr) -> Ref:
        for value in node.values:
            if value.__class__ is ast.FormattedValue:
                self.read(value.value)
        return None


_READERS: dict[type[Any], Callable[[ExpressionReader, Any], Ref]] = {
    ast.Call: ExpressionReader.call,
    ast.IfExp: ExpressionReader.conditional,
    ast.BoolOp: ExpressionReader.boolean,
    ast.List: ExpressionReader.display,
    ast.Tuple: ExpressionReader.display,
    ast.Set: ExpressionReader.display,
    ast.Dict: ExpressionReader.dictionary,
    ast.Subscript: ExpressionReader.subscript,
    ast.ListComp: ExpressionReader.comprehension,
    ast.SetComp: ExpressionReader.comprehension,
    ast.GeneratorExp: ExpressionReader.comprehension,
    ast.DictComp: ExpressionReader.comprehension,
    ast.NamedExpr: ExpressionReader.named,
    ast.Lambda: ExpressionReader.function,
    ast.Await: ExpressionReader.inner,
    ast.Starred: ExpressionReader.inner,
    ast.Yield: ExpressionReader.inner,
    ast.YieldFrom: ExpressionReader.inner,
    ast.BinOp: ExpressionReader.binary,
    ast.UnaryOp: ExpressionReader.unary,
    ast.Compare: ExpressionReader.compare,
    ast.JoinedStr: ExpressionReader.formatted,
    ast.Slice: ExpressionReader.operands,
}
