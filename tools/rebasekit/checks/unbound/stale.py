"""Names imported by value from a module that gives them another value later: the importer keeps the old one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from rebasekit.checks.unbound.scopes import Reading
from rebasekit.checks.unbound.tree import World, absolute, module_name
from rebasekit.facts.syntax import dotted

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Rebinding(NamedTuple):
    """`module.name` is given another value by `file` at `line`."""

    module: str
    name: str
    file: str
    line: int


class Stale(NamedTuple):
    """`file` imports the name by value at `line`."""

    file: str
    line: int
    name: str
    rebinding: Rebinding


def rebindings(world: World, path: str) -> Iterator[Rebinding]:
    """What the code of a file rebinds when it runs: its own globals in functions, and other modules' attributes."""
    tree, reading = world.module(path), world.reading(path)
    if tree is None or reading is None:
        return
    own = module_name(path)
    for name, bindings in reading.module.bindings.items():
        later = [binding for binding in bindings if binding.how == "lazy"]
        # Without a value at import there is nothing that an importer could have kept, and it fails loudly.
        if later and len(later) < len(bindings):
            at_import = _called_at_import(tree)
            for function in _functions(tree):
                if function.name not in at_import and _rebinds(function, name):
                    yield Rebinding(own, name, path, later[0].line)
                    break
    stores = [(dotted(node.value) or _literal(node.value), node.attr, node.lineno) for node in reading.stores]
    if b"setattr(" in (world.data(path) or b""):
        stores += _setattrs(tree)
    modules = dict(_modules(world, path, reading)) if stores else {}
    if stores:
        modules |= _aliases(world, tree, modules)
    for module, name, line in stores:
        target = modules.get(module)
        if target is not None and _defines(world, target, name):
            yield Rebinding(target, name, path, line)


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS):
            yield node


def _rebinds(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> bool:
    return any(isinstance(node, ast.Global) and name in node.names for node in ast.walk(function))


def _called_at_import(tree: ast.Module) -> set[str]:
    """Functions that the module calls itself while it is imported: what they rebind is settled by then."""
    calls: set[str] = set()
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Call):
            calls.add(dotted(node.func))
        if not isinstance(node, (*_FUNCTIONS, ast.Lambda)):
            todo.extend(ast.iter_child_nodes(node))
    return calls


def _modules(world: World, path: str, reading: Reading) -> Iterator[tuple[str, str]]:
    """How the file calls modules of the tree, anywhere in it: written name to dotted module."""
    for node in reading.imports:
        base = absolute(path, node.module or "", node.level) if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            module = f"{base}.{alias.name}" if base else alias.name
            if world.path_of(module):
                yield alias.asname or alias.name, module


def _literal(node: ast.expr) -> str:
    """The module of `sys.modules["pkg.mod"]` and `import_module("pkg.mod")`, marked as one; else empty."""
    if isinstance(node, ast.Subscript) and dotted(node.value) == "sys.modules":
        name: ast.expr | None = node.slice
    elif isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] == "import_module" and node.args:
        name = node.args[0]
    else:
        return ""
    return f"={name.value}" if isinstance(name, ast.Constant) and isinstance(name.value, str) else ""


def _aliases(world: World, tree: ast.Module, modules: dict[str, str]) -> dict[str, str]:
    """Modules under the names of variables, and those that are named by a string."""
    found: dict[str, set[str]] = {}
    texts = [_literal(node) for node in ast.walk(tree) if isinstance(node, (ast.Subscript, ast.Call))]
    named = {text: text[1:] for text in texts if text and world.path_of(text[1:])}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            value = dotted(node.value) or _literal(node.value)
            found.setdefault(node.targets[0].id, set()).add(modules.get(value) or named.get(value, ""))
    alone = {name: values.pop() for name, values in found.items() if len(values) == 1}
    return named | {name: module for name, module in alone.items() if module and name not in modules}


def _setattrs(tree: ast.Module) -> Iterator[tuple[str, str, int]]:
    """`setattr(x, "f", …)`: what is written for the module, the name, the line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and dotted(node.func) == "setattr" and len(node.args) == 3:
            name = node.args[1]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                yield dotted(node.args[0]), name.value, node.lineno


def _defines(world: World, module: str, name: str) -> bool:
    path = world.path_of(module)
    reading = world.reading(path) if path else None
    return reading is not None and name in reading.module.bindings


def importers(world: World, rebinding: Rebinding) -> Iterator[Stale]:
    """Modules that import the name by value while they are imported, and read it later."""
    last = rebinding.module.rpartition(".")[2].encode()
    for path in world.holding(rebinding.name):
        data = world.data(path) or b""
        if path == rebinding.file or (last not in data and b"from ." not in data):
            continue
        yield from imported(world, path, rebinding)


def imported(world: World, path: str, rebinding: Rebinding) -> Iterator[Stale]:
    """The imports by value of one name in one file."""
    tree, reading = world.module(path), world.reading(path)
    if tree is None or reading is None:
        return
    for node in top_imports(tree):
        if absolute(path, node.module or "", node.level) != rebinding.module:
            continue
        for alias in node.names:
            local = alias.asname or alias.name
            later = any(
                load.name == local
                for scope in reading.scopes
                if scope.kind == "function"
                for load in scope.loads
                if not scope.owns(local)
            )
            if alias.name == rebinding.name and later:
                yield Stale(path, node.lineno, local, rebinding)


def top_imports(tree: ast.Module) -> Iterator[ast.ImportFrom]:
    """The `from … import` statements that run when the module is imported."""
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.ImportFrom):
            yield node
        elif isinstance(node, (ast.If, ast.Try, ast.TryStar, ast.With, ast.ExceptHandler)):
            todo.extend(ast.iter_child_nodes(node))
