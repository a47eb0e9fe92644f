"""What a site uses in one tree."""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass

from rebasekit.checks.survive.api import Api, Found
from rebasekit.checks.survive.catalog import Catalog
from rebasekit.checks.survive.hints import replaced
from rebasekit.checks.survive.refs import to_ref
from rebasekit.checks.survive.signature import Shape
from rebasekit.checks.survive.sites import Site, dotted_string
from rebasekit.facts.records import Ref
from rebasekit.facts.resolve import Entity


@dataclass(frozen=True)
class Meaning:
    """The API at a site.

    `found` is None for a member that no class in `classes` has, and for a name that leads nowhere. `known` is False
    when the receiver's class is not known: nothing can be said then.
    """

    api: Api | None
    found: Found | None = None
    classes: tuple[int, ...] = ()
    known: bool = True
    on_class: bool = False  # reached through the class itself, not an instance
    bound: bool = True  # False: an import statement names it, so its place matters and not only its existence


UNKNOWN = Meaning(None, known=False)
NOTHING = Meaning(None)  # not upstream's: a builtin, another package, a local


def meaning(catalog: Catalog, site: Site) -> Meaning:
    """Resolve a site; raise NotRead when a file that it needs could not be read."""
    node = site.node
    if isinstance(node, ast.alias):
        return _imported(catalog, site, node)
    if isinstance(node, ast.Name):
        return _name(catalog, site.scope, node.id) if isinstance(node.ctx, ast.Load) else NOTHING
    if isinstance(node, ast.Attribute):
        return _attribute(catalog, site, node.value, node.attr)
    if isinstance(node, ast.Call):
        return _callee(catalog, site, node)
    if name := dotted_string(node):
        return _string(catalog, name)
    return NOTHING


def _string(catalog: Catalog, name: str) -> Meaning:
    """A string that names something of the tree; nothing is known of one that names nothing."""
    api = catalog.parse_dotted(name)
    found = catalog.find(api) if api is not None else None
    return Meaning(api, found, bound=False) if found is not None else NOTHING


def _imported(catalog: Catalog, site: Site, alias: ast.alias) -> Meaning:
    file = catalog.facts.program.file_of(site.scope)
    statement = site.imported
    if isinstance(statement, ast.Import):
        return _place(catalog, Api(alias.name))
    assert statement is not None
    raw = ("", statement.module or "", alias.name, statement.level, 0, 0)
    module = catalog.facts.resolver.sources(file, raw)[0].name
    return _place(catalog, Api(module) if alias.name == "*" else Api(module, "", alias.name))


def _place(catalog: Catalog, api: Api) -> Meaning:
    """An import: of this tree only if its first package is."""
    found = catalog.find(api)
    top = api.module.partition(".")[0]
    if found is None and top not in catalog.facts.program.packages and top not in catalog.facts.program.modules:
        return NOTHING
    return Meaning(api, found, bound=False)


def _name(catalog: Catalog, scope: int, name: str) -> Meaning:
    found = catalog.name(scope, name)
    return NOTHING if found is None else Meaning(found.api, found)


def _attribute(catalog: Catalog, site: Site, base: ast.expr, name: str) -> Meaning:
    ref, scope = to_ref(base), site.scope
    if isinstance(ref, str):
        if ref == "super" or ref.startswith("super."):
            return _super(catalog, scope, name) if ref == "super" else UNKNOWN
        whole = catalog.name(scope, f"{ref}.{name}")
        if whole is not None:
            return Meaning(whole.api, whole, on_class=True)
        outer = catalog.name(scope, ref)
        if outer is not None and outer.kind == "module":
            return Meaning(Api(outer.api.dotted, "", name))
        if outer is not None and outer.kind == "class":
            return _member(catalog, outer.scopes, name, on_class=True)
        if _foreign(catalog, scope, ref):
            return NOTHING
    classes = catalog.receivers.classes(scope, ref) or _hinted(catalog, site, ref)
    return _member(catalog, classes, name) if classes else UNKNOWN


def _hinted(catalog: Catalog, site: Site, ref: Ref, depth: int = 3) -> tuple[int, ...]:
    """Classes of an object by what the function's text says of its name."""
    found: list[int] = []
    for other in replaced(ref, site.hints) if depth else ():
        found += catalog.receivers.classes(site.scope, other) or _hinted(catalog, site, other, depth - 1)
    return tuple(dict.fromkeys(found))


def _member(catalog: Catalog, classes: tuple[int, ...], name: str, on_class: bool = False) -> Meaning:
    for class_id in classes:
        found = catalog.members.member(class_id, name)
        if found is not None:
            return Meaning(found.api, found, classes, on_class=on_class)
    return Meaning(catalog.members.api(classes[0], name), None, classes, on_class=on_class)


def _super(catalog: Catalog, scope: int, name: str) -> Meaning:
    receiver = catalog.facts.types.receiver(scope)
    if receiver is None:
        return UNKNOWN
    for owner in catalog.facts.hierarchy.order(receiver[1])[1:]:
        found = catalog.members.own(owner, name)
        if found is not None:
            return Meaning(found.api, found, (owner,))
    return UNKNOWN


def _foreign(catalog: Catalog, scope: int, chain: str, depth: int = 3) -> bool:
    """Whether a chain starts in another package (`torch.cuda`), at a builtin, or at what a call of those gave."""
    root = chain.partition(".")[0]
    found = catalog.facts.resolver.name(scope, root)
    return bool(found) and all(
        entity.kind == "external" or (depth > 0 and _made_elsewhere(catalog, entity, depth - 1)) for entity in found
    )


def _made_elsewhere(catalog: Catalog, entity: Entity, depth: int) -> bool:
    """Whether a local variable only ever holds what calls into other packages give."""
    if entity.kind != "local" or any(
        p.name == entity.name for p in catalog.facts.program.scope(entity.scope).parameters
    ):
        return False
    values = [a.value for a in catalog.facts.program.body(entity.scope).assigns if a.target == entity.name]
    return bool(values) and all(
        isinstance(v, tuple)
        and v[0] == "r"
        and isinstance(v[1], str)
        and not hasattr(builtins, v[1].partition(".")[0])  # `next(…)`, `getattr(…)` pass on what they are given
        and _foreign(catalog, entity.scope, v[1], depth)
        for v in values
    )


def _callee(catalog: Catalog, site: Site, node: ast.Call) -> Meaning:
    function = node.func
    if isinstance(function, ast.Name):
        if by_name(node):
            return _getattr(catalog, site, node)
        return _name(catalog, site.scope, function.id)
    if isinstance(function, ast.Attribute):
        return _attribute(catalog, site, function.value, function.attr)
    return NOTHING


def by_name(node: ast.AST) -> bool:
    """Whether this is `getattr(x, "name", default)` or `hasattr(x, "name")`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or len(node.args) < 2:
        return False
    return node.func.id in ("getattr", "hasattr")


def _getattr(catalog: Catalog, site: Site, node: ast.Call) -> Meaning:
    """Asking by name hides that the name is gone, so it counts as a use."""
    name = node.args[1]
    if isinstance(name, ast.Constant) and isinstance(name.value, str):
        found = _attribute(catalog, site, node.args[0], name.value)
        return found if found.known else NOTHING
    return NOTHING


def shape(node: ast.Call) -> Shape:
    """A call's arguments."""
    return Shape(
        sum(not isinstance(arg, ast.Starred) for arg in node.args),
        tuple(k.arg for k in node.keywords if k.arg is not None),
        any(isinstance(arg, ast.Starred) for arg in node.args),
        any(k.arg is None for k in node.keywords),
    )
