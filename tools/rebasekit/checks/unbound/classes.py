"""Classes by syntax: the attributes that they give to their instances, and whether that can be all."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from rebasekit.checks.unbound.inside import bound_in
from rebasekit.facts.syntax import dotted

Function = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# Decorators and keywords that add no attributes which are not in the text.
_PLAIN = {"dataclass", "final", "total_ordering", "runtime_checkable", "unique", "deprecated"}
_OPEN = {"__getattr__", "__getattribute__", "__dict__"}
_DATACLASS = {"__dataclass_fields__", "__dataclass_params__", "__match_args__"}
_OF_TYPE = frozenset(dir(type))  # what a class itself has beside its own names
ALWAYS = frozenset(dir(object)) | {"__dict__", "__module__", "__weakref__", "__annotations__", "__slots__", "__name__"}


@dataclass(frozen=True)
class Read:
    """`self.name`, or `cls.name`, in the method `method` of a class."""

    name: str
    line: int
    method: str
    me: str = "self"  # the first parameter, as the method calls it


@dataclass
class Class:
    """One class; its text is read when something about it is asked for."""

    name: str
    node: ast.ClassDef

    @cached_property
    def text(self) -> Text:
        return _text(self.node, self.name)


@dataclass
class Text:
    """What a class's text gives and reads. `open` when instances may have attributes that it does not show."""

    name: str
    given: set[str]
    reads: list[Read] = field(default_factory=list)
    open: bool = False


def classes(tree: ast.Module) -> Iterator[tuple[str, ast.ClassDef]]:
    """The classes of a module, nested ones by their qualified names; those inside functions are left out."""
    todo: list[tuple[str, ast.AST]] = [("", node) for node in tree.body]
    while todo:
        prefix, node = todo.pop()
        if isinstance(node, ast.ClassDef):
            yield prefix + node.name, node
            todo += [(f"{prefix}{node.name}.", child) for child in node.body]
        elif isinstance(node, (ast.If, ast.Try, ast.TryStar, ast.With, ast.ExceptHandler)):
            todo += [(prefix, child) for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr)]


def _text(node: ast.ClassDef, name: str) -> Text:
    annotated = (item.target for item in node.body if isinstance(item, ast.AnnAssign))
    found = Text(name, bound_in(node.body) | {target.id for target in annotated if isinstance(target, ast.Name)})
    calls = [item.func if isinstance(item, ast.Call) else item for item in node.decorator_list]
    metas = [dotted(keyword.value).rpartition(".")[2] for keyword in node.keywords]
    found.open = any(dotted(call).rpartition(".")[2] not in _PLAIN for call in calls)
    found.open = found.open or any(meta != "ABCMeta" for meta in metas)
    if any(dotted(call).rpartition(".")[2] == "dataclass" for call in calls):
        found.given |= _DATACLASS
    for item in node.body:
        if isinstance(item, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__slots__" for t in item.targets):
            found.given |= {
                c.value for c in ast.walk(item.value) if isinstance(c, ast.Constant) and isinstance(c.value, str)
            }
    for method in _methods(node.body):
        _method(found, method, node.name)
    found.open = found.open or bool(found.given & _OPEN)
    return found


def _methods(body: list[ast.stmt]) -> Iterator[Function]:
    """Methods, those under `if` and `try` included."""
    for node in body:
        if isinstance(node, FUNCTIONS):
            yield node
        elif not isinstance(node, ast.ClassDef):
            for name in ("body", "orelse", "finalbody"):
                yield from _methods(getattr(node, name, []))


def _method(found: Text, method: Function, owner: str) -> None:
    """What a method stores on and reads from its first parameter."""
    arguments = [*method.args.posonlyargs, *method.args.args]
    decorators = {dotted(item).rpartition(".")[2] for item in method.decorator_list}
    if not arguments or "staticmethod" in decorators:
        return
    me, on_class = arguments[0].arg, "classmethod" in decorators
    reads: list[Read] = []
    asked: set[str] = set()
    first: set[int] = set()  # targets of `self.x += 1`: it reads first, so it never gives `x` its first value
    for node in ast.walk(method):
        if isinstance(node, ast.AugAssign):
            first.add(id(node.target))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == me:
            if isinstance(node.ctx, ast.Store) and id(node) not in first:
                found.given.add(node.attr)
            elif node.attr == "__dict__":
                found.open = True
            elif method.name != "__new__" and not (on_class and node.attr in _OF_TYPE):
                reads.append(Read(node.attr, node.lineno, f"{found.name}.{method.name}", me))
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and dotted(node.value) == owner:
            found.given.add(node.attr)
        elif isinstance(node, ast.Call):
            _call(found, node, me, asked)
        elif isinstance(node, ast.Try) and any(_catches(handler) for handler in node.handlers):
            asked |= {item.attr for part in node.body for item in ast.walk(part) if isinstance(item, ast.Attribute)}
    found.reads += [read for read in reads if read.name not in asked]


def _call(found: Text, node: ast.Call, me: str, asked: set[str]) -> None:
    """`setattr`, `vars` and `hasattr` on the instance."""
    name = dotted(node.func).rpartition(".")[2]
    if not node.args or dotted(node.args[0]) != me:
        if name == "vars" and not node.args:
            found.open = True
        return
    text = node.args[1].value if len(node.args) > 1 and isinstance(node.args[1], ast.Constant) else None
    if name in ("setattr", "__setattr__"):
        if isinstance(text, str):
            found.given.add(text)
        else:
            found.open = True
    elif name in ("hasattr", "getattr") and isinstance(text, str):
        asked.add(text)
    elif name == "vars":
        found.open = True


def _catches(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or dotted(kind) in ("AttributeError", "Exception", "BaseException") for kind in kinds)


def builtin(name: str) -> set[str] | None:
    """The attributes of a class of `builtins`; None when there is no such class."""
    found = getattr(builtins, name, None)
    return set(dir(found)) if isinstance(found, type) else None
