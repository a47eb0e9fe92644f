"""Whether building a subclass runs the constructor of a class above it, and on which line it is called."""

from __future__ import annotations

from typing import NamedTuple

from rebasekit.facts.query import Facts

INIT = "__init__"


class InitCall(NamedTuple):
    """A call by which a subclass's constructor goes up; `function` is the `__init__` that holds it."""

    function: int
    line: int
    guard: int


class InitRoute(NamedTuple):
    """How the constructor of a subclass gets to the one of its base: `calls` is empty when it is simply inherited."""

    owner: int
    calls: tuple[InitCall, ...]


def init_route(facts: Facts, subclass: int, base: int) -> InitRoute | None:
    """The route from building `subclass` to running `base`'s constructor; None when it is skipped."""
    wanted = facts.method(base, INIT)
    found = facts.method(subclass, INIT)
    if not wanted:
        # A base without a constructor has nothing that could be skipped.
        return InitRoute(subclass, ())
    return _route(facts, subclass, set(wanted), found, (), 0)


def _route(
    facts: Facts, subclass: int, wanted: set[int], found: list[int], calls: tuple[InitCall, ...], depth: int
) -> InitRoute | None:
    if set(found) & wanted:
        return InitRoute(subclass, calls)
    if depth > 8:
        return None
    for function in found:
        owner = facts.types.receiver(function)
        if owner is None:
            continue
        for call in facts.program.body(function).calls:
            if isinstance(call.callee, str) and call.callee.endswith("." + INIT):
                above = _called(facts, subclass, function, owner[1], call.callee)
                step = InitCall(function, call.line, call.guard)
                route = _route(facts, subclass, wanted, above, (*calls, step), depth + 1) if above else None
                if route is not None:
                    return route
    return None


def _called(facts: Facts, subclass: int, function: int, owner: int, callee: str) -> list[int]:
    """The constructors that a `....__init__` call in `function` runs, for an instance of `subclass`."""
    base = callee.removesuffix("." + INIT)
    if base == "super":
        return facts.method(subclass, INIT, owner)
    if base.startswith("super("):
        named = facts.resolver.classes(function, base[6:-1])
        return facts.method(subclass, INIT, named[0] if named else owner)
    return [f for class_id in facts.resolver.classes(function, base) for f in facts.method(class_id, INIT)]
