"""Star imports, resolved through the tree."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from rebasekit.checks.unbound.scopes import Reading
from rebasekit.checks.unbound.tree import World, absolute


class Unknown(Exception):
    """What a star import brings cannot be known; `path` is a file of the tree that could not be read, or ""."""

    def __init__(self, path: str = "") -> None:
        super().__init__(path)
        self.path = path


def starred(world: World, path: str, reading: Reading) -> set[str]:
    """All names that the star imports of a file bring; raise Unknown when one of them leaves the tree."""
    names: set[str] = set()
    for star in reading.stars:
        names |= _exports(world, absolute(path, star.module, star.level), {path})
    return names


def _exports(world: World, module: str, seen: set[str]) -> set[str]:
    path = world.path_of(module)
    if path is None:
        raise Unknown
    if path in seen:
        return set()
    seen = seen | {path}
    tree, reading = world.module(path), world.reading(path)
    if tree is None or reading is None:
        raise Unknown(path)
    if reading.dynamic:
        raise Unknown
    listed = _all(tree)
    if listed is not None:
        return listed
    public = {name for name in (*reading.module.bindings, *reading.module.typing) if not name.startswith("_")}
    for star in reading.stars:
        public |= _exports(world, absolute(path, star.module, star.level), seen)
    return public


def _all(tree: ast.Module) -> set[str] | None:
    """The names in `__all__`; None when there is none, Unknown when it is computed."""
    found: set[str] | None = None
    for node in ast.walk(tree):
        targets: Iterable[ast.expr] = ()
        value: ast.expr | None = None
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            targets, value = (node.target,), node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) == 1:
            targets, value = (node.func.value,), node.args[0]
            if node.func.attr == "append":
                value = ast.List([value], ast.Load())
        if value is None or not any(isinstance(t, ast.Name) and t.id == "__all__" for t in targets):
            continue
        if not isinstance(value, (ast.List, ast.Tuple)):
            raise Unknown
        names = [item.value for item in value.elts if isinstance(item, ast.Constant) and isinstance(item.value, str)]
        if len(names) != len(value.elts):
            raise Unknown
        found = (found or set()) | set(names)
    return found
