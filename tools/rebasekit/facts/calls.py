"""Reading calls: who is called with what, and the calls that mean something else (`super()`, `getattr`, `cast`)."""

from __future__ import annotations

import ast
import re

from rebasekit.facts.reading import Reading
from rebasekit.facts.records import TRANSPARENT, Ref

# Calls that say nothing about who builds or calls what.
_QUIET = frozenset(
    {
        *("len", "range", "print", "str", "int", "float", "min", "max", "sum", "abs", "round", "bool", "repr", "id"),
        *("any", "all", "isinstance", "issubclass", "hasattr", "enumerate", "zip", "hash", "ord", "chr", "format"),
        *("callable", "bytes", "divmod", "pow"),
    }
)
# Asking whether a module is there, or for its log, imports nothing.
LOADED = "sys.modules"
_ASKS = frozenset({"getLogger", "find_spec"})
# A string that may name a module, class or function: "pkg.mod.Class", "pkg.mod:function".
DOTTED = re.compile(r"\.*[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?::\w+)?$")


class CallReader(Reading):
    """Records calls in the current scope."""

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
        if callee.__class__ is str and (callee.rpartition(".")[2] in _ASKS or callee.startswith(LOADED)):
            return self._asked(node, callee)
        read, dotted = self.read, self.dotted
        args = tuple([read(arg) if arg.__class__ is not ast.Starred else self._spread(arg) for arg in node.args])
        keywords = tuple([(k.arg, read(k.value), k.value.lineno) for k in node.keywords]) if node.keywords else ()
        if callee == "getattr" and len(args) > 1:
            return self._getattr(args)
        lines: tuple[int, ...] = ()  # of arguments that do not all stand on the call's line
        if args and node.end_lineno != node.lineno:
            lines = tuple([arg.lineno for arg in node.args])
            if lines.count(node.lineno) == len(lines):
                lines = ()
        if self.dotted != dotted and len(args) + len(keywords) > 1:
            self._module_and_name(node, (*args, *[k[1] for k in keywords]))
        self.scope.calls.append((node.lineno, self.guard, callee, args, keywords, lines, False))
        if callee in TRANSPARENT and args:
            return args[-1] if callee == "cast" else args[0]
        return ("r", callee)

    def _module_and_name(self, node: ast.Call, refs: tuple[Ref, ...]) -> None:
        """`register("file", "pkg.mod", "Class")` names pkg.mod.Class, in two strings."""
        texts = [ref[1] for ref in refs if ref.__class__ is tuple and ref[0] == "v" and ref[1].__class__ is str]
        modules = [text for text in texts if "." in text and DOTTED.match(text)]
        for module in modules:
            for name in texts:
                if name.isidentifier():
                    self.scope.loads.setdefault(f"'{module}.{name}", node.lineno)

    def _spread(self, node: ast.Starred) -> Ref:
        """`*values`: an element of it, marked, for nobody knows how many there are."""
        return ("s", self.read(node.value), "*")

    def _quiet(self, node: ast.Call) -> Ref:
        for arg in node.args:
            self.read(arg)
        for keyword in node.keywords:
            self.read(keyword.value)
        return None

    def _asked(self, node: ast.Call, callee: str) -> Ref:
        for arg in (*node.args, *[keyword.value for keyword in node.keywords]):
            self.aside(arg)
        return ("r", callee)

    def _getattr(self, args: tuple[Ref, ...]) -> Ref:
        base, name = args[0], args[1]
        if isinstance(name, tuple) and name[0] == "v" and isinstance(name[1], str) and name[1].isidentifier():
            chain = f"{base}.{name[1]}" if isinstance(base, str) else f".{name[1]}"
            self.scope.loads.setdefault(chain, 0)
            return chain if isinstance(base, str) else ("a", base, name[1])
        return None
