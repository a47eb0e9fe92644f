"""Where the value of a default chooses what runs: table entries and branches.

An edge is "this scope makes that definition run". The edges of a value are those that only this value takes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from rebasekit.checks.defaults.deciding import decide
from rebasekit.checks.defaults.registries import entries, implementations
from rebasekit.facts.query import Facts
from rebasekit.facts.records import Ref

_FAR = 3  # assignments through which a value is followed inside a scope


@dataclass(frozen=True)
class Edge:
    """`scope` names `target`; `line` is where the choice stands. Or it asks an object for its method `name`."""

    target: int
    scope: int
    line: int
    name: str = ""


def edges(facts: Facts, name: str, chosen: object, instead: object) -> list[Edge]:
    """What is taken when `name` has the value `chosen` and not when it has the value `instead`."""
    readers = [s for s in facts.mentions(name) if not facts.settings.test_pattern.search(facts.path(s))]
    found: list[Edge] = []
    if isinstance(chosen, str):
        for index in sorted(_files(facts, readers)):
            found.extend(_entries(facts, index, chosen, instead))
    aliases = _Aliases(facts, name)
    for scope in sorted({other for reader in readers for other in _siblings(facts, reader)}):
        found.extend(_branches(facts, scope, aliases.of(scope), chosen, instead))
    return list(dict.fromkeys(found))


def _siblings(facts: Facts, reader: int) -> list[int]:
    """The reader, and the other methods of its class: they may test what it stored."""
    receiver = facts.types.receiver(reader)
    if receiver is None:
        return [reader]
    index, local = facts.program.locate(receiver[1])
    file = facts.program.file(index)
    children = [c for group in file.children.get(local, {}).values() for c in group if file.heads[c][0] == "f"]
    return [reader, *facts.program.ids(file, children)]


def _files(facts: Facts, readers: list[int]) -> set[int]:
    """Files in which a table may stand that is asked with the value: the readers' own, and those of what they call.

    A reader that hands the value back has its callers do the asking.
    """
    callers = {
        caller
        for reader in readers
        if facts.is_function(reader) and facts.program.body(reader).returns
        for caller in facts.mentions(facts.program.scope(reader).short)
    }
    found: set[int] = set()
    for scope in {*readers, *callers}:
        if facts.settings.test_pattern.search(facts.path(scope)):
            continue
        found.add(facts.program.locate(scope)[0])
        for call in facts.program.body(scope).calls:
            if isinstance(call.callee, str) and not call.callee.startswith("super"):
                for entity in facts.resolver.chain(scope, call.callee):
                    if entity.kind == "definition":
                        found.add(facts.program.locate(entity.scope)[0])
    return found


def _entries(facts: Facts, index: int, chosen: str, instead: object) -> Iterator[Edge]:
    tables: dict[str, list[tuple[str, int, int, list[int]]]] = {}
    for entry in entries(facts, index):
        row = (entry.key, entry.scope, entry.line, implementations(facts, entry))
        tables.setdefault(entry.table, []).append(row)
    for rows in tables.values():
        keys = {key for key, *_ in rows}
        if isinstance(instead, str) and instead not in keys:
            continue  # another table that happens to have the word
        others = {target for key, _s, _l, targets in rows if key != chosen for target in targets}
        for key, scope, line, targets in rows:
            if key == chosen:
                yield from (Edge(target, scope, line) for target in targets if target not in others)


def _branches(facts: Facts, scope: int, names: set[str], chosen: object, instead: object) -> Iterator[Edge]:
    """Definitions named only under tests that the one value passes and the other fails."""
    index, local = facts.program.locate(scope)
    file = facts.program.file(index)
    closed: dict[int, bool] = {0: False}

    def only(guard: int) -> bool:
        if guard not in closed:
            test = file.guard(guard)
            one, other = decide(test.text, names, chosen), decide(test.text, names, instead)
            taken = one is not None and other is not None and one is test.holds and other is not test.holds
            closed[guard] = taken or only(test.parent)
        return closed[guard]

    uses: dict[str, list[tuple[bool, int]]] = {}
    body = file.body(local)
    for call in body.calls:
        for chain in _chains((call.callee, *call.args, *(ref for _key, ref, _line in call.keywords))):
            uses.setdefault(chain, []).append((only(call.guard), call.line))
    for assign in body.assigns:
        for chain in _chains((assign.value,)):
            uses.setdefault(chain, []).append((only(assign.guard), assign.line))
    for item in body.returns:
        for chain in _chains((item.value,)):
            uses.setdefault(chain, []).append((only(item.guard), item.line))
    for imported in file.heads[local][11]:
        if only(imported[5]):
            uses.setdefault(imported[0], []).append((True, imported[4]))
    for chain, places in uses.items():
        if all(inside for inside, _line in places):
            yield from _named(facts, scope, chain, places[0][1])


def _named(facts: Facts, scope: int, chain: str, line: int) -> Iterator[Edge]:
    """What a chain that stands only there names: a definition, or a method of some object."""
    known = False
    for entity in facts.resolver.chain(scope, chain):
        if entity.kind == "definition" and not entity.rest:
            known = True
            yield Edge(entity.scope, scope, line)
        elif entity.kind == "definition" and facts.is_class(entity.scope) and "." not in entity.rest:
            known = True
            yield from (Edge(method, scope, line) for method in facts.method(entity.scope, entity.rest))
    base, _, method = chain.rpartition(".")
    if base and not known:
        yield Edge(-1, scope, line, method)


def _chains(refs: tuple[Ref, ...]) -> Iterator[str]:
    for ref in refs:
        if isinstance(ref, str):
            yield ref
        elif isinstance(ref, tuple) and ref and ref[0] in "rsa":
            yield from _chains((ref[1],))
        elif isinstance(ref, tuple) and ref and ref[0] == "u":
            yield from _chains(tuple(option[0] for option in ref[1:]))
        elif isinstance(ref, tuple) and ref and ref[0] == "d":
            yield from _chains(tuple(item[1] for item in ref[1:]))


class _Aliases:
    """What a value is stored under: in attributes of the classes that read it, and in one scope's own names."""

    def __init__(self, facts: Facts, name: str) -> None:
        self.facts = facts
        self.name = name
        self._classes: dict[int, set[str]] = {}

    def of(self, scope: int) -> set[str]:
        """Last parts of the chains that may hold the value in a scope (`backend = envs.NAME.get()`)."""
        receiver = self.facts.types.receiver(scope)
        if receiver is None:
            return self._inside(scope, {self.name})
        shared = self._classes.get(receiver[1])
        if shared is None:
            shared = {self.name}
            for _ in range(_FAR):
                for method in _siblings(self.facts, scope):
                    shared |= self._inside(method, shared, attributes=True)
            self._classes[receiver[1]] = shared
        return self._inside(scope, shared)

    def _inside(self, scope: int, names: set[str], attributes: bool = False) -> set[str]:
        """The names and those that they are assigned to in one scope; `attributes` leaves out its locals."""
        assigns = [a for a in self.facts.program.body(scope).assigns if isinstance(a.target, str)]
        found, kept = set(names), set(names)
        for _ in range(_FAR):
            for assign in assigns:
                if _reads(assign.value, found):
                    found.add(assign.target.rpartition(".")[2])
                    if "." in assign.target or not attributes:
                        kept.add(assign.target.rpartition(".")[2])
        return kept


def _reads(ref: Ref, names: set[str]) -> bool:
    """`x.NAME`, `x.NAME.get()` or either behind an `or` or a conditional expression."""
    if isinstance(ref, str):
        return ref.removesuffix(".get").rpartition(".")[2] in names
    if isinstance(ref, tuple) and ref and ref[0] == "r":
        return isinstance(ref[1], str) and ref[1].endswith(".get") and _reads(ref[1], names)
    return isinstance(ref, tuple) and bool(ref) and ref[0] == "u" and any(_reads(o[0], names) for o in ref[1:])


def literal(text: str | None) -> object:
    """The value of source that is a literal; other source stands for itself."""
    try:
        return ast.literal_eval(text) if text is not None else None
    except (ValueError, SyntaxError, TypeError):
        return text
