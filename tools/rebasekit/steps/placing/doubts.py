"""What a person should look at although the hunk found its place."""

from __future__ import annotations

from rebasekit.edit.presence import Presence
from rebasekit.model.finding import Finding
from rebasekit.steps.landing import Landing
from rebasekit.steps.placing.guarded import other_guard
from rebasekit.steps.placing.question import Question
from rebasekit.steps.trial import Trial


def doubts(
    question: Question, new: Landing, trial: Trial, trial_old: Trial | None, seen: Presence | None
) -> tuple[Finding, ...]:
    """What a person should look at although the hunk found its place."""
    hunk, found = question.hunk, []
    show = f"rebasekit show {hunk.name}"
    record = question.form.pin.depth if question.form.pin else None
    if record is None and trial_old is not None:
        record = trial_old.depth
    message = ""
    if trial.depth is not None and record is not None and trial.depth != record:
        message = f"the anchor stands {trial.depth} blocks deep in its scope, at the pin it stood {record} deep"
    elif trial.matches and trial_old is not None and trial_old.matches:
        guards = other_guard(trial_old.matches[0].candidate, trial.matches[0].candidate, new.scope)
        if guards:
            message = f"the anchor stands under `{guards[1]}`, at the pin it stood under `{guards[0]}`"
    if message:
        line, step = trial.matches[0].node.lineno, f"rebasekit resolve {hunk.name}"
        found.append(Finding("misplaced", new.file, line, message, step, hunk.patch, hunk.id))
    if seen is not None:
        for whole in seen.whole:
            where = " under " + ", ".join(f"`{g}`" for g in whole.guards) if whole.guards else ""
            message = f"upstream has the same lines{where}, so they would run twice"
            found.append(Finding("upstreamed", new.file, whole.line, message, show, hunk.patch, hunk.id))
        for line in seen.parts:
            message = "upstream has one of the hunk's statements"
            found.append(Finding("partly-upstreamed", new.file, line, message, show, hunk.patch, hunk.id))
    return tuple(found)
