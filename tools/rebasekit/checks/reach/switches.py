"""Registries that pick one of several implementations by a name, and the default that picks.

A *switch* is a set of factories registered under string keys, plus an environment variable or argument whose
default is one of these keys and which is read where the registry is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from rebasekit.checks.reach.callers import Callers
from rebasekit.checks.reach.inits import INIT
from rebasekit.checks.reach.sites import Sites
from rebasekit.facts.query import Facts
from rebasekit.facts.records import FUNCTION, Call, Ref

_STRING = re.compile(r"^(?:[\w.]+\()?\s*(?:default\s*=\s*)?[\"']([\w.+-]+)[\"']")
_FARTHEST = 8  # callers of callers looked at before a method counts as reached without the switch


class Switch(NamedTuple):
    """Keys and what they stand for, and the name whose default chooses."""

    factories: tuple[tuple[str, int], ...]
    setting: str
    default: str
    declared: str  # file:line of the default

    def chosen(self, known: Mapping[str, Any]) -> str:
        return str(known.get(self.setting, self.default))


class Switches:
    """Finds what stands between a method and serving: a registry that picks somebody else."""

    def __init__(self, facts: Facts, callers: Callers, sites: Sites, known: Mapping[str, Any]) -> None:
        self.facts = facts
        self.callers = callers
        self.sites = sites
        self.known = known
        self._gates: dict[int, tuple[bool, dict[str, None]]] = {}
        self._by_factory: dict[int, tuple[Switch, str] | None] = {}

    def instead_of(self, function: int) -> tuple[str, ...]:
        """Sentences about what is chosen in place of this function; empty when something reaches it anyway."""
        reasons: dict[str, None] = {}
        # Most functions stand behind no switch at all: the way that reachability found shows it at once.
        if all(self._passes(scope, reasons) for scope in (function, *(s for s, _l in self.facts.chain(function)))):
            return ()
        if self._open(function, reasons, set(), _FARTHEST) or not reasons:
            return ()
        return tuple(reasons)

    def _passes(self, scope: int, reasons: dict[str, None]) -> bool:
        found = self.of_factory(scope)
        if found is not None and not self._picked(found[0], found[1], reasons):
            return False
        receiver = self.facts.types.receiver(scope)
        return receiver is None or not self._gated(receiver[1], reasons)

    def _open(self, function: int, reasons: dict[str, None], seen: set[int], depth: int) -> bool:
        """Whether serving gets to a function without a switch that picks another implementation."""
        if function in seen:
            return False
        seen.add(function)
        found = self.of_factory(function)
        if found is not None:
            return self._picked(found[0], found[1], reasons)
        receiver = self.facts.types.receiver(function)
        if receiver is not None and self._gated(receiver[1], reasons):
            return False
        if depth == 0 or not self.facts.is_function(function):
            return True
        callers = [c for c in self.callers.of(function) if self.facts.liveness(c.scope) == "serving"]
        if self.facts.program.scope(function).short == INIT or not callers:
            return True
        return any(self._open(c.scope, reasons, seen, depth - 1) for c in callers)

    def _picked(self, switch: Switch, key: str, reasons: dict[str, None]) -> bool:
        chosen = switch.chosen(self.known)
        if chosen == key:
            return True
        other = dict(switch.factories).get(chosen)
        what = self._builds(other) if other is not None else f"`{chosen}`"
        reasons[f"{what} is chosen instead: {switch.setting} is {chosen!r}, not {key!r} ({switch.declared})"] = None
        return False

    def _builds(self, factory: int) -> str:
        """What a factory makes, for people."""
        for call in self.facts.program.body(factory).calls:
            if isinstance(call.callee, str):
                for class_id in self.facts.resolver.classes(factory, call.callee):
                    return f"`{self.facts.dotted(class_id)}`"
        return f"`{self.facts.dotted(factory)}`"

    def _gated(self, class_id: int, reasons: dict[str, None]) -> bool:
        """Whether every serving construction of a class (or of one below it) stands behind a switch that is off."""
        known = self._gates.get(class_id)
        if known is None:
            found: dict[str, None] = {}
            known = self._gates[class_id] = (self._all_gated(class_id, found), found)
        reasons.update(known[1])
        return known[0]

    def _all_gated(self, class_id: int, reasons: dict[str, None]) -> bool:
        built = False
        for candidate in (class_id, *self.facts.hierarchy.subclasses(class_id)):
            for site in self.sites.of(candidate).sites:
                if self.facts.liveness(site.scope) != "serving":
                    continue
                built = True
                found = self.of_factory(site.scope)
                if found is None or self._picked(found[0], found[1], reasons):
                    return False
        return built

    def of_factory(self, function: int) -> tuple[Switch, str] | None:
        """The switch that a factory is registered in, and its key."""
        if function not in self._by_factory:
            self._by_factory[function] = None
            self._by_factory[function] = self._find(function)
        return self._by_factory[function]

    def _find(self, function: int) -> tuple[Switch, str] | None:
        short = self.facts.program.scope(function).short
        if not self.facts.is_function(function) or short.startswith("__"):
            return None  # Python calls these; nobody registers them
        for caller in self.callers.of(function):
            if caller.how == "call" or not caller.certain:
                continue
            for call in self.facts.program.body(caller.scope).calls:
                key = _key(call, short)
                if key is not None and call.line <= caller.line:
                    switch = self._switch(caller.scope, call)
                    if switch is not None and (key, function) in switch.factories:
                        return switch, key
        return None

    def _switch(self, scope: int, registration: Call) -> Switch | None:
        """All registrations through the same function, and the setting that picks among them."""
        targets = self.sites.flow.targets.of(scope, registration.callee)
        if not targets or not isinstance(registration.callee, str):
            return None
        registrar = targets[0].function
        factories: dict[str, int] = {}
        for caller in self.callers.of(registrar):
            if caller.call is None:
                continue
            for arg in (*caller.call.args, *(ref for _n, ref, _l in caller.call.keywords)):
                for entity in self.facts.resolver.chain(caller.scope, arg) if isinstance(arg, str) else ():
                    key = _key(caller.call, arg.rpartition(".")[2]) if isinstance(arg, str) else None
                    if entity.kind == "definition" and not entity.rest and key is not None:
                        factories[key] = entity.scope
        if len(factories) < 2:
            return None
        setting = self._setting(registrar, set(factories))
        return Switch(tuple(factories.items()), *setting) if setting is not None else None

    def _setting(self, registrar: int, keys: set[str]) -> tuple[str, str, str] | None:
        """An attribute with one of the keys as its default, read in the registry's module or by its users."""
        for name in self._read_near(registrar):
            for scope in self.facts.declarations(name):
                for assign in self.facts.program.body(scope).assigns:
                    found = _STRING.match(assign.text or "") if assign.target == name else None
                    if found and found.group(1) in keys:
                        return name, found.group(1), f"{self.facts.path(scope)}:{assign.line}"
        return None

    def _read_near(self, registrar: int) -> Iterable[str]:
        """Attribute names that may choose: read in the registry's module, or handed to one of its functions."""
        index, _local = self.facts.program.locate(registrar)
        file = self.facts.program.file(index)
        names: dict[str, None] = {}
        for local in range(len(file)):
            for load in file.reads(local)[0]:
                names.update(dict.fromkeys(load.split(".")[1:]))
        for children in file.children.get(0, {}).values():
            for child in children:
                if file.heads[child][0] == FUNCTION:
                    names.update(dict.fromkeys(self._handed(self.facts.program.first[index] + child)))
        return names

    def _handed(self, function: int) -> Iterator[str]:
        for caller in self.callers.of(function):
            if caller.call is not None:
                for ref in (*caller.call.args, *(r for _n, r, _l in caller.call.keywords)):
                    yield from self._chosen_by(caller.scope, ref)

    def _chosen_by(self, scope: int, ref: Ref) -> Iterator[str]:
        """Attributes that an argument comes from, through one assignment to a local or to `self`."""
        chains = list(_chains(ref))
        receiver = self.facts.types.receiver(scope)
        for chain in list(chains):
            root, _, rest = chain.partition(".")
            if not rest:
                values = [a.value for a in self.facts.program.body(scope).assigns if a.target == chain]
            elif receiver is not None and root == receiver[0]:
                values = [v for _s, v, _a in self.facts.types.written(receiver[1]).get(rest, ())]
            else:
                values = []
            chains.extend(c for value in values for c in _chains(value))
        for chain in chains:
            yield from chain.split(".")[1:]


def _chains(ref: Ref) -> Iterator[str]:
    """Every chain inside an expression."""
    if isinstance(ref, str):
        yield ref
    elif isinstance(ref, tuple) and ref and ref[0] != "v":
        for item in ref[1:]:
            if isinstance(item, (str, tuple)):
                yield from _chains(item)


def _key(call: Call, function: str) -> str | None:
    """The string key in `register("key", function)` (in any order, by keyword too)."""
    refs = [*call.args, *(ref for _name, ref, _line in call.keywords)]
    if not any(isinstance(ref, str) and ref.rpartition(".")[2] == function for ref in refs):
        return None
    keys = [ref[1] for ref in refs if isinstance(ref, tuple) and ref and ref[0] == "v" and isinstance(ref[1], str)]
    return keys[0] if keys else None
