"""What a name that somebody typed may mean."""

from __future__ import annotations

from collections.abc import Iterable

from rebasekit.checks.reach.report import Match
from rebasekit.facts.query import Facts

_MOST_CLOSEST = 5


def find(facts: Facts, name: str) -> list[int]:
    """Definitions whose dotted name is `name` or ends in it, best first.

    `Class`, `Class.method`, `module.Class`, `pkg.module.Class.method`, `path/to/file.py:Class`. Twins of one
    qualified name (branches, overloads) count once. An exact, non-test meaning hides those in test files.
    """
    wanted = _normal(name)
    found: dict[tuple[str, str], int] = {}
    for definition in facts.named(wanted):
        dotted = facts.dotted(definition)
        if dotted == wanted or dotted.endswith("." + wanted):
            found[(facts.path(definition), facts.program.scope(definition).name)] = definition
    shown = list(found.values())
    outside = [d for d in shown if not facts.settings.test_pattern.search(facts.path(d))]
    shown = outside or shown
    # Asked for `X`, a method called X is not meant when there is a class X at the top of a module.
    shallow = [d for d in shown if "." not in facts.program.scope(d).name]
    if "." not in wanted and shallow:
        shown = shallow
    return sorted(shown, key=lambda d: (facts.path(d), facts.program.scope(d).line))


def _normal(name: str) -> str:
    path, colon, rest = name.rpartition(":")
    if colon:
        module = path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        return f"{module}.{rest}"
    return name.strip()


def closest(facts: Facts, name: str) -> list[str]:
    """Names that look like `name`: same letters in another case first, then parts of names, then likely typos."""
    wanted = _normal(name).rpartition(".")[2]
    lower = wanted.lower()
    names = facts.names()
    same = [n for n in names if n.lower() == lower]
    parts = sorted((n for n in names if len(wanted) > 3 and lower in n.lower()), key=len)
    return list(dict.fromkeys([*same, *_typos(lower, names), *parts]))[:_MOST_CLOSEST]


def _typos(wanted: str, names: Iterable[str]) -> list[str]:
    """Names most like `wanted`, case aside; pairs of letters in common decide who is compared at all."""
    import difflib  # only for names that do not exist

    pairs = {wanted[i : i + 2] for i in range(len(wanted) - 1)}
    likely: dict[str, str] = {}
    for name in names:
        lower = name.lower()
        if abs(len(lower) - len(wanted)) <= 4 and 2 * sum(pair in lower for pair in pairs) > len(pairs):
            likely[lower] = name
    return [likely[n] for n in difflib.get_close_matches(wanted, likely, _MOST_CLOSEST, 0.75)]


def match(facts: Facts, definition: int) -> Match:
    scope = facts.program.scope(definition)
    kind = "class" if scope.kind == "c" else "method" if facts.types.receiver(definition) else "function"
    return Match(facts.dotted(definition), kind, facts.path(definition), scope.line)
