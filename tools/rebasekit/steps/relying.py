"""Defaults that a new patch relies on without saying so, found on the release it was made on."""

from __future__ import annotations

from dataclasses import replace

from rebasekit.checks.defaults import ReliedHunk, propose
from rebasekit.facts.query import Facts, open_facts, stepper
from rebasekit.facts.records import FUNCTION
from rebasekit.facts.source import ListingTree
from rebasekit.model.hunk import Hunk, Patch
from rebasekit.model.progress import SILENT, Progress
from rebasekit.model.tag import Tag
from rebasekit.steps.patched import settings_of
from rebasekit.steps.workspace import Workspace


def with_relies(space: Workspace, onto: Tag, patch: Patch, progress: Progress = SILENT) -> Patch:
    """The patch with `relies` entries for the defaults without which serving would not reach its functions.

    Hunks that stand in no function of the release rely on none. Each entry is said, for the reader to judge.
    """
    if not space.series.entries or not any(hunk.forms[0].scope for hunk in patch.hunks):
        return patch
    store = space.store
    tree = ListingTree(store.commit(onto), lambda: store.files(onto), store.read_many)
    with progress.task(f"reading {onto}", unit="files") as task:
        facts = open_facts(space.cache / "facts", tree, settings_of(space), stepper(task))
    try:
        with progress.task("looking for defaults that lead there"):
            found = propose(facts, [relied for hunk in patch.hunks if (relied := _relied(facts, hunk)) is not None])
    finally:
        facts.close()
    for name, entries in found.items():
        progress.note(
            f"`{name}` relies on {', '.join(entries)}: only this leads serving there; take it out if it does not"
        )
    return replace(patch, hunks=tuple(_with(hunk, found.get(hunk.name, ())) for hunk in patch.hunks))


def _relied(facts: Facts, hunk: Hunk) -> ReliedHunk | None:
    """The hunk at the first line of its function; None when it stands in no function of the release."""
    form = hunk.forms[0]
    index = facts.program.index_of.get(form.file)
    if index is None or not form.scope:
        return None
    heads = facts.program.file(index).heads
    lines = tuple(head[3] for head in heads if head[0] == FUNCTION and head[1] == form.scope)
    return ReliedHunk(hunk.patch, hunk.id, form.file, lines) if lines else None


def _with(hunk: Hunk, entries: tuple[str, ...]) -> Hunk:
    form = hunk.forms[0]
    return hunk.with_form(0, replace(form, relies=(*form.relies, *entries))) if entries else hunk
