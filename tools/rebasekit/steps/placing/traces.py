"""Where the lines around a hunk went when its scope is gone."""

from __future__ import annotations

import difflib

from rebasekit.edit.scopes import Scope, module_scope, walk
from rebasekit.edit.source import Source, Unreadable
from rebasekit.model.placement import Spot
from rebasekit.model.tag import Tag
from rebasekit.steps.trees import Trees

_BESIDE = 2  # lines before and after a change that tell where it was
_TELLING = 12  # characters: shorter lines stand everywhere
_FILES = 12
_MOST = 3


def traces(trees: Trees, tag: Tag, file: str, base: str, ours: str) -> tuple[Spot, ...]:
    """The scopes of a release that hold most of the lines that the hunk stood among, each at the first such line."""
    lines = around(base, ours)
    if not lines:
        return ()
    files = dict.fromkeys([file, *trees.holding(tag, max(lines, key=len))[:_FILES]])
    found: list[tuple[int, int, Spot]] = []
    for path in files:
        try:
            source = trees.source(tag, path)
        except Unreadable:
            continue
        if source is not None:
            found += [_rated(source, path, scope, lines) for scope in walk(module_scope(source)) if scope.name]
    best = sorted((one for one in found if one[0]), key=lambda one: (-one[0], one[1]))
    return tuple(_innermost([spot for _, _, spot in best]))[:_MOST]


def around(base: str, ours: str) -> list[str]:
    """The telling lines of a scope beside what the hunk changes, comments left out."""
    old = base.splitlines()
    matcher = difflib.SequenceMatcher(None, old, ours.splitlines(), autojunk=False)
    near: set[int] = set()
    for kind, first, last, _, _ in matcher.get_opcodes():
        if kind != "equal":
            near.update(range(max(0, first - _BESIDE), min(len(old), last + _BESIDE)))
    stripped = (old[number].strip() for number in sorted(near))
    return [line for line in dict.fromkeys(stripped) if len(line) >= _TELLING and not line.startswith("#")]


def _rated(source: Source, path: str, scope: Scope, lines: list[str]) -> tuple[int, int, Spot]:
    """How many of the lines the scope holds, its length, and where the first of them stands."""
    where = {line.strip(): scope.first + number for number, line in reversed([*enumerate(_lines(source, scope))])}
    held = [where[line] for line in lines if line in where]
    return len(held), scope.last - scope.first, Spot(path, scope.label, min(held, default=scope.first))


def _lines(source: Source, scope: Scope) -> list[str]:
    return source.lines[scope.first - 1 : scope.last]


def _innermost(spots: list[Spot]) -> list[Spot]:
    """Without scopes around one that is named already: a class holds what its method holds."""
    kept: list[Spot] = []
    for spot in spots:
        if not any(spot.file == k.file and k.scope.startswith(f"{spot.scope}.") for k in kept):
            kept.append(spot)
    return kept
