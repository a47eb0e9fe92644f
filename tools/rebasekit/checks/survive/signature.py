"""Whether a call fits a definition."""

from __future__ import annotations

from dataclasses import dataclass

from rebasekit.checks.survive.members import rebuilt
from rebasekit.facts.query import Facts
from rebasekit.facts.scope import Scope

_DATACLASS = ("dataclass", "dataclasses.dataclass")
_FIELDS_BASE = frozenset({"NamedTuple", "typing.NamedTuple", "Struct", "msgspec.Struct"})


@dataclass(frozen=True)
class Shape:
    """A call's arguments: how many by position, which by name, and whether `*` or `**` adds more."""

    positional: int
    keywords: tuple[str, ...]
    star: bool = False
    spread: bool = False


@dataclass(frozen=True)
class Part:
    """One parameter. `default` is its source, None for a required one; `annotation` may be cut off."""

    name: str
    kind: str  # as in facts.records.Parameter
    default: str | None
    annotation: str | None = None

    @property
    def required(self) -> bool:
        return self.default is None and self.kind not in "vw"


@dataclass(frozen=True)
class Signature:
    """Parameters that a caller fills; `self` and `cls` are left out. `scope` is where annotations stand."""

    parts: tuple[Part, ...]
    scope: int
    is_async: bool = False

    def named(self, name: str) -> Part | None:
        return next((part for part in self.parts if part.name == name and part.kind in "pk"), None)

    @property
    def positional(self) -> list[Part]:
        return [part for part in self.parts if part.kind in "op"]

    def takes(self, kind: str) -> bool:
        return any(part.kind == kind for part in self.parts)

    def bind(self, call: Shape) -> dict[int | str, Part]:
        """Which parameter each argument arrives in; raise Misfit when the call does not fit."""
        bound: dict[int | str, Part] = {}
        positional = self.positional
        for number in range(call.positional):
            if number < len(positional):
                bound[number] = positional[number]
            elif not self.takes("v"):
                raise Misfit(_too_many(self, call))
        filled = {part.name for part in bound.values()}
        for name in call.keywords:
            part = self.named(name)
            if part is None and not self.takes("w"):
                raise Misfit(f"it has no parameter `{name}`")
            if part is not None and name in filled:
                raise Misfit(f"`{name}` is filled by position already")
            if part is not None:
                bound[name] = part
                filled.add(name)
        missing = [p for p in self.parts if p.required and p.name not in filled]
        if call.star:  # `*args` may fill what is positional
            missing = [p for p in missing if p.kind == "k"]
        if missing and not call.spread:
            names = ", ".join(f"`{part.name}`" for part in missing)
            raise Misfit(f"it requires {names}")
        return bound


class Misfit(Exception):
    """A call does not fit; the message says why."""


def _too_many(signature: Signature, call: Shape) -> str:
    keyword_only = [part.name for part in signature.parts if part.kind == "k"]
    count = len(signature.positional)
    if keyword_only and call.positional > count:
        return f"it takes {count} by position, `{keyword_only[0]}` by name only"
    return f"it takes {count} arguments by position, not {call.positional}"


def of_function(facts: Facts, function: int, bound: int) -> Signature:
    """A function's signature after its first `bound` positional parameters."""
    scope = facts.program.scope(function)
    parts = [Part(p.name, p.kind, p.default, p.annotation) for p in scope.parameters]
    first = [part for part in parts if part.kind in "op"][:bound]
    return Signature(tuple(part for part in parts if part not in first), function, "a" in scope.flags)


def bound_by(scope: Scope, on_class: bool) -> int:
    """How many parameters attribute access fills: `self` on an instance, `cls` on either, none for static methods."""
    if "staticmethod" in scope.decorators:
        return 0
    return 1 if not on_class or "classmethod" in scope.decorators else 0


def of_class(facts: Facts, class_id: int) -> list[Signature]:
    """What calling a class takes; empty when bases from outside the tree decide it."""
    if rebuilt(facts, class_id):
        return []
    functions = facts.method(class_id, "__init__")
    if functions:
        return [of_function(facts, function, 1) for function in functions]
    order = facts.hierarchy.order(class_id)
    fields: dict[str, Part] = {}
    known = False
    for owner in reversed(order):
        scope = facts.program.scope(owner)
        outside = facts.hierarchy.outside(owner)
        made = next((d for d in scope.decorators if d.partition("(")[0] in _DATACLASS), None)
        if made is None and not set(outside) & _FIELDS_BASE:
            continue
        known = True
        by_name = made is not None and "kw_only=True" in made
        for assign in facts.program.body(owner).assigns:
            if not isinstance(assign.target, str) or assign.annotation is None:
                continue
            if assign.annotation.startswith(("ClassVar", "typing.ClassVar")) or "init=False" in (assign.text or ""):
                continue
            kind = "k" if by_name or "kw_only=True" in (assign.text or "") else "p"
            fields[assign.target] = Part(assign.target, kind, _field_default(assign.text), assign.annotation)
    return [Signature(tuple(fields.values()), class_id)] if known else []


def _field_default(text: str | None) -> str | None:
    """`field(default=…)` has a default, `field()` and `field(metadata=…)` have none."""
    if text is None or not text.startswith(("field(", "dataclasses.field(")):
        return text
    for key in ("default_factory=", "default="):
        if key in text:
            return text
    return None
