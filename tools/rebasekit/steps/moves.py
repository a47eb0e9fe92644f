"""Moves: those that a person confirmed, and statements that went to another scope."""

from __future__ import annotations

import ast
import difflib
from dataclasses import dataclass, replace

from rebasekit.edit.match import Candidate, Match, candidates, matches
from rebasekit.edit.patterns import parse_pattern
from rebasekit.edit.presence import fingerprint
from rebasekit.edit.scopes import Scope, module_scope, walk
from rebasekit.edit.source import Source, Unreadable
from rebasekit.model.hunk import Form
from rebasekit.model.placement import Spot
from rebasekit.model.tag import Tag, in_range
from rebasekit.patches.moves import Location, Move
from rebasekit.steps.landing import Landing, Lost, came_along
from rebasekit.steps.trees import Trees
from rebasekit.steps.trial import Trial, anchor_text


@dataclass(frozen=True)
class Moves:
    """All confirmed moves; they win over anything that is found by likeness."""

    moves: tuple[Move, ...] = ()

    def find(self, file: str, scope: str, tag: Tag) -> Move | None:
        """The move of a scope on a tag; a move of a whole file takes its scopes along."""
        for move in self.moves:
            if not in_range(tag, move.tags) or move.source.file != file:
                continue
            if move.source.scope == scope:
                return move
            if not move.source.scope:
                return replace(move, target=Location(move.target.file, scope))
        return None


@dataclass(frozen=True)
class Moved:
    """The anchor's statement in its new scope; `neighbour` says which statement beside it came along."""

    landing: Landing
    match: Match
    neighbour: str


def whole_file(source: Source) -> Scope:
    """A file that need not be Python, as one scope."""
    return Scope("", "", ast.Module([], []), 1, len(source.lines))


def statement_moved(trees: Trees, trial: Trial, old: Landing, new: Landing, tag: Tag, pin: Tag) -> Moved | Lost | None:
    """Find the anchor's statement in a scope that did not have it at the pin.

    The same statement alone is no proof: a statement beside it must have come along. None when it is nowhere new.
    """
    if len(trial.matches) != 1:
        return None
    wanted = trial.matches[0].candidate
    found: list[Moved] = []
    bare: list[Spot] = []
    for file in [new.file, *(f for f in _elsewhere(trees, tag, trial) if f != new.file)]:
        source, before = _read(trees, tag, file), _read(trees, pin, file)
        if source is None:
            continue
        known = _scopes_with(before, wanted.node) if before else set()
        for scope in walk(module_scope(source)):
            if scope.label in known:
                continue
            for candidate in candidates(scope):
                if _same(candidate.node, wanted.node):
                    stood = came_along(trees, old.file, file, scope, pin, tag)
                    if stood and _holds(stood.scope, wanted.node):
                        continue
                    neighbour = _neighbour(wanted, candidate, new.scope)
                    landing = Landing(file, source, scope, True)
                    if neighbour:
                        found.append(Moved(landing, _as_match(trial.matches[0], candidate), neighbour))
                    else:
                        bare.append(Spot(file, scope.label, candidate.node.lineno))
    if len(found) == 1:
        return found[0]
    if found:
        spots = tuple(Spot(m.landing.file, m.landing.scope.label, m.match.node.lineno) for m in found)
        return Lost(f"the anchor's statement may have moved to {len(found)} places", spots, ambiguous=True)
    if bare:
        reason = (
            "the anchor's statement is gone from its scope; the same statement is new elsewhere, without its neighbours"
        )
        return Lost(reason, tuple(bare[:5]))
    return None


def _as_match(old: Match, candidate: Candidate) -> Match:
    """The old match's pattern nodes carried over to the same statement elsewhere."""
    pairs = zip(ast.walk(old.node), ast.walk(candidate.node), strict=True)
    twin = {id(a): b for a, b in pairs}
    return Match(candidate, {p: twin.get(id(n), n) for p, n in old.nodes.items()})


def _read(trees: Trees, tag: Tag, file: str) -> Source | None:
    try:
        return trees.source(tag, file)
    except Unreadable:
        return None


def _elsewhere(trees: Trees, tag: Tag, trial: Trial) -> list[str]:
    """Files that hold the anchor's most telling line."""
    lines = anchor_text(trial.source, trial.matches[0].node).splitlines()
    line = max((line.strip() for line in lines), key=len, default="")
    return trees.holding(tag, line)[:20] if len(line) >= 12 else []


def _scopes_with(source: Source, node: ast.stmt) -> set[str]:
    return {scope.label for scope in walk(module_scope(source)) if _holds(scope, node)}


def _holds(scope: Scope, node: ast.stmt) -> bool:
    return any(_same(candidate.node, node) for candidate in candidates(scope))


def _same(a: ast.stmt, b: ast.stmt) -> bool:
    """Equal statements; most differ in what is cheap to see."""
    return type(a) is type(b) and fingerprint(a) == fingerprint(b) and ast.dump(a) == ast.dump(b)


def _neighbour(old: Candidate, new: Candidate, home: Scope) -> str:
    """Which statement came along; one that is still where it was did not, and the new place is a copy."""
    for step, word in ((1, "next statement"), (-1, "statement before")):
        a, b = _beside(old, step), _beside(new, step)
        if a is not None and b is not None and ast.dump(a) == ast.dump(b) and not _holds(home, a):
            return word
    return ""


def _beside(candidate: Candidate, step: int) -> ast.stmt | None:
    index = candidate.index + step
    return candidate.siblings[index] if 0 <= index < len(candidate.siblings) else None


def nearest_statements(trial: Trial, new: Landing) -> tuple[Spot, ...]:
    """The statements of the new scope that look most like the anchor."""
    wanted = anchor_text(trial.source, trial.matches[0].node).strip() if trial.matches else ""
    rated = []
    for candidate in candidates(new.scope):
        if wanted and type(candidate.node) is type(trial.matches[0].node):
            text = anchor_text(new.source, candidate.node).strip()
            rated.append(
                (difflib.SequenceMatcher(None, wanted[:2000], text[:2000]).quick_ratio(), candidate.node.lineno)
            )
    best = sorted((r for r in rated if r[0] > 0.5), reverse=True)[:3]
    return tuple(Spot(new.file, new.scope.label, line) for _, line in best)


def fitting_elsewhere(trees: Trees, form: Form, tag: Tag, pin: Tag) -> tuple[Spot, ...]:
    """Statements in other scopes that fit the anchor on the tag and did not at the pin: where to look first."""
    pattern = parse_pattern(form.at)
    words = [word for word in pattern.words if len(word) >= 4]
    if not words:
        return ()
    found: list[Spot] = []
    for file in trees.holding(tag, max(words, key=len))[:12]:
        source, before = _read(trees, tag, file), _read(trees, pin, file)
        if source is None:
            continue
        known = {s.label for s in walk(module_scope(before)) if matches(pattern, s)} if before else set()
        for scope in walk(module_scope(source)):
            if scope.label not in known:
                found += [Spot(file, scope.label, m.node.lineno) for m in matches(pattern, scope)]
    return tuple(found[:5])
