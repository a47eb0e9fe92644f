"""Reading what is assigned to: names, attributes, elements, and the targets of unpacking."""

from __future__ import annotations

import ast

from rebasekit.facts.reading import Reading
from rebasekit.facts.records import Ref, refers


class BindingReader(Reading):
    """Records assignments in the current scope."""

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
