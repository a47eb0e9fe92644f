"""Whether a scope that kept its name is still the one: upstream may have given the name to another.

`run` becomes `run_legacy` and a new `run` takes its place, or two twins change names: an anchor and a merge agree on
the namesake, because it is so much alike. What tells is a scope that now is more like the old one than the namesake and
was not so at the pin, or a scope of the pin that is gone and that the namesake is more like.
"""

from __future__ import annotations

import ast
import weakref
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from rebasekit.edit.owned import Splice, spliced
from rebasekit.edit.scopes import DEFINITIONS, Scope, find, module_scope, parse_name, walk
from rebasekit.edit.source import Source, Unreadable
from rebasekit.model.hunk import Place
from rebasekit.model.placement import Outcome, Spot
from rebasekit.model.tag import Tag
from rebasekit.steps.crosscheck import Sides, plain
from rebasekit.steps.landing import Landing
from rebasekit.steps.placing.conflicts import conflict_of
from rebasekit.steps.placing.question import Placed, Question
from rebasekit.steps.placing.sides import with_hunk
from rebasekit.steps.trial import Trial

_FEWEST = 4  # lines of a body: shorter ones are alike by chance
_ALIKE = 0.8
_KNOWN: weakref.WeakKeyDictionary[ast.AST, Counter[str]] = weakref.WeakKeyDictionary()


def doubted(question: Question, old: Landing | None, placed: Placed) -> Placed:
    """The placement, or a question when another scope has a better claim."""
    answer = placed.placement
    moved = answer.outcome in (Outcome.SHIFTED, Outcome.RELOCATED)
    if not moved or old is None or not old.scope.name or question.form.place in (Place.IMPORT, Place.TEXT):
        return placed
    source = _read(question, question.tag, answer.file)
    found = find(source, answer.scope) if source else []
    if source is None or len(found) != 1:
        return placed
    new = Landing(answer.file, source, found[0])
    candidates: tuple[Spot, ...] = (Spot(answer.file, answer.scope, found[0].first),)
    if spot := _heir(question, old, new):
        candidates += (spot,)
        reason = f"`{answer.scope}` may be another now: `{spot.scope}` has more of what it was"
    elif twin := _forebear(question, old, new):
        reason = f"`{answer.scope}` may be what `{twin}` was"
    else:
        return placed
    with_ours = with_hunk(question.form, old)
    ours = with_ours.after if isinstance(with_ours, Trial) else with_ours or question.form.lines
    sides = Sides.of(old.scope.text(old.source), ours, new.scope.text(source))
    conflict = conflict_of(question, sides, reason, old, new)
    if question.form.place is not Place.EDIT:  # `accept` takes what an anchor says
        conflict = replace(conflict, alone=_with_splices(new, placed))
    doubt = question.answer(Outcome.AMBIGUOUS, reason, candidates=candidates, conflict=conflict, decision="due")
    return Placed(replace(doubt, file=answer.file, scope=answer.scope, spot=answer.spot))


def _with_splices(new: Landing, placed: Placed) -> str:
    """The scope with the hunk where it was about to go."""
    start, end = new.source.starts[new.scope.first - 1], new.source.starts[new.scope.last]
    inside = [
        Splice(s.start - start, s.end - start, s.new) for s in placed.splices if start <= s.start and s.end <= end
    ]
    return plain(spliced(new.scope.text(new.source), inside))


def _heir(question: Question, old: Landing, found: Landing) -> Spot | None:
    """Another scope that became more like the old one than the found one is."""
    was = _lines(old.source, old.scope)
    if sum(was.values()) < _FEWEST:
        return None
    likeness = _likeness(was, _lines(found.source, found.scope))
    for file, source, scope in _others(question, question.tag, old, found, found.scope):
        now = _likeness(was, _lines(source, scope))
        if now < _ALIKE or now <= likeness:
            continue
        if now > _most(was, _read(question, question.pin, file), scope.label):
            return Spot(file, scope.label, scope.first)
    return None


def _forebear(question: Question, old: Landing, found: Landing) -> str:
    """The label of another scope at the pin that the found one is more like than the old one, and that went."""
    here = _lines(found.source, found.scope)
    if sum(here.values()) < _FEWEST:
        return ""
    likeness = _likeness(here, _lines(old.source, old.scope))
    renamed = parse_name(found.scope.name)[-1][0] != parse_name(old.scope.name)[-1][0]
    for file, source, scope in _others(question, question.pin, old, found, old.scope):
        then = _likeness(here, _lines(source, scope))
        if then < _ALIKE or then < likeness or (then == likeness and not renamed):
            continue
        # a new name may be a copy's; a name that was there tells more than the likeness to a twin that still is
        if renamed or then > _most(_lines(source, scope), _read(question, question.tag, file), scope.label):
            return scope.label
    return ""


def _others(
    question: Question, tag: Tag, old: Landing, found: Landing, own: Scope
) -> Iterator[tuple[str, Source, Scope]]:
    """Scopes of the same kind and about the same length in both files; other files would take longer than placing."""
    length = own.last - own.first
    for file in dict.fromkeys((old.file, found.file)):
        source = _read(question, tag, file)
        for scope in walk(module_scope(source)) if source else ():
            near = length <= 3 * (scope.last - scope.first) <= 9 * length
            if near and type(scope.node) is type(own.node) and scope.node is not own.node:
                yield file, source, scope  # type: ignore[misc]


def _most(lines: Counter[str], source: Source | None, label: str) -> float:
    """How much the scope of that label is like these lines; nothing when there is none."""
    found = find(source, label) if source is not None else []
    return max((_likeness(lines, _lines(source, scope)) for scope in found), default=0.0)  # type: ignore[arg-type]


def _read(question: Question, tag: Tag, file: str) -> Source | None:
    try:
        return question.trees.source(tag, file)
    except Unreadable:
        return None


def _lines(source: Source, scope: Scope) -> Counter[str]:
    """The lines of a scope's body, without blanks, comments and the header, which has the name."""
    known = _KNOWN.get(scope.node)
    if known is None:
        body = scope.body
        first = body[0].lineno if isinstance(scope.node, DEFINITIONS) and body else scope.first
        stripped = (line.strip() for line in source.lines[first - 1 : scope.last])
        known = _KNOWN[scope.node] = Counter(line for line in stripped if line and not line.startswith("#"))
    return known


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    """How much of two bodies is the same lines, 0 … 1."""
    total = sum(one.values()) + sum(other.values())
    return 2 * sum((one & other).values()) / total if total else 0.0
