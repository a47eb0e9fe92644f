"""Hunks that add or delete a whole file."""

from __future__ import annotations

from rebasekit.edit.scopes import digest
from rebasekit.edit.tokens import same
from rebasekit.model.hunk import Pin
from rebasekit.model.placement import Outcome, Spot
from rebasekit.steps.crosscheck import Sides
from rebasekit.steps.placing.conflicts import conflict_of
from rebasekit.steps.placing.question import Placed, Question


def new_file(question: Question) -> Placed:
    form = question.form
    data = form.lines.encode()
    have = question.trees.data(question.tag, form.file)
    if have is None:
        spot = Spot(form.file, "", 1)
        lines = tuple(range(1, form.lines.count("\n") + 1 + (not form.lines.endswith("\n") and bool(form.lines))))
        pin = Pin(question.tag.name, digest(form.lines))
        placement = question.answer(
            Outcome.CARRIED, spot=spot, lines=lines, depth=0, pin=pin, method="no such file", decision="carried"
        )
        return Placed(placement, new_file=data)
    text = have.decode("utf-8", "replace")
    if have == data or same(text, form.lines):
        return Placed(question.answer(Outcome.UPSTREAMED, f"upstream has `{form.file}` itself"))
    sides = Sides("", form.lines, text)
    reason = f"upstream now has a file of its own at `{form.file}`"
    return Placed(question.answer(Outcome.CONFLICT, reason, conflict=conflict_of(question, sides, reason)))


def delete_file(question: Question) -> Placed:
    """The whole file goes; only the file that was looked at."""
    form, trees = question.form, question.trees
    base, now = trees.data(question.pin, form.file), trees.data(question.tag, form.file)
    if now is None:
        if base is None:
            return Placed(
                question.answer(Outcome.MISSING, f"`{form.file}` is neither in {question.pin} nor in {question.tag}")
            )
        return Placed(question.answer(Outcome.UPSTREAMED, f"upstream deleted `{form.file}` itself"))
    if base != now:
        sides = Sides((base or b"").decode(errors="replace"), "", now.decode(errors="replace"))
        reason = f"`{form.file}` changed since the pin {question.pin}, and the hunk deletes it"
        return Placed(
            question.answer(Outcome.CONFLICT, reason, conflict=conflict_of(question, sides, reason), decision="due")
        )
    pin = Pin(question.tag.name, digest(now.decode(errors="replace")))
    placement = question.answer(
        Outcome.CARRIED, pin=pin, method="unchanged", spot=Spot(form.file, "", 0), decision="carried"
    )
    return Placed(placement, deletes=True)
