"""Defaults that a new patch relies on without saying so, found on the release it was made on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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

_SHOWN = 3  # names in a sentence; all of them are in the patch's file


def with_relies(space: Workspace, onto: Tag, patch: Patch, progress: Progress = SILENT) -> Patch:
    """The patch with `relies` entries for the defaults without which serving would not reach its functions.

    Hunks that stand in no function of the release rely on none. Each set of entries is said once, with the hunks that
    got it, for the reader to judge.
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
    for text in _told(patch.name, found):
        progress.note(text)
    return replace(patch, hunks=tuple(_with(hunk, found.get(hunk.name, ())) for hunk in patch.hunks))


def _told(patch: str, found: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """One sentence for each set of entries: a fork has hundreds of hunks that one default leads to."""
    sets: dict[tuple[str, ...], list[str]] = {}
    for name, entries in found.items():
        sets.setdefault(entries, []).append(f"`{name}`")
    where = f"take `relies` out of patchset/{patch}/patch.toml where that is wrong"
    for entries, names in sets.items():
        what = " and ".join(f"`{entry}`" for entry in entries)
        if len(names) == 1:
            yield f"{names[0]} relies on {what}: only this leads serving there; {where}"
            continue
        shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
        yield f"{len(names)} hunks rely on {what}: only this leads serving to {shown}; {where}"


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
