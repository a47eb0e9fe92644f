"""Where in a scope's calls, assignments and returns a value shows up, and in what position."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from rebasekit.facts.program import Program
from rebasekit.facts.records import Call, Ref

# Called on a container, these give one of its elements; "values" and "items" give all of them.
_ELEMENTS = ("get", "pop", "setdefault", "values", "items", "copy", "popitem", "popleft", "__getitem__")
_INSERTS = frozenset({"append", "add", "insert", "setdefault", "update", "extend", "appendleft", "put", "__setitem__"})

Key = Any  # a chain, or ("r", callee): what calling it returns
Match = Callable[[Key], bool]


class Place(NamedTuple):
    """Where the value stands inside an expression."""

    line: int
    guard: int
    how: tuple[str, ...] = ()
    key: str | None = None  # the key under which a display holds it


class Use(NamedTuple):
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


def containers(load: str) -> tuple[str, ...]:
    """A chain, and what stands before a method that gives an element: `a.TABLE` for `a.TABLE.get`."""
    base, _, last = load.rpartition(".")
    return (load, base) if base and last in _ELEMENTS else (load,)


class Reads(NamedTuple):
    """Chains that a scope reads, by their last name and by their first, and those of one name.

    `held` has, by last name, what `containers` makes of them.
    """

    last: dict[str, list[str]]
    first: dict[str, list[str]]
    single: list[str]
    held: dict[str, list[str]]


def reads(program: Program, scope_id: int) -> Reads:
    """What a scope reads, to look chains up by a part of them."""
    index, local = program.locate(scope_id)
    file = program.file(index)
    found = file.notes.get(("reads", local))
    if found is None:
        found = file.notes["reads", local] = Reads({}, {}, [], {})
        for load in file.reads(local)[0]:
            first, dot, _rest = load.partition(".")
            found.last.setdefault(load.rpartition(".")[2], []).append(load)
            found.first.setdefault(first, []).append(load)
            if not dot:
                found.single.append(load)
            for chain in containers(load):
                found.held.setdefault(chain.rpartition(".")[2], []).append(chain)
    return found


def leaves(ref: Ref, line: int, guard: int, how: tuple[str, ...] = ()) -> Iterator[tuple[Key, Place]]:
    """Everything that `ref` may be, as itself or inside a container: chains, and results of calls."""
    if isinstance(ref, str):
        yield ref, Place(line, guard, how)
    elif isinstance(ref, tuple) and ref:
        kind = ref[0]
        if kind == "u":
            for option, inner, where in ref[1:]:
                yield from leaves(option, where, inner or guard, (*how, "conditional expression"))
        elif kind == "d":
            for key, item, where in ref[1:]:
                for leaf, place in leaves(item, where, guard, (*how, "registry")):
                    yield leaf, Place(place.line, place.guard, place.how, key)
        elif kind == "s":
            yield from leaves(ref[1], line, guard, how)
        elif kind == "r":
            yield ref, Place(line, guard, how)
            inner = ref[1]
            if isinstance(inner, str):
                base, _, last = inner.rpartition(".")
                if base and last in _ELEMENTS:
                    yield base, Place(line, guard, how)
            elif isinstance(inner, tuple) and inner and inner[0] == "a" and inner[2] in _ELEMENTS:
                yield from leaves(inner[1], line, guard, how)


def places(ref: Ref, match: Match, line: int, guard: int) -> Iterator[Place]:
    """Every way in which `ref` may have the value that `match` accepts."""
    return (place for leaf, place in leaves(ref, line, guard) if match(leaf))


def uses(program: Program, scope_id: int, match: Match) -> Iterator[Use]:
    """What happens in one scope to the value that chains, or results of calls, accepted by `match` name."""
    noted = _noted(program, scope_id)
    found = [(at, use) for leaf, some in noted.items() if match(leaf) for at, use in some]
    found.sort(key=_position)
    return (use for _at, use in found)


def _position(item: tuple[int, Use]) -> int:
    return item[0]


def _noted(program: Program, scope_id: int) -> dict[Key, list[tuple[int, Use]]]:
    """All uses in a scope by what they name, each with its position: a scope is asked about again and again."""
    index, local = program.locate(scope_id)
    notes = program.file(index).notes
    found = notes.get(("uses", local))
    if found is None:
        found = notes["uses", local] = {}
        for at, (leaf, use) in enumerate(_all(program, scope_id)):
            found.setdefault(leaf, []).append((at, use))
    return found


def _all(program: Program, scope_id: int) -> Iterator[tuple[Key, Use]]:
    body = program.body(scope_id)
    for call in body.calls:
        yield from _in_call(scope_id, call)
    for assign in body.assigns:
        for leaf, place in leaves(assign.value, assign.line, assign.guard):
            if assign.value != assign.target:
                yield leaf, Use("assigned", scope_id, place, target=assign.target)
    for item in body.returns:
        for leaf, place in leaves(item.value, item.line, item.guard):
            yield leaf, Use("returned", scope_id, place)


def _in_call(scope_id: int, call: Call) -> Iterator[tuple[Key, Use]]:
    callee = call.callee
    for leaf, place in leaves(callee, call.line, call.guard):
        # The call expression itself is the construction, whatever picked the class.
        yield leaf, Use("called", scope_id, Place(call.line, call.guard, place.how, place.key), call)
    if isinstance(callee, str):
        base, _, last = callee.rpartition(".")
        if base and last not in _ELEMENTS:
            yield base, Use("method", scope_id, Place(call.line, call.guard), call, method=last)
    elif isinstance(callee, tuple) and callee and callee[0] == "a" and callee[2] not in _ELEMENTS:
        for leaf, place in leaves(callee[1], call.line, call.guard):
            yield leaf, Use("method", scope_id, place, call, method=callee[2])
    for position, (arg, line) in enumerate(zip(call.args, call.lines, strict=False)):
        for leaf, place in leaves(arg, line, call.guard):
            yield leaf, _argument(scope_id, call, place, position)
    for name, ref, line in call.keywords:
        for leaf, place in leaves(ref, line, call.guard):
            yield leaf, _argument(scope_id, call, place, name)


def _argument(scope_id: int, call: Call, place: Place, position: int | str | None) -> Use:
    callee = call.callee
    if isinstance(callee, str):
        base, _, last = callee.rpartition(".")
        if base and last in _INSERTS:
            return Use("assigned", scope_id, place, call, target=base)
    return Use("argument", scope_id, place, call, position=position)
