"""A hunk on the scope that it was reviewed in, and the record of where it stands now."""

from __future__ import annotations

from rebasekit.edit.blocks import Unplaceable
from rebasekit.edit.scopes import digest
from rebasekit.edit.script import ScriptError
from rebasekit.edit.source import Unreadable
from rebasekit.model.hunk import Form, Pin, Place
from rebasekit.model.placement import Outcome, Placement, Spot
from rebasekit.steps.landing import Landing
from rebasekit.steps.placing.question import Question
from rebasekit.steps.trial import Trial, anchor_matches, anchored, attempt, attempt_edit


def with_hunk(form: Form, old: Landing | None) -> Trial | str | None:
    """The scope at the pin with the hunk: a trial for structural places, text for edit scripts."""
    if old is None:
        return None
    try:
        if form.place in (Place.EDIT, Place.TEXT):
            return attempt_edit(form, old.source, old.scope)
        found = anchor_matches(form, old.scope)
        return attempt(form, old.source, old.scope, found) if len(found) == wanted_count(form) else None
    except (Unplaceable, ScriptError, Unreadable):
        return None


def wanted_count(form: Form) -> int:
    return form.count if anchored(form) else 0


def applied(
    question: Question, old: Landing | None, new: Landing, method: str, trial: Trial | None, unchanged: bool
) -> Placement:
    """A placement that applies; its line numbers come later, when all hunks of the file stand."""
    form, tag = question.form, question.tag
    here = old is not None and (new.file, new.scope.name) == (old.file, old.scope.name)
    outcome = Outcome.RELOCATED if not here and old is not None else Outcome.CARRIED if unchanged else Outcome.SHIFTED
    if question.pin == tag:
        outcome = Outcome.CARRIED
    scope_digest = (
        digest(new.scope.text(new.source)) if form.place in (Place.EDIT, Place.TEXT) else new.scope.digest(new.source)
    )
    moved = (new.file, new.scope.label) != (form.file, form.scope)
    pin = Pin(
        tag.name,
        scope_digest,
        trial.anchor if trial else "",
        trial.depth if trial else None,
        new.file if moved else None,
        new.scope.label if moved else None,
    )
    line = trial.matches[0].node.lineno if trial and trial.matches else new.scope.first
    return question.answer(
        outcome,
        file=new.file,
        scope=new.scope.label,
        spot=Spot(new.file, new.scope.label, line),
        depth=trial.depth if trial else None,
        pin=pin,
        method=method,
        decision="carried",
    )
