"""Whether a scope that kept its name is still the one: upstream may have given the name to another.

`run` becomes `run_legacy` and a new `run` takes its place, or two twins change names: an anchor and a merge agree on
the namesake, because it is so much alike. What tells is a scope that now is more like the old one than the namesake and
was not so at the pin, or a scope of the pin that is gone and that the namesake is more like. The scope's own files are
looked through each time, other files when `farther` has found that they hold the lines.
"""

from __future__ import annotations

import ast
import weakref
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from rebasekit.edit.owned import Splice, spliced
from rebasekit.edit.scopes import DEFINITIONS, Scope, find, module_scope, walk
from rebasekit.edit.source import Source, Unreadable
from rebasekit.model.hunk import Place
from rebasekit.model.placement import Outcome, Spot
from rebasekit.model.tag import Tag
from rebasekit.steps.crosscheck import Sides, plain
from rebasekit.steps.landing import Landing, came_along, tail
from rebasekit.steps.placing.conflicts import conflict_of
from rebasekit.steps.placing.question import Placed, Question, Succession
from rebasekit.steps.placing.sides import with_hunk
from rebasekit.steps.trial import Trial

_FEWEST = 4  # lines of a body: shorter ones that are alike are so by chance, unless they are the same
_ALIKE = 0.8
_KNOWN: weakref.WeakKeyDictionary[ast.AST, Counter[str]] = weakref.WeakKeyDictionary()


def doubted(question: Question, old: Landing | None, placed: Placed) -> Placed:
    """The placement, or a question when another scope has a better claim."""
    answer = placed.placement
    moved = answer.outcome in (Outcome.SHIFTED, Outcome.RELOCATED)
    if not moved or old is None or question.form.place in (Place.IMPORT, Place.TEXT):
        return placed
    source = _read(question, question.tag, answer.file)
    found = find(source, answer.scope) if source else []
    if source is None or len(found) != 1:
        return placed
    new = Landing(answer.file, source, found[0])
    candidates: tuple[Spot, ...] = (Spot(answer.file, answer.scope, found[0].first),)
    heir, twin = _heir(question, old, new), _forebear(question, old, new)
    if _lines(old.source, old.scope).total() < 2 and not (heir and twin):
        heir = twin = None  # a single line is what many have: only an exchange tells
    if heir:
        candidates += (heir.spot,)
        reason = f"{_called(new)} may be another now: {_called(heir, new.file)} has more of what it was"
    elif twin:
        reason = f"{_called(new)} may be what {_called(twin, new.file)} was"
    else:
        was, now = _lines(old.source, old.scope), _lines(source, new.scope)
        return replace(placed, succession=Succession(question.pin, question.tag, (old.file, new.file), was, now))
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


def _called(landing: Landing, home: str | None = None) -> str:
    """A scope by its name, with the file where that is another one."""
    if not landing.scope.name:
        return f"`{landing.file}`"
    return f"`{landing.scope.label}`" + (f" in `{landing.file}`" if landing.file != (home or landing.file) else "")


def _heir(question: Question, old: Landing, found: Landing) -> Landing | None:
    """Another scope that became more like the old one than the found one is."""
    was, here = _lines(old.source, old.scope), _lines(found.source, found.scope)
    likeness = _likeness(was, here)
    for other in _others(question, question.tag, old, found, found.scope):
        now = _likeness(was, _lines(other.source, other.scope))
        if now < _least(other, old, found, was, was - here) or now <= likeness:
            continue
        if now > _most(question, was, other, question.pin, old):
            return other
    return None


def _forebear(question: Question, old: Landing, found: Landing) -> Landing | None:
    """Another scope at the pin that the found one is more like than the old one, and that went."""
    was, here = _lines(old.source, old.scope), _lines(found.source, found.scope)
    likeness = _likeness(here, was)
    renamed = tail(found.scope.name) != tail(old.scope.name)
    for other in _others(question, question.pin, old, found, old.scope):
        lines = _lines(other.source, other.scope)
        then = _likeness(here, lines)
        beyond = other.file not in (old.file, found.file)
        if then < _least(other, old, found, here, here - was) or then < likeness:
            continue
        if then == likeness and (beyond or not renamed):
            continue
        # a new name may be a copy's; a name that was there tells more than the likeness to a twin that still is
        if renamed or then > _most(question, lines, other, question.tag, found):
            return other
    return None


def _least(other: Landing, old: Landing, found: Landing, body: Counter[str], changed: Counter[str]) -> float:
    """How alike a rival has to be: to the line when the body is short.

    One in a file beyond has to be that too when the scope has all the lines that it had.
    """
    kept = not changed and other.file not in (old.file, found.file)
    return 1.0 if body.total() < _FEWEST or kept else _ALIKE


def _others(question: Question, tag: Tag, old: Landing, found: Landing, own: Scope) -> Iterator[Landing]:
    """Scopes of the same kind and about the same length, in both files and in those that hold the lines."""
    length = own.last - own.first
    beyond = question.farther.heirs if tag == question.tag else question.farther.forebears
    for file in dict.fromkeys((old.file, found.file, *beyond)):
        source = _read(question, tag, file)
        for scope in walk(module_scope(source)) if source else ():
            near = length <= 3 * (scope.last - scope.first) <= 9 * length
            if near and type(scope.node) is type(own.node) and scope.node is not own.node:
                yield Landing(file, source, scope)  # type: ignore[arg-type]


def _most(question: Question, lines: Counter[str], other: Landing, tag: Tag, home: Landing) -> float:
    """How much the other scope is like these lines on the tag, under its name or where it came from or went to."""
    source = _read(question, tag, other.file)
    stood = [Landing(other.file, source, scope) for scope in find(source, other.scope.label)] if source else []
    most = max((_likeness(lines, _lines(one.source, one.scope)) for one in stood), default=0.0)
    if not stood:
        tags = (question.pin, question.tag) if tag == question.pin else (question.tag, question.pin)
        moved = came_along(question.trees, home.file, other.file, other.scope, *tags)
        most = _likeness(lines, _lines(moved.source, moved.scope)) if moved else most
    return most


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
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 0.0
