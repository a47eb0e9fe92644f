"""Where in a scope's calls, assignments and returns a value shows up, and in what position."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from rebasekit.facts.program import Program
from rebasekit.facts.records import Assign, Call, Ref

# Called on a container, these give one of its elements; "values" and "items" give all of them.
_ELEMENTS = ("get", "pop", "setdefault", "values", "items", "copy", "popitem", "popleft", "__getitem__")
_INSERTS = frozenset({"append", "add", "insert", "setdefault", "update", "extend", "appendleft", "put", "__setitem__"})

Match = Callable[[str], bool]


@dataclass(frozen=True)
class Place:
    """Where the value stands inside an expression."""

    line: int
    guard: int
    how: tuple[str, ...] = ()
    key: str | None = None  # the key under which a display holds it


@dataclass(frozen=True)
class Use:
    """One thing that happens to the value in a scope.

    kind: "called", "method" (an attribute of it is called), "argument", "assigned", "returned".
    """

    kind: str
    scope: int
    place: Place
    call: Call | None = None
    target: Ref = None
    position: int | str | None = None
    method: str = ""
    extra: tuple[str, ...] = field(default=())


def containers(load: str) -> tuple[str, ...]:
    """A chain, and what stands before a method that gives an element: `a.TABLE` for `a.TABLE.get`."""
    base, _, last = load.rpartition(".")
    return (load, base) if base and last in _ELEMENTS else (load,)


def places(ref: Ref, match: Match, line: int, guard: int, how: tuple[str, ...] = ()) -> Iterator[Place]:
    """Every way in which `ref` may have the value, as itself or inside a container."""
    if isinstance(ref, str):
        if match(ref):
            yield Place(line, guard, how)
    elif isinstance(ref, tuple) and ref:
        kind = ref[0]
        if kind == "u":
            for option, inner, where in ref[1:]:
                yield from places(option, match, where, inner or guard, (*how, "conditional expression"))
        elif kind == "d":
            for key, item, where in ref[1:]:
                for place in places(item, match, where, guard, (*how, "registry")):
                    yield Place(place.line, place.guard, place.how, key)
        elif kind == "s":
            yield from places(ref[1], match, line, guard, how)
        elif kind == "r":
            inner = ref[1]
            if isinstance(inner, str):
                base, _, last = inner.rpartition(".")
                if base and last in _ELEMENTS:
                    yield from places(base, match, line, guard, how)
            elif isinstance(inner, tuple) and inner and inner[0] == "a" and inner[2] in _ELEMENTS:
                yield from places(inner[1], match, line, guard, how)


def uses(program: Program, scope_id: int, match: Match) -> Iterator[Use]:
    """What happens in one scope to the value that chains accepted by `match` name."""
    body = program.body(scope_id)
    for call in body.calls:
        yield from _in_call(scope_id, call, match)
    for assign in body.assigns:
        yield from _in_assign(scope_id, assign, match)
    for item in body.returns:
        for place in places(item.value, match, item.line, item.guard):
            yield Use("returned", scope_id, place)


def _in_assign(scope_id: int, assign: Assign, match: Match) -> Iterator[Use]:
    for place in places(assign.value, match, assign.line, assign.guard):
        if assign.value != assign.target:
            yield Use("assigned", scope_id, place, target=assign.target)


def _in_call(scope_id: int, call: Call, match: Match) -> Iterator[Use]:
    callee = call.callee
    for place in places(callee, match, call.line, call.guard):
        # The call expression itself is the construction, whatever picked the class.
        yield Use("called", scope_id, Place(call.line, call.guard, place.how, place.key), call)
    if isinstance(callee, str):
        base, _, last = callee.rpartition(".")
        if base and match(base) and last not in _ELEMENTS:
            yield Use("method", scope_id, Place(call.line, call.guard), call, method=last)
    elif isinstance(callee, tuple) and callee and callee[0] == "a" and callee[2] not in _ELEMENTS:
        for place in places(callee[1], match, call.line, call.guard):
            yield Use("method", scope_id, place, call, method=callee[2])
    for position, (arg, line) in enumerate(zip(call.args, call.lines, strict=False)):
        for place in places(arg, match, line, call.guard):
            yield _argument(scope_id, call, place, position)
    for name, ref, line in call.keywords:
        for place in places(ref, match, line, call.guard):
            yield _argument(scope_id, call, place, name)


def _argument(scope_id: int, call: Call, place: Place, position: int | str | None) -> Use:
    callee = call.callee
    if isinstance(callee, str):
        base, _, last = callee.rpartition(".")
        if base and last in _INSERTS:
            return Use("assigned", scope_id, place, call, target=base)
    return Use("argument", scope_id, place, call, position=position)
