"""Where a hunk's scope is on a tag: by name, by a move that a person confirmed, or by following the move."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from rebasekit.edit.scopes import DEFINITIONS, Scope, find, module_scope, parse_name, walk
from rebasekit.edit.source import Source, Unreadable
from rebasekit.edit.tokens import tokens
from rebasekit.model.placement import Spot
from rebasekit.model.tag import Tag
from rebasekit.steps.trees import Trees

SAME_NAME = 0.35  # a scope that kept its name may have changed a lot: the three-way merge has the last word
NEW_NAME = 0.75  # one that did not has to look like the old one
MARGIN = 0.10


@dataclass(frozen=True)
class Landing:
    """A scope found on a tag."""

    file: str
    source: Source
    scope: Scope
    moved: bool = False
    likeness: float = 1.0

    @property
    def spot(self) -> Spot:
        return Spot(self.file, self.scope.label, self.scope.first)


@dataclass(frozen=True)
class Lost:
    """No landing: `nearest` are spots to look at; more than one equally good makes it `ambiguous`."""

    reason: str
    nearest: tuple[Spot, ...] = ()
    ambiguous: bool = False


def land(trees: Trees, tag: Tag, file: str, name: str) -> Landing | Lost:
    """The scope by its qualified name, in its own file."""
    source = trees.source(tag, file)
    if source is None:
        return Lost(f"`{file}` is not in {tag}")
    found = find(source, name)
    if len(found) == 1:
        return Landing(file, source, found[0])
    if found:
        spots = tuple(Spot(file, scope.label, scope.first) for scope in found)
        return Lost(f"`{name}` is defined {len(found)} times", spots, ambiguous=True)
    return Lost(f"`{name}` is not in `{file}`", _nearest(source, file, name))


def _nearest(source: Source, file: str, name: str) -> tuple[Spot, ...]:
    labels = {scope.label: scope for scope in walk(module_scope(source)) if scope.label}
    close = difflib.get_close_matches(name, labels, n=3, cutoff=0.3)
    return tuple(Spot(file, label, labels[label].first) for label in close)


def follow(trees: Trees, old: Landing, pin: Tag, tag: Tag) -> Landing | Lost:
    """Follow a scope that is gone from its place: the same name elsewhere, or the same body under a new name.

    What stood there at the pin already is no move: three twins stay three twins when one of them goes.
    """
    # a scope that kept its whole name is the one; only among equals does likeness decide
    options = _namesakes(trees, old, pin, tag) if old.scope.name else _module_options(trees, old, pin, tag)
    options = options or (_look_alikes(trees, old, pin, tag) if old.scope.name else [])
    if not options:
        source = trees.source(tag, old.file)
        near = _nearest_twins(source, old) if source else ()
        return Lost(f"`{old.scope.name or old.file}` is gone and nothing new looks like it", near)
    best = options[0]
    if twin := _other_origin(trees, old, best, tag):
        return Lost(f"`{best.scope.label}` may as well be what became of `{twin}`", (best.spot,), ambiguous=True)
    rivals = [o for o in options[1:] if best.likeness - o.likeness < MARGIN]
    if rivals:
        return Lost(
            f"`{old.scope.name}` may have moved to {1 + len(rivals)} places",
            tuple(option.spot for option in (best, *rivals)),
            ambiguous=True,
        )
    return best


def _namesakes(trees: Trees, old: Landing, pin: Tag, tag: Tag) -> list[Landing]:
    """The same qualified name in files that did not have it at the pin, the most alike first."""
    words = tokens(old.scope.text(old.source)) or []
    found = []
    for file in trees.defining(tag, parse_name(old.scope.name)[0][0]):
        source, before = _read(trees, tag, file), _read(trees, pin, file)
        if source is None or (before is not None and find(before, old.scope.label)):
            continue
        for scope in find(source, old.scope.label):
            likeness = _likeness(words, scope, source)
            if type(scope.node) is type(old.scope.node) and likeness >= SAME_NAME:
                found.append(Landing(file, source, scope, True, likeness))
    return sorted(found, key=lambda option: -option.likeness)


def _look_alikes(trees: Trees, old: Landing, pin: Tag, tag: Tag) -> list[Landing]:
    """New scopes of the same last name elsewhere, and new scopes of the same file with the same body."""
    words = tokens(old.scope.text(old.source)) or []
    name = tail(old.scope.name)
    found = []
    for file in dict.fromkeys([old.file, *trees.defining(tag, name)[:40]]):
        source, before = _read(trees, tag, file), _read(trees, pin, file)
        if source is None:
            continue
        identities = _identities(source)
        known, same = _labels(before), _identities(before)
        for scope in walk(module_scope(source)):
            kept = tail(scope.name) == name
            if type(scope.node) is not type(old.scope.node) or not (kept or file == old.file):
                continue
            # a twin whose twin is gone has another label, and is the same one
            if scope.label in known or identities[scope.label] in same.values():
                continue
            likeness = _likeness(words, scope, source)
            if likeness >= (SAME_NAME if kept else NEW_NAME) and not came_along(trees, old.file, file, scope, pin, tag):
                found.append(Landing(file, source, scope, True, likeness + (0.2 if kept else 0.0)))
    return sorted(found, key=lambda option: -option.likeness)


def came_along(trees: Trees, old: str, file: str, scope: Scope, pin: Tag, tag: Tag) -> Landing | None:
    """The same scope in another file at the pin, from which it is gone: then it moved here, and is nothing new."""
    if not scope.name:
        before = trees.origin(pin, tag, file)
        source = _read(trees, pin, before) if before else None
        return Landing(before, source, module_scope(source)) if before and source else None
    for other in dict.fromkeys([old, *trees.defining(pin, tail(scope.name))]):
        then = _read(trees, pin, other) if other != file else None
        stood = find(then, scope.label) if then else []
        if then and stood:
            now = _read(trees, tag, other)
            if now is None or not find(now, scope.label):
                return Landing(other, then, stood[0])
    return None


def _other_origin(trees: Trees, old: Landing, best: Landing, tag: Tag) -> str:
    """The label of another scope of the old file that is gone too and looks as much like the new one; else empty."""
    if best.scope.label == old.scope.label:
        return ""
    files = {old.file, best.file}
    there = [_identities(_read(trees, tag, file)) for file in sorted(files)]
    words, was = tokens(best.scope.text(best.source)) or [], _identities(old.source)
    for scope in walk(module_scope(old.source)):
        identity = was[scope.label]
        if scope.label == old.scope.label or type(scope.node) is not type(best.scope.node):
            continue
        if any(identity in known.values() for known in there):
            continue
        bonus = 0.2 if tail(scope.name) == tail(best.scope.name) else 0.0
        if _likeness(words, scope, old.source) + bonus > best.likeness - MARGIN:
            return scope.label
    return ""


def _labels(source: Source | None) -> set[str]:
    return {scope.label for scope in walk(module_scope(source))} if source else set()


def _identities(source: Source | None) -> dict[str, tuple[object, ...]]:
    """What names each scope whether it has twins or not: the names around it, each with decorators and guards."""
    found: dict[str, tuple[object, ...]] = {}

    def add(scope: Scope, above: tuple[object, ...]) -> None:
        own = (*above, scope.name, scope.marks)
        found[scope.label] = own
        for child in scope.children:
            add(child, own)

    if source is not None:
        add(module_scope(source), ())
    return found


def _read(trees: Trees, tag: Tag, file: str) -> Source | None:
    try:
        return trees.source(tag, file)
    except Unreadable:
        return None


def _module_options(trees: Trees, old: Landing, pin: Tag, tag: Tag) -> list[Landing]:
    file = trees.renamed(pin, tag, old.file)
    source = trees.source(tag, file) if file else None
    return [Landing(file, source, module_scope(source), True)] if file and source else []


def tail(name: str) -> str:
    """The last part of a qualified name; empty for the module."""
    return parse_name(name)[-1][0] if name else ""


def _likeness(words: list[str], scope: Scope, source: Source) -> float:
    other = tokens(scope.text(source)) or []
    if not words or not other or not 0.2 < len(words) / len(other) < 5:
        return 0.0
    matcher = difflib.SequenceMatcher(None, words, other, autojunk=False)
    if matcher.real_quick_ratio() < SAME_NAME or matcher.quick_ratio() < SAME_NAME:
        return 0.0
    return matcher.ratio() if len(words) * len(other) < 4_000_000 else matcher.quick_ratio()


def _nearest_twins(source: Source, old: Landing) -> tuple[Spot, ...]:
    words = tokens(old.scope.text(old.source)) or []
    rated = [
        (_likeness(words, scope, source), scope)
        for scope in walk(module_scope(source))
        if isinstance(scope.node, DEFINITIONS) and type(scope.node) is type(old.scope.node)
    ]
    best = sorted((r for r in rated if r[0] > SAME_NAME), key=lambda r: -r[0])[:3]
    return tuple(Spot(old.file, scope.label, scope.first) for _, scope in best)
