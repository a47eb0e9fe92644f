"""Hunks with a place of structure: the anchor decides, a merge has to agree."""

from __future__ import annotations

from dataclasses import replace

from rebasekit.edit.blocks import AlreadyThere, Unplaceable
from rebasekit.edit.imports import already_bound, clash
from rebasekit.edit.places import STATEMENT_PLACES
from rebasekit.edit.presence import presence
from rebasekit.edit.source import Unreadable
from rebasekit.model.finding import Finding
from rebasekit.model.hunk import Form, Place
from rebasekit.model.placement import Outcome, Spot
from rebasekit.steps import crosscheck
from rebasekit.steps.crosscheck import Sides
from rebasekit.steps.landing import Landing
from rebasekit.steps.placing import unordered
from rebasekit.steps.placing.conflicts import conflicting
from rebasekit.steps.placing.doubts import doubts
from rebasekit.steps.placing.missed import miscounted
from rebasekit.steps.placing.question import Placed, Question
from rebasekit.steps.placing.sides import applied, with_hunk
from rebasekit.steps.trial import Trial, anchor_matches, anchored, attempt

# the digest of a module or class leaves out what is in its definitions, and these may take a definition out
TAKES_OUT = (Place.REPLACE, Place.DELETE)


def structural(question: Question, old: Landing | None, new: Landing) -> Placed:
    form = question.form
    if (
        old
        and old.file == new.file
        and old.scope.text(old.source) == new.scope.text(new.source)
        and not _stale(form, old)
    ):
        return _unchanged(question, old, new)
    if old and _stale(form, old):
        reason = f"the pin does not say what {question.pin} has in `{old.scope.name or old.file}`"
        sides = Sides.of(old.scope.text(old.source), form.lines, new.scope.text(new.source))
        return conflicting(question, old, new, sides, reason)
    ours = with_hunk(form, old)
    trial_old = ours if isinstance(ours, Trial) else None
    # an argument such as `size=8` would read as a statement
    statements = form.place in STATEMENT_PLACES - {Place.DELETE}
    seen = presence(form.lines, new.scope, old.scope if old else None) if statements else None
    if trial_old and old:
        sides = Sides.of(trial_old.before, trial_old.after, new.scope.text(new.source))
        if crosscheck.upstreamed(sides):
            return Placed(question.answer(Outcome.UPSTREAMED, "upstream made the same change", spot=new.spot))
    else:
        sides = Sides.of("", form.lines, new.scope.text(new.source))
    if seen and seen.clashes:
        name, line = seen.clashes[0]
        reason = f"upstream now defines `{name}` itself, at line {line}"
        return conflicting(question, old, new, sides, reason)
    found = anchor_matches(form, new.scope)
    block = id(found[0].candidate.siblings) if found else None
    for whole in seen.whole if seen else ():
        definitions = "def " in form.lines or "class " in form.lines
        if whole.block == block or (definitions and not whole.guards) or not anchored(form) or not found:
            spot = Spot(new.file, new.scope.label, whole.line)
            words = "" if whole.exact else " in another spelling"
            return Placed(question.answer(Outcome.UPSTREAMED, f"upstream has these lines{words}", spot=spot))
    if anchored(form) and len(found) != form.count:
        return miscounted(question, old, new, trial_old, len(found), sides)
    try:
        trial = attempt(form, new.source, new.scope, found)
    except AlreadyThere as error:
        return Placed(question.answer(Outcome.UPSTREAMED, str(error), spot=new.spot))
    except (Unplaceable, Unreadable) as error:
        return conflicting(question, old, new, sides, str(error))
    return _checked(question, old, new, trial_old, trial, sides, doubts(question, new, trial, trial_old, seen))


def _stale(form: Form, old: Landing) -> bool:
    """Whether the pin's digest is not of the scope that the store has for its tag."""
    return form.pin is not None and bool(form.pin.scope) and form.pin.scope != old.scope.digest(old.source)


def _unchanged(question: Question, old: Landing, new: Landing) -> Placed:
    """The scope is the same to the byte: the anchor fits as it did, and there is nothing to compare."""
    form = question.form
    found = anchor_matches(form, new.scope)
    text = new.scope.text(new.source)
    sides = Sides.of(text, form.lines, text)
    if anchored(form) and len(found) != form.count:
        return miscounted(question, old, new, None, len(found), sides)
    try:
        if form.place is Place.IMPORT and (taken := clash(form.lines, new.source)):
            return conflicting(question, old, new, sides, taken)
        trial = attempt(form, new.source, new.scope, found)
    except (Unplaceable, Unreadable) as error:
        return conflicting(question, old, new, sides, str(error))
    return Placed(applied(question, old, new, "unchanged", trial, True), trial.splices)


def _checked(
    question: Question,
    old: Landing | None,
    new: Landing,
    trial_old: Trial | None,
    trial: Trial,
    sides: Sides,
    doubtful: tuple[Finding, ...],
) -> Placed:
    form = question.form
    unchanged = old is not None and old.scope.digest(old.source) == new.scope.digest(new.source)
    if form.place is Place.IMPORT:
        if already_bound(form.lines, new.source) and not (old and already_bound(form.lines, old.source)):
            return Placed(question.answer(Outcome.UPSTREAMED, "upstream imports the same names", spot=new.spot))
        if taken := clash(form.lines, new.source):
            return conflicting(question, old, new, sides, taken)
        placement = applied(question, old, new, "names are free", trial, unchanged)
    elif old is None or trial_old is None:
        if old is None and question.pin != question.tag:
            reason = f"`{form.file}` had no `{form.scope}` at the pin {question.pin}: nothing to compare with"
            return conflicting(question, old, new, sides, reason, trial)
        if question.pin != question.tag:
            return conflicting(question, old, new, sides, f"the anchor does not fit the pin {question.pin}", trial)
        placement = applied(question, old, new, "anchor only", trial, False)
    elif unchanged and (form.place not in TAKES_OUT or trial.anchor == trial_old.anchor):
        placement = applied(question, old, new, "unchanged", trial, True)
    else:
        agreement = crosscheck.agree(sides, trial.after)
        method = agreement.method or unordered.free(form, trial_old, trial)
        if not method:
            return conflicting(question, old, new, sides, agreement.reason, trial)
        placement = applied(question, old, new, f"anchor and {method}", trial, False)
    return Placed(replace(placement, findings=doubtful), trial.splices)
