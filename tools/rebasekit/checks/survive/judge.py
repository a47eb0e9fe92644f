"""One use, compared between two trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from rebasekit.checks.survive.api import Api, Found
from rebasekit.checks.survive.catalog import Catalog
from rebasekit.checks.survive.choices import accepted, global_text, keys, literal
from rebasekit.checks.survive.meaning import Meaning, shape
from rebasekit.checks.survive.moves import Moves
from rebasekit.checks.survive.signature import Misfit, Part, Shape, Signature

_PLAIN = frozenset({"ABC", "abc.ABC", "Protocol", "Generic", "object", "typing.Protocol", "typing.Generic"})
GONE, MOVED, SIGNATURE, VALUE = "api-gone", "api-moved", "signature-changed", "value-renamed"


@dataclass(frozen=True)
class Trouble:
    """What is wrong with one use. `api` tells equal troubles of one hunk apart from others."""

    kind: str
    api: str
    message: str


class Judge:
    """Compares uses; `tag` is what the new tree is called in messages."""

    def __init__(self, old: Catalog, new: Catalog, tag: str) -> None:
        self.old, self.new, self.tag = old, new, tag
        self.moves = Moves(old, new)

    def existence(self, old: Meaning, new: Meaning | None) -> tuple[Found | None, Trouble | None]:
        """What the use finds in the new tree, or why it finds nothing; neither when that cannot be told."""
        api = old.api
        assert api is not None and old.found is not None
        if new is not None and new.found is not None:
            return new.found, None
        # In the new context the receiver may be of another class, which is the one that counts.
        if new is not None and api.owner and new.api is not None and new.classes and not self._same(api, new.api):
            there = self.new.find(new.api)
            if there is not None or self._below(new.classes, api.name):
                return there, None
            moved = self.moves.find(new.api) if self.old.find(new.api) else None
            where = f" (`{moved.to}` now)" if moved else ""
            text = f"its object is a `{new.api.owner}` now, which has no `{api.name}`{where}"
            return None, Trouble(GONE, api.dotted, f"`{api.short}`: {text}")
        found = self.new.find(api)
        if found is not None or self._opaque(api):
            return found, None
        return None, self.missing(api)

    def _below(self, classes: tuple[int, ...], name: str) -> bool:
        """Whether a subclass has the member: the object may be one."""
        members, facts = self.new.members, self.new.facts
        return any(
            members.opaque(c) or any(members.own(below, name) for below in facts.hierarchy.subclasses(c))
            for c in classes
        )

    def _same(self, one: Api, other: Api) -> bool:
        return (one.module, one.owner) == (other.module, other.owner)

    def _opaque(self, api: Api) -> bool:
        """Whether the new class may have the member from where facts do not look."""
        new, old = self.new.owner_class(api), self.old.owner_class(api)
        if new is None or old is None:
            return False
        outside = self.new.facts.hierarchy.external(new) - self.old.facts.hierarchy.external(old) - _PLAIN
        return self.new.members.opaque(new) or bool(outside)

    def missing(self, api: Api) -> Trouble:
        """The API is not where it was."""
        move = self.moves.find(api)
        if move is not None and not move.guess:
            through = f" (`{move.through}`)" if move.through else ""
            return Trouble(MOVED, api.dotted, f"`{api.short}` is `{move.to}`{through} in {self.tag}")
        hint = f"; the closest new name is `{move.to}`" if move is not None else ""
        holder = self.old.owner_class(api)
        if holder is not None and self.old.facts.hierarchy.is_enum(holder) and self.new.owner_class(api) is not None:
            return self._enum(api, holder, hint)
        if not move and not api.owner and api.name and (twin := self.moves.twin(api)):
            hint = f"; `{twin}` was there before and still is"
        if api.owner and self.new.owner_class(api) is None:
            hint = f", nor is its class `{api.owner}`{hint}"
        return Trouble(GONE, api.dotted, f"`{api.short}` is not in {self.tag}{hint}")

    def _enum(self, api: Api, holder: int, hint: str) -> Trouble:
        """A member of an enumeration: perhaps the same value under a new name."""
        text = self.old.members.constant(holder, api.name)
        owner = self.new.owner_class(api)
        assert owner is not None
        same = [
            name
            for name in sorted(self.new.members.names(owner))
            if text and "auto()" not in text and self.new.members.constant(owner, name) == text
        ]
        hint = f"; its value {text} is `{same[0]}` now" if same else hint
        return Trouble(VALUE, api.dotted, f"`{api.short}` is no member in {self.tag}{hint}")

    def changes(self, old: Meaning, new: Found, node: ast.AST | None, called: bool) -> Iterator[Trouble]:
        """The API is there: is it still the same kind of thing, with the same value?"""
        was, api = old.found, old.api
        assert was is not None and api is not None
        kinds = {was.kind, new.kind}
        if "method" in kinds and kinds & {"property", "attribute"} and (called or was.kind != "method"):
            was_kind, kind = (f"{'an' if k == 'attribute' else 'a'} {k}" for k in (was.kind, new.kind))
            yield Trouble(SIGNATURE, api.dotted, f"`{api.short}` was {was_kind} and is {kind} in {self.tag}")
        elif isinstance(getattr(node, "ctx", None), ast.Store) and not self.new.assignable(new):
            if self.old.assignable(was):
                text = f"`{api.short}`, which our line assigns, cannot be assigned in {self.tag}"
                yield Trouble(SIGNATURE, api.dotted, text)
        elif kinds <= {"function", "method"}:
            yield from self._function(api, was, new, called)
        elif was.kind == new.kind == "global":
            yield from self._value(api, self._global(self.old, was.api), self._global(self.new, new.api))
        elif was.kind == new.kind == "attribute" and old.on_class and was.holder is not None and new.holder is not None:
            before, after = (
                self.old.members.constant(was.holder, api.name),
                self.new.members.constant(new.holder, api.name),
            )
            yield from self._value(api, before, after)

    def _function(self, api: Api, was: Found, new: Found, called: bool) -> Iterator[Trouble]:
        before, after = self.old.managed(was), self.new.managed(new)
        if called and before != after:
            text = f"`{api.short}` is {'' if after else 'not '}a context manager in {self.tag}"
            yield Trouble(SIGNATURE, api.dotted, text)
        instead = self.new.rebound(new)
        if instead and not self.old.rebound(was):
            text = f"`{api.short}` is replaced after its definition by `{instead}` in {self.tag}"
            yield Trouble(SIGNATURE, api.dotted, text)

    def _global(self, catalog: Catalog, api: Api) -> str | None:
        index = catalog.facts.program.modules.get(api.module)
        return global_text(catalog.facts, index, api.name) if index is not None else None

    def key(self, key: str, was: Api, now: Api) -> Iterator[Trouble]:
        """A key that a table had and no longer has."""
        before, after = keys(self._global(self.old, was)), keys(self._global(self.new, now))
        if before and after is not None and key in before and key not in after:
            name = was.name
            yield Trouble(VALUE, f"{was.dotted}[{key}]", f"`{name}` has no {key!r} in {self.tag}")

    def _value(self, api: Api, before: str | None, after: str | None) -> Iterator[Trouble]:
        one, other = literal(before), literal(after)
        # what a list or a table holds is upstream's business: a key of it that we ask for is looked at by itself
        if one is not literal and one != other and not isinstance(one, (list, tuple, set, dict, type(None))):
            shown = after if after is not None else "not a constant"
            yield Trouble(VALUE, api.dotted, f"the value of `{api.short}` was {before} and is {shown} in {self.tag}")

    # calls

    def call(self, node: ast.Call, old: Meaning, new: Found) -> Iterator[Trouble]:
        """Whether a call that fits the old definition fits the new one, and means the same there."""
        assert old.found is not None and old.api is not None
        call = shape(node)
        before, _ = fitting(self.old.signatures(old.found, old.on_class), call)
        signatures = self.new.signatures(new, old.on_class)
        if before is None or not signatures:
            return  # the old call is not understood, or what the new one takes is decided elsewhere
        after, reason = fitting(signatures, call)
        name = old.api.short
        if after is None:
            yield Trouble(SIGNATURE, name, f"this call of `{name}` does not fit in {self.tag}: {reason}")
            return
        yield from self._meant(node, call, before, after, name)

    def unpacked(self, names: int, old: Meaning, new: Found) -> Iterator[Trouble]:
        """`a, b = f()`: does it return as many values as before?"""
        assert old.found is not None and old.api is not None
        count = self.new.returned(new)
        if names and count not in (None, names) and self.old.returned(old.found) == names:
            text = f"`{old.api.short}` returns {count} values in {self.tag}, which our line takes as {names}"
            yield Trouble(SIGNATURE, old.api.short, text)

    def _meant(self, node: ast.Call, call: Shape, before: Signature, after: Signature, name: str) -> Iterator[Trouble]:
        if before.is_async != after.is_async:
            yield Trouble(SIGNATURE, name, f"`{name}` is {'' if after.is_async else 'not '}async in {self.tag}")
        was, now = before.bind(call), after.bind(call)
        for key in was:
            if key in now and isinstance(key, int) and was[key].name != now[key].name and after.named(was[key].name):
                text = f"argument {key + 1} was `{was[key].name}` and is `{now[key].name}` in {self.tag}"
                yield Trouble(SIGNATURE, name, f"`{name}`: {text}")
            if key in now:
                yield from self._choice(_argument(node, key), was[key], now[key], before, after, name)
        used = {part.name for part in was.values()}
        if call.star or call.spread:
            return
        for part in before.parts:
            other = next((p for p in after.parts if p.name == part.name), None)
            if part.name in used or other is None or None in (part.default, other.default):
                continue
            if part.default != other.default:
                text = f"the default of `{part.name}`, which this call leaves out, was {part.default}"
                yield Trouble(SIGNATURE, name, f"`{name}`: {text} and is {other.default} in {self.tag}")

    def _choice(
        self, value: ast.expr | None, was: Part, now: Part, before: Signature, after: Signature, name: str
    ) -> Iterator[Trouble]:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            one = accepted(self.old.facts, before.scope, was.annotation)
            other = accepted(self.new.facts, after.scope, now.annotation)
            yield from self.choice(value.value, one, other, f"`{now.name}` of `{name}`")

    def choice(
        self, value: str, before: frozenset[str] | None, after: frozenset[str] | None, where: str
    ) -> Iterator[Trouble]:
        """A string that was accepted and no longer is."""
        if before and after and value in before and value not in after:
            gained = sorted(after - before)
            hint = f"; new there: {', '.join(map(repr, gained[:4]))}" if gained else ""
            yield Trouble(VALUE, f"{where}:{value}", f"{where} does not accept {value!r} in {self.tag}{hint}")


def fitting(signatures: list[Signature], call: Shape) -> tuple[Signature | None, str]:
    """The first signature that the call fits, else why it does not fit the last."""
    reason = ""
    for signature in signatures:
        try:
            signature.bind(call)
        except Misfit as misfit:
            reason = str(misfit)
        else:
            return signature, ""
    return None, reason


def _argument(node: ast.Call, key: int | str) -> ast.expr | None:
    if isinstance(key, int):
        plain = [arg for arg in node.args if not isinstance(arg, ast.Starred)]
        return plain[key] if key < len(plain) else None
    return next((k.value for k in node.keywords if k.arg == key), None)
