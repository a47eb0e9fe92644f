"""Ranges of tags when a hunk gets, or loses, a form from a release on. Ranges of variants never overlap."""

from __future__ import annotations

from dataclasses import replace

from rebasekit.model.hunk import Form, Hunk
from rebasekit.model.tag import Tag, in_range
from rebasekit.patches.editor import Editor
from rebasekit.patches.ranges import range_problem
from rebasekit.steps.workspace import first_of


def _before(form: Form, tag: Tag) -> Form | None:
    """The form for what of its range lies before `tag`; None when nothing does."""
    if not in_range(tag, form.tags):
        return form
    tags = f"{form.tags},<{tag}" if form.tags else f"<{tag}"
    return None if range_problem(tags) else replace(form, tags=tags)


def _start(form: Form) -> Tag | None:
    return first_of(form.tags) if form.tags else None


def with_variant(hunk: Hunk, form: Form, tag: Tag) -> Hunk:
    """The hunk with a form from `tag` on, up to where the one that was used there ends or the next begins.

    Those were reviewed on releases that nobody looks at now.
    """
    base, *variants = hunk.forms
    used = next((v for v in variants if in_range(tag, v.tags)), None)
    ends = [part for part in (used.tags or "").split(",") if part.strip().startswith("<")] if used else []
    later = min((start for v in variants if (start := _start(v)) is not None and start > tag), default=None)
    if later is not None:
        ends = [f"<{later}"]
    form = replace(form, tags=",".join([f">={tag}", *ends]))
    kept = [rest for v in variants if (rest := _before(v, tag))]
    at = next((i for i, v in enumerate(kept) if (start := _start(v)) is not None and start > tag), len(kept))
    return replace(hunk, forms=(base, *kept[:at], form, *kept[at:]))


def without(hunk: Hunk, tag: Tag) -> Hunk | None:
    """The hunk as it is before `tag`, with no form for it and what follows in the same range; None without a rest."""
    forms = tuple(rest for form in hunk.forms if (rest := _before(form, tag)))
    return replace(hunk, forms=forms) if forms else None


def write_hunk(editor: Editor, hunk: Hunk) -> None:
    """Stage a hunk as a whole."""
    patch = editor.load(hunk.patch)
    editor.replace_patch(replace(patch, hunks=tuple(hunk if h.id == hunk.id else h for h in patch.hunks)))
