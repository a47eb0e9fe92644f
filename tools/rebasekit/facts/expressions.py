"""Reading expressions: what a value may refer to, which calls happen, under which tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

from rebasekit.facts.records import Ref, refers
from rebasekit.facts.writer import ScopeWriter

# Their results hold what their first argument holds, so a class passed through them is still that class.
_TRANSPARENT = frozenset({"tuple", "list", "set", "frozenset", "sorted", "reversed", "iter", "dict", "cast"})
# Calls that say nothing about who builds or calls what.
_QUIET = frozenset(
    [
        "len",
        "range",
        "print",
        "str",
        "int",
        "float",
        "min",
        "max",
        "sum",
        "abs",
        "round",
        "bool",
        "repr",
        "id",
        "any",
        "all",
        "isinstance",
        "issubclass",
        "hasattr",
        "enumerate",
        "zip",
        "hash",
        "ord",
        "chr",
        "format",
        "callable",
        "bytes",
        "divmod",
        "pow",
    ]
)
_LONGEST_CONSTANT = 160
# A string that may name a module, class or function: "pkg.mod.Class", "pkg.mod:function".
_DOTTED = re.compile(r"\.*[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?::\w+)?$")


class ExpressionReader:
    """Reads one file's expressions into the current `ScopeWriter`."""

    scope: ScopeWriter
    lines: list[bytes]
    guards: list[tuple[int, str, bool, int]]
    guard: int

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
                if "." in value and _DOTTED.match(value):
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

    def parent(self, node: ast.Call, chain: str, line: int) -> Ref:
        """`super().m` is the chain "super.m"; `super(X, self).m` is "super(X).m", which skips X's own methods."""
        start = node.args[0].id if node.args and isinstance(node.args[0], ast.Name) else None
        dotted = f"super({start}).{chain}" if start else f"super.{chain}"
        self.scope.loads.setdefault(dotted, line)
        return dotted

    def call(self, node: ast.Call) -> Ref:
        callee = self.read(node.func)
        if callee in _QUIET:
            return self._quiet(node)
        read = self.read
        args = tuple([read(arg) for arg in node.args]) if node.args else ()
        keywords = tuple([(k.arg, read(k.value), k.value.lineno) for k in node.keywords]) if node.keywords else ()
        if callee == "getattr" and len(args) > 1:
            return self._getattr(args)
        lines = tuple([arg.lineno for arg in node.args]) if node.args else ()
        if len(args) + len(keywords) > 1:
            self._module_and_name(node, (*args, *[k[1] for k in keywords]))
        self.scope.calls.append((node.lineno, self.guard, callee, args, keywords, lines, False))
        if callee in _TRANSPARENT and args:
            return args[-1] if callee == "cast" else args[0]
        return ("r", callee)

    def _module_and_name(self, node: ast.Call, refs: tuple[Ref, ...]) -> None:
        """`register("file", "pkg.mod", "Class")` names pkg.mod.Class, in two strings."""
        texts = [ref[1] for ref in refs if ref.__class__ is tuple and ref[0] == "v" and ref[1].__class__ is str]
        if len(texts) < 2:
            return
        modules = [text for text in texts if "." in text and _DOTTED.match(text)]
        for module in modules:
            for name in texts:
                if name.isidentifier():
                    self.scope.loads.setdefault(f"'{module}.{name}", node.lineno)

    def _quiet(self, node: ast.Call) -> Ref:
        for arg in node.args:
            self.read(arg)
        for keyword in node.keywords:
            self.read(keyword.value)
        return None

    def _getattr(self, args: tuple[Ref, ...]) -> Ref:
        base, name = args[0], args[1]
        if isinstance(name, tuple) and name[0] == "v" and isinstance(name[1], str) and name[1].isidentifier():
            chain = f"{base}.{name[1]}" if isinstance(base, str) else f".{name[1]}"
            self.scope.loads.setdefault(chain, 0)
            return chain if isinstance(base, str) else ("a", base, name[1])
        return None

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
        self.read(node.left)
        for other in node.comparators:
            self.read(other)
        return None

    def formatted(self, node: ast.JoinedStr) -> Ref:
        for value in node.values:
            if value.__class__ is ast.FormattedValue:
                self.read(value.value)
        return None

    def bind(self, target: ast.expr, value: Ref, annotation: str | None = None, text: str | None = None) -> None:
        """Record `target = value`."""
        kind = target.__class__
        if kind is ast.Name:
            name: str = target.id  # type: ignore[attr-defined]
            self.scope.bound.add(name)
            if self.scope.keeps_constants or refers(value):
                self.scope.assigns.append((target.lineno, self.guard, name, value, annotation, text))
        elif kind is ast.Attribute:
            loads = self.scope.loads
            chain = self.attribute_target(target)  # type: ignore[arg-type]
            self.scope.assigns.append((target.lineno, self.guard, chain, value, annotation, text))
            if isinstance(chain, str):
                root = chain.rpartition(".")[0]
                loads.setdefault(root, target.lineno)
        elif kind is ast.Subscript:
            base = self.read(target.value)  # type: ignore[attr-defined]
            self.read(target.slice)  # type: ignore[attr-defined]
            if base is not None and refers(value):
                self.scope.assigns.append((target.lineno, self.guard, ("s", base), value, None, None))
        elif kind is ast.Starred:
            self.bind(target.value, value)  # type: ignore[attr-defined]
        elif kind in (ast.Tuple, ast.List):
            self.bind_each(target.elts, value)  # type: ignore[attr-defined]

    def bind_each(self, targets: list[ast.expr], value: Ref) -> None:
        for target in targets:
            self.bind(target, ("s", value) if refers(value) else None)

    def attribute_target(self, node: ast.Attribute) -> Ref:
        base: ast.expr = node.value
        chain = node.attr
        while base.__class__ is ast.Attribute:
            chain = f"{base.attr}.{chain}"
            base = base.value
        if base.__class__ is ast.Name:
            return f"{base.id}.{chain}"
        return ("a", self.read(base), chain)


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
