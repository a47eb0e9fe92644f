"""Methods of ours that override one of upstream's: does the base still call them like this?"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from rebasekit.checks.survive.api import Api
from rebasekit.checks.survive.catalog import Catalog
from rebasekit.checks.survive.judge import GONE, SIGNATURE, Judge, Trouble
from rebasekit.checks.survive.signature import Signature, bound_by, of_function
from rebasekit.checks.survive.sites import Site


def overridden(catalog: Catalog, site: Site) -> list[int]:
    """The base-class methods that the method at a site overrides."""
    assert isinstance(site.node, (ast.FunctionDef, ast.AsyncFunctionDef))
    name = site.node.name
    owner = catalog.facts.program.scope(site.scope).parent
    index, _ = catalog.facts.program.locate(site.scope)
    class_id = catalog.facts.program.first[index] + owner
    if owner < 0 or not catalog.facts.is_class(class_id) or (name.startswith("__") and name.endswith("__")):
        return []
    found = catalog.facts.method(class_id, name, class_id)
    if not found:
        catalog.members.needs_read(class_id)
    return found


def override_troubles(judge: Judge, old: Site, new: Site | None) -> Iterator[Trouble]:
    """What the new base asks of our override that the old one did not."""
    before = overridden(judge.old, old)
    if not before:
        return
    base = _api(judge.old, before[0])
    after = overridden(judge.new, new) if new is not None else _found(judge.new, base)
    if not after:
        trouble = judge.missing(base) if judge.new.find(base) is None else None
        text = trouble.message if trouble else f"`{base.short}` is no base method any more"
        yield Trouble(trouble.kind if trouble else GONE, base.dotted, f"our override has no base method: {text}")
        return
    ours_old = _signature(judge.old, old.scope)
    ours_new = _signature(judge.new, new.scope) if new is not None else ours_old
    known = set(misfits(ours_old, _signature(judge.old, before[0])))
    fresh = [text for text in misfits(ours_new, _signature(judge.new, after[0])) if text not in known]
    if fresh:
        text = f"`{_api(judge.new, after[0]).short}`, which our method overrides, changed in {judge.tag}"
        yield Trouble(SIGNATURE, base.dotted, f"{text}: {'; '.join(fresh)}")


def _signature(catalog: Catalog, function: int) -> Signature:
    return of_function(catalog.facts, function, bound_by(catalog.facts.program.scope(function), on_class=False))


def _api(catalog: Catalog, function: int) -> Api:
    owner = catalog.facts.program.enclosing_class(function)
    assert owner is not None
    return catalog.members.api(owner, catalog.facts.program.scope(function).short)


def _found(catalog: Catalog, api: Api) -> list[int]:
    found = catalog.find(api)
    return list(found.scopes) if found is not None else []


def misfits(ours: Signature, base: Signature) -> Iterator[str]:
    """Calls that the base's signature allows and ours does not take."""
    if base.is_async != ours.is_async:
        yield f"it is {'' if base.is_async else 'not '}async"
    if not ours.takes("v"):
        for number, part in enumerate(base.positional):
            if number >= len(ours.positional) and not ours.named(part.name):
                yield f"it has `{part.name}`, which ours does not take"
    if not ours.takes("w"):
        for part in base.parts:
            if part.kind == "k" and not ours.named(part.name):
                yield f"it has `{part.name}`, which ours does not take"
    names = {part.name for part in base.parts}
    spare = len(base.positional)
    for number, part in enumerate(ours.parts):
        by_position = part.kind in "op" and number < spare
        if part.required and part.name not in names and not by_position and not base.takes("v") and not base.takes("w"):
            yield f"it has no `{part.name}`, which ours requires"
