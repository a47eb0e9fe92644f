"""What a person agrees to when they merge: pins of hunks that stand without a doubt, and the series' base."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from rebasekit.errors import StateError
from rebasekit.model.hunk import Hunk
from rebasekit.model.tag import Tag, in_range
from rebasekit.model.verdict import Verdict
from rebasekit.patches.document import Document
from rebasekit.patches.editor import Editor
from rebasekit.steps.accept import pin_hunks, pinned
from rebasekit.steps.rebase import carry
from rebasekit.steps.workspace import Workspace, check_pattern

_SERIES = "patchset/series.toml"


@dataclass(frozen=True)
class Moved:
    """Names of hunks whose pins now say the release, and of placed or open hunks whose pins stay."""

    pins: tuple[str, ...]
    stay: tuple[str, ...]


def move(space: Workspace, verdict: Verdict) -> Moved:
    """Write pins and base for the verdict's release into the patchset; decisions stay as they are.

    A hunk with a finding, or without a place, keeps the pin that a person gave it. Raises StateError when the series
    with its new pins would make other files than the one that was checked.
    """
    base, tag = space.series.base, verdict.tag
    placements = {p.name: p for p in verdict.placements}
    meant = [hunk for hunk in space.series.hunks() if hunk.form_for(tag)]
    good = [h for h in meant if placements[h.name].outcome.applied and not placements[h.name].findings]
    stay = [h for h in meant if h not in good]
    with Editor(space.root, check=check_pattern) as editor:
        for hunk in stay:
            _keep(space, editor, hunk, tag, base)
        text = Document(editor.read(_SERIES).decode())
        text.set(0, "base", tag.name, ())
        editor.write(_SERIES, text.text)
        editor.commit()
    pin_hunks(Workspace(space.root, space.cache), good, tag, placements, {base, tag})
    after = carry(Workspace(space.root, space.cache), tag).verdict
    if after.tree != verdict.tree:
        raise StateError(f"with its pins moved to {tag}, the series makes other files: the pins cannot be moved")
    return Moved(tuple(h.name for h in good), tuple(h.name for h in stay))


def _keep(space: Workspace, editor: Editor, hunk: Hunk, tag: Tag, base: Tag) -> None:
    """Say the old base in the pin of a form that has none: without it, the new base would count as reviewed."""
    selected = hunk.form_for(tag)
    assert selected is not None
    index, form = selected
    if form.pin is None and in_range(base, form.tags):
        with suppress(StateError):  # it never fitted the old base, so it was not written on it
            editor.set_pin(hunk, index, pinned(space, hunk, form, base).pin)
