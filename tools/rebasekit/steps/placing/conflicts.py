"""Hunks that cannot be placed: both sides, upstream's change, and the key by which a resolution is remembered."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from rebasekit.edit.scopes import digest
from rebasekit.model.placement import Conflict, Outcome
from rebasekit.steps.crosscheck import Sides
from rebasekit.steps.landing import Landing
from rebasekit.steps.placing.question import Placed, Question
from rebasekit.upstream.textdiff import diff_unified


def conflicting(question: Question, old: Landing | None, new: Landing, sides: Sides, reason: str) -> Placed:
    conflict = conflict_of(question, sides, reason, old, new)
    answer = question.answer(Outcome.CONFLICT, reason, conflict=conflict, spot=new.spot, decision="due")
    return Placed(replace(answer, file=new.file, scope=new.scope.label))


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
