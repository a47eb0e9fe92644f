"""Which defaults a hunk relies on without saying so: proposals for `relies` when a patch is imported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from rebasekit.checks.defaults.check import ReliedHunk, cut_off, functions
from rebasekit.checks.defaults.cut import Cut, walk
from rebasekit.checks.defaults.deciding import decide, names_in
from rebasekit.checks.defaults.registries import entries, implementations
from rebasekit.checks.defaults.relied import Relied
from rebasekit.checks.defaults.selection import edges, literal
from rebasekit.checks.defaults.values import values
from rebasekit.facts.query import Facts

_MOST = 6  # defaults tried: each costs a pass over what serving reaches
_COMMON = 150  # a name in more scopes than this is no setting, and following it costs minutes
_NEAR = 40  # callers of a function beside a table; one with more is no chooser
Candidate = tuple[str, object]  # a name and the literal that it is declared with


def propose(facts: Facts, hunks: Sequence[ReliedHunk]) -> dict[str, tuple[str, ...]]:
    """Entries per hunk name: defaults without which serving would not get to the hunk's functions.

    Candidates are the tables and tests on the ways from the entry points; each is then proven by cutting it.
    """
    whole = walk(facts)
    search = _Search(facts, whole)
    wanted = [hunk for hunk in hunks if any(whole.reaches(f) for f in functions(facts, hunk))]
    candidates = {hunk.name: search.candidates(hunk) for hunk in wanted}
    found: dict[str, list[str]] = {hunk.name: [] for hunk in wanted}
    for name, value in _shared(list(candidates.values()))[:_MOST]:
        chosen = edges(facts, name, value, (not value) if isinstance(value, bool) else None)
        rest = Cut(facts, chosen, whole.tape).serve() if chosen else None
        for hunk in wanted:
            if rest is not None and (name, value) in candidates[hunk.name] and cut_off(facts, hunk, whole, rest):
                found[hunk.name].append(f"default {name} == {_quoted(value)}")
    return {name: tuple(lines) for name, lines in found.items() if lines}


def _shared(lists: list[list[Candidate]]) -> list[Candidate]:
    """Every candidate once: the first of each hunk, then the second of each, and so on."""
    longest = max(map(len, lists), default=0)
    return list(dict.fromkeys(one[at] for at in range(longest) for one in lists if at < len(one)))


def _quoted(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) and '"' not in value else repr(value)


class _Search:
    """Looks for what chooses, on the ways to a function."""

    def __init__(self, facts: Facts, whole: Cut) -> None:
        self.facts = facts
        self.whole = whole
        self.default = cache(self._default)
        self.readings = cache(self._readings)
        self.entries = cache(lambda index: list(entries(facts, index)))

    def candidates(self, hunk: ReliedHunk) -> list[Candidate]:
        """Tables first: a test says more often that a feature is off than that another one is on."""
        scopes = [f for f in functions(self.facts, hunk) if self.whole.reaches(f)][:1]
        steps = [step for scope in scopes for step in self.whole.steps(scope)]
        tables = [c for target, above in steps for c in self._table(target, above)]
        tests = [c for target, above in steps for c in self._tests(target, above)]
        return list(dict.fromkeys([*tables, *tests]))[: 2 * _MOST]

    def _table(self, target: int, above: int) -> Iterator[Candidate]:
        """The step leads through a table: defaults with the key's value that are read around it."""
        index = self.facts.program.locate(above)[0]
        rows = [e for e in self.entries(index) if e.scope == above]
        for key in sorted({e.key for e in rows if target in implementations(self.facts, e)}):
            for name in sorted(self.readings(index)):
                if self.default(name) == key:
                    yield name, key

    def _readings(self, index: int) -> set[str]:
        """Names of attributes that the file, or whoever calls its functions, reads."""
        facts = self.facts
        file = facts.program.file(index)
        scopes = set(range(facts.program.first[index], facts.program.first[index] + len(file)))
        for head in file.heads:
            if head[0] == "f" and "." not in head[1]:
                callers = facts.mentions(head[1])
                scopes.update(callers if len(callers) <= _NEAR else ())
        found: set[str] = set()
        for scope in scopes:
            where, local = facts.program.locate(scope)
            if not self.whole.tests[where]:
                for load in facts.program.file(where).reads(local)[0]:
                    found.update(part for part in load.split(".")[1:] if part != "get")
        return found

    def _tests(self, target: int, above: int) -> Iterator[Candidate]:
        """The step stands under tests that a default decides."""
        index, local = self.facts.program.locate(above)
        file = self.facts.program.file(index)
        name = self.facts.program.scope(target).short
        for call in file.body(local).calls:
            if call.guard and isinstance(call.callee, str) and call.callee.rpartition(".")[2] == name:
                for test in file.guards(call.guard):
                    for word in sorted(names_in(test.text)):
                        value = self.default(word)
                        if value is not None and decide(test.text, {word}, value) is test.holds:
                            yield word, value

    def _default(self, name: str) -> str | bool | int | float | None:
        """The one literal default that a name is declared with; None when there is none, or several."""
        if not 0 < len(self.facts.mentions(name)) <= _COMMON or not self.facts.declarations(name):
            return None
        found = [value.text for value in values(self.facts, Relied("", "default", name, ""))]
        value = literal(found[0]) if len(found) == 1 and found[0] is not None else None
        plain = isinstance(value, (str, bool, int, float)) and found[0] != value
        return value if plain else None  # type: ignore[return-value]  # just tested


__all__ = ["propose"]
