"""Hunks whose scope or anchor is not where it was."""

from __future__ import annotations

from dataclasses import replace

from rebasekit.edit.blocks import Unplaceable
from rebasekit.edit.source import Unreadable
from rebasekit.model.placement import Outcome, Placement, Spot
from rebasekit.steps import moves
from rebasekit.steps.crosscheck import Sides
from rebasekit.steps.landing import Landing, Lost
from rebasekit.steps.placing.conflicts import conflict_of, conflicting
from rebasekit.steps.placing.question import Placed, Question
from rebasekit.steps.placing.sides import applied, with_hunk
from rebasekit.steps.placing.traces import traces
from rebasekit.steps.trial import Trial, anchor_matches, attempt


def lost_scope(question: Question, old: Landing | None, lost: Lost) -> Placed:
    outcome = Outcome.AMBIGUOUS if lost.ambiguous else Outcome.MISSING
    conflict = None
    if old is not None:
        ours = with_hunk(question.form, old)
        sides = Sides.of(old.scope.text(old.source), ours.after if isinstance(ours, Trial) else ours or "", "")
        conflict = replace(conflict_of(question, sides, lost.reason), theirs=None, merged="")
        if not lost.ambiguous:
            trees, tag = question.trees, question.tag
            file = old.file if trees.exists(tag, old.file) else trees.renamed(question.pin, tag, old.file) or old.file
            near = traces(trees, tag, file, sides.base, sides.ours)
            told = {(spot.file, spot.scope) for spot in near}
            near += tuple(spot for spot in lost.nearest if (spot.file, spot.scope) not in told)
            lost = replace(lost, nearest=near[:5])
    return Placed(question.answer(outcome, lost.reason, candidates=lost.nearest, conflict=conflict))


def miscounted(
    question: Question, old: Landing | None, new: Landing, trial_old: Trial | None, count: int, sides: Sides
) -> Placed:
    form = question.form
    if count > 0:
        found = anchor_matches(form, new.scope)
        spots = tuple(Spot(new.file, new.scope.label, m.node.lineno) for m in found)
        reason = f"the anchor fits {count} statements, it has to fit {form.count}"
        conflict = conflict_of(question, sides, reason, old, new)
        return _in(new, question.answer(Outcome.AMBIGUOUS, reason, candidates=spots, conflict=conflict))
    if trial_old is not None and old is not None:
        moved = moves.statement_moved(question.trees, trial_old, old, new, question.tag, question.pin)
        if isinstance(moved, moves.Moved):
            try:
                trial = attempt(form, moved.landing.source, moved.landing.scope, (moved.match,))
            except (Unplaceable, Unreadable) as error:
                return conflicting(question, old, moved.landing, sides, str(error))
            method = f"same statement, same {moved.neighbour}"
            return Placed(applied(question, old, moved.landing, method, trial, False), trial.splices)
        if isinstance(moved, Lost):
            outcome = Outcome.AMBIGUOUS if moved.ambiguous else Outcome.MISSING
            conflict = conflict_of(question, sides, moved.reason, old, new)
            return _in(new, question.answer(outcome, moved.reason, candidates=moved.nearest, conflict=conflict))
    reason = f"nothing in `{new.scope.name or new.file}` fits the anchor"
    conflict = conflict_of(question, sides, reason, old, new)
    near = moves.fitting_elsewhere(question.trees, form, question.tag, question.pin)
    near += moves.nearest_statements(trial_old, new) if trial_old else ()
    return _in(new, question.answer(Outcome.MISSING, reason, candidates=near, conflict=conflict))


def _in(new: Landing, answer: Placement) -> Placed:
    """An answer about a scope that is there, though what the hunk stood at is not."""
    return Placed(replace(answer, file=new.file, scope=new.scope.label))
