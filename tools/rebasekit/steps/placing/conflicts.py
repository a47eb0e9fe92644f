"""Hunks that cannot be placed: both sides, upstream's change, and the key by which a resolution is remembered."""

from __future__ import annotations

import difflib
import hashlib
from dataclasses import replace

from rebasekit.edit.scopes import digest
from rebasekit.model.placement import Conflict, Outcome, Spot
from rebasekit.steps.crosscheck import Sides, plain
from rebasekit.steps.landing import Landing
from rebasekit.steps.placing.question import Placed, Question
from rebasekit.steps.trial import Trial
from rebasekit.upstream.textdiff import diff_unified


def conflicting(
    question: Question, old: Landing | None, new: Landing, sides: Sides, reason: str, trial: Trial | None = None
) -> Placed:
    """The answer that a person has to place the hunk; `trial` is where its anchor alone puts it."""
    conflict = conflict_of(question, sides, reason, old, new)
    line = new.scope.first + meeting(sides)
    if trial is not None:
        conflict = replace(conflict, alone=plain(trial.after))
        line = trial.matches[0].node.lineno if trial.matches else line
    spot = Spot(new.file, new.scope.label, line)
    answer = question.answer(Outcome.CONFLICT, reason, conflict=conflict, spot=spot, decision="due")
    return Placed(replace(answer, file=new.file, scope=new.scope.label))


def meeting(sides: Sides) -> int:
    """How many lines of the scope on the tag come before the first conflict; 0 without one."""
    if not sides.merge.conflicts:
        return 0
    chosen, start = "", 0
    for segment in sides.merge.segments:
        if segment.kind == "conflict":
            start = start or 1 + chosen.count("\n")
            chosen += segment.theirs
        else:
            chosen += segment.ours
    # lines of ours that merged are in the text, and not in upstream's
    matcher = difflib.SequenceMatcher(None, chosen.splitlines(), sides.theirs.splitlines(), autojunk=False)
    for _, first, last, there, end in matcher.get_opcodes():
        if first <= start - 1 < last:
            return min(there + start - 1 - first, max(there, end - 1))
    return max(0, sides.theirs.count("\n") - 1)


def conflict_of(
    question: Question, sides: Sides, reason: str, old: Landing | None = None, new: Landing | None = None
) -> Conflict:
    form = question.form
    parts = [form.place.value, form.at, form.to, form.lines, digest(sides.base), digest(sides.theirs)]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    upstream = ""
    if old and new:
        before, after = f"{question.pin}/{old.file}", f"{question.tag}/{new.file}"
        upstream = diff_unified(sides.base, sides.theirs, before, after)
    return Conflict(key, reason, sides.base, sides.ours, sides.theirs, upstream, sides.merge.text)
