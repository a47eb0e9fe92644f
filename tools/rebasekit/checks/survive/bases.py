"""Classes of ours: what their bases have them define."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from rebasekit.checks.survive.catalog import Catalog
from rebasekit.checks.survive.judge import SIGNATURE, Judge, Trouble
from rebasekit.checks.survive.sites import Site

_ABSTRACT = ("abstractmethod", "abstractproperty")


def base_troubles(judge: Judge, old: Site, new: Site | None) -> Iterator[Trouble]:
    """Abstract methods that a base gained and our class, which could be built, does not define."""
    assert isinstance(old.node, ast.ClassDef)
    if new is None or open_methods(judge.old, old.scope):
        return
    for name, owner in open_methods(judge.new, new.scope).items():
        base = judge.new.members.api(owner, name)
        text = f"our class `{old.node.name}` has to define `{base.short}` in {judge.tag}, or it cannot be built"
        yield Trouble(SIGNATURE, base.dotted, text)


def open_methods(catalog: Catalog, class_id: int) -> dict[str, int]:
    """Abstract methods that nothing nearer to the class defines, with the classes that ask for them."""
    facts, found, given = catalog.facts, dict[str, int](), set[str]()
    for owner in facts.hierarchy.order(class_id):
        index, local = facts.program.locate(owner)
        file = facts.program.file(index)
        for name, children in file.children.get(local, {}).items():
            decorators = {text.rpartition(".")[2] for child in children for text in file.heads[child][9]}
            if name not in given and decorators & set(_ABSTRACT):
                found[name] = owner
        given |= catalog.members.names_of(owner)
    return found
