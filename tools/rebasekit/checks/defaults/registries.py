"""Tables that choose an implementation by a string: displays, calls that register, decorators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rebasekit.facts.query import Facts
from rebasekit.facts.records import Ref


@dataclass(frozen=True)
class Entry:
    """`key` chooses `chain`, which is resolved in `scope`; `table` tells one table of a file from another."""

    table: str
    key: str
    chain: str
    scope: int
    line: int


def entries(facts: Facts, index: int) -> Iterator[Entry]:
    """Every entry of every table in a file."""
    file = facts.program.file(index)
    for local in range(len(file.heads)):
        scope = facts.program.first[index] + local
        body = file.body(local)
        for assign in body.assigns:
            name = assign.target if isinstance(assign.target, str) else "?"
            yield from _display(assign.value, name, scope)
        for item in body.returns:
            yield from _display(item.value, f"{file.scope(local).name}()", scope)
        keys = {call.line: call.args[0] for call in body.calls if call.args and not call.decorated}
        for call in body.calls:
            if call.decorated:
                # `@register("key")`: the key is in the call that made the decorator.
                key, name, callee = keys.get(call.line), call.args[0], _inner(call.callee)
            elif len(call.args) > 1:
                key, name, callee = call.args[0], call.args[1], call.callee
            else:
                continue
            if isinstance(callee, str) and isinstance(name, str) and (text := text_of(key)) is not None:
                yield Entry(callee, text, name, scope, call.line)


def _inner(callee: Ref) -> Ref:
    return callee[1] if isinstance(callee, tuple) and callee and callee[0] == "r" else None


def text_of(ref: Ref) -> str | None:
    """The string that a value is, None for anything else."""
    return ref[1] if isinstance(ref, tuple) and len(ref) == 2 and ref[0] == "v" and isinstance(ref[1], str) else None


def _display(ref: Ref, table: str, scope: int) -> Iterator[Entry]:
    if isinstance(ref, tuple) and ref and ref[0] == "d":
        for key, item, line in ref[1:]:
            if isinstance(key, str) and isinstance(item, str):
                yield Entry(table, key, item, scope, line)
    elif isinstance(ref, tuple) and ref and ref[0] == "s" and isinstance(ref[1], tuple):
        yield from _display(ref[1], table, scope)


def entries_of(facts: Facts, name: str) -> Iterator[Entry]:
    """Entries of the table (or of the registering function) that a dotted or simple name means."""
    last = name.rpartition(".")[2]
    places = {facts.program.locate(s)[0] for s in (*facts.declarations(last), *facts.definitions(last))}
    places |= {facts.program.locate(s)[0] for s in facts.mentions(last)}
    for index in sorted(places):
        if facts.settings.test_pattern.search(facts.program.paths[index]):
            continue
        for entry in entries(facts, index):
            if entry.table.rpartition(".")[2] == last:
                yield entry


def implementations(facts: Facts, entry: Entry) -> list[int]:
    """Functions and classes that an entry names."""
    return [
        entity.scope
        for entity in facts.resolver.chain(entry.scope, entry.chain)
        if entity.kind == "definition" and not entity.rest
    ]
