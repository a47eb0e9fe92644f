"""A diff or a branch becomes a patch whose hunks give the same tree, byte for byte."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rebasekit.errors import StateError, UsageError
from rebasekit.model.hunk import Hunk, Patch
from rebasekit.model.progress import SILENT, Progress
from rebasekit.model.tag import Tag
from rebasekit.patches.editor import Editor
from rebasekit.steps.bench import Bench
from rebasekit.steps.edit import branch_below, check_new_name, placed_series
from rebasekit.steps.fileforms import attempts, name_of, with_body
from rebasekit.steps.headers import described
from rebasekit.steps.rebase import carry
from rebasekit.steps.refresh import reworked
from rebasekit.steps.relying import with_relies
from rebasekit.steps.sources import Piece, whole
from rebasekit.steps.workspace import Workspace, check_pattern
from rebasekit.steps.worktree import Found
from rebasekit.upstream.diffpaths import sections, strip_of
from rebasekit.upstream.patchfile import FileChange

WHY = "Say why: what the patch is for, and what happens without it."
REMOVAL = "Say when: what upstream has to do for this patch to go."


@dataclass(frozen=True)
class Wanted:
    """What an import is asked for, whatever it reads.

    The diffs were made on the release `onto`. `header` overrides what they say of themselves; `strip` is how many
    leading parts of their paths go (found out when None); `exclude` are globs of paths in them to leave out; with
    `relies`, the defaults that lead serving to the hunks' functions are found and written down.
    """

    onto: Tag
    header: Mapping[str, str] = field(default_factory=dict)
    strip: int | None = None
    exclude: Sequence[str] = ()
    relies: bool = True


def import_patch(space: Workspace, source: str, name: str, wanted: Wanted, progress: Progress = SILENT) -> Patch:
    """Write patch `name` from a diff file, a folder of them, `-` or `REPOSITORY#BRANCH`; return it.

    Raises UsageError when the diff fits neither the release nor the series on it exactly, StateError when it fits the
    release but the series changes the same text. The patch goes to the end of the series.
    """
    space.ensure({wanted.onto}, progress)
    patch = made(space, whole(source, wanted.onto, space.series.source.prefix), name, wanted, progress)
    write(space, [patch])
    return patch


def write(space: Workspace, patches: Sequence[Patch]) -> None:
    """Put new patches at the end of the series, all or none."""
    with Editor(space.root, check=check_pattern) as editor:
        for patch in patches:
            editor.add_patch(patch)
        editor.commit()


def made(space: Workspace, piece: Piece, name: str, wanted: Wanted, progress: Progress = SILENT) -> Patch:
    """The patch `name` that a diff makes on top of the series; nothing is written."""
    check_new_name(space, name)
    onto, strip = wanted.onto, piece.strip if wanted.strip is None else wanted.strip
    diff = sections(piece.diff, wanted.exclude)
    header = {key: text for key, text in wanted.header.items() if text}
    told = {"title": name, "why": WHY, "removal": REMOVAL, **described(piece.diff), **header}
    patch = Patch(name=name, **told)  # type: ignore[arg-type]
    try:
        changes = _changes(space, onto, diff, strip, progress)
    except UsageError as alone:
        if not space.series.patches:
            raise
        patch = _on_top(space, onto, patch, diff, strip, alone, progress)
    else:
        patch = replace(patch, hunks=derived(space, onto, name, changes, progress))
        _check_series(space, onto, patch)
    return with_relies(space, onto, patch, progress) if wanted.relies else patch


def _changes(
    space: Workspace, on: Tag | str, diff: bytes, strip: int | None, progress: Progress = SILENT
) -> list[FileChange]:
    """What the diff makes of a release or of a branch of the store; raise UsageError when it does not fit."""
    strip = strip_of(diff, space.store.files(on)) if strip is None else strip
    changes = space.store.apply_diff(on, diff, strip=strip)
    if not changes:
        raise UsageError("the diff changes nothing")
    for old, new in copies(changes):
        progress.note(f"`{new}` is `{old}` under another name: its text is upstream's and now stands in the patch")
    return changes


def _on_top(
    space: Workspace, onto: Tag, patch: Patch, diff: bytes, strip: int | None, alone: UsageError, progress: Progress
) -> Patch:
    """The patch of a diff that was made on top of the series; raise UsageError when it was not either."""
    now = placed_series(space, space.series, onto, progress)
    try:
        changes = _changes(space, branch_below(space, now, patch.name), diff, strip, progress)
    except UsageError as error:
        same = error.message == alone.message
        told = alone.message if same else f"{alone.message}; and on top of the series: {error.message}"
        raise UsageError(told, hint=alone.hint) from None
    found = [Found(change.path, change.new, change.executable) for change in changes]
    patch = reworked(space, onto, patch, now, found)
    result = carry(space, onto, series=replace(space.series, patches=(*space.series.patches, patch)))
    for file in found:
        if result.outcomes.tree.bytes().get(file.path, space.store.read(onto, file.path)) != file.data:
            raise StateError(f"the change of `{file.path}` cannot be said as hunks")
    return patch


def copies(changes: Sequence[FileChange]) -> list[tuple[str, str]]:
    """Deleted and new files of which most lines are the same: a diff's rename, which hunks can only say in full."""
    gone = [(c.path, set((c.old or b"").splitlines())) for c in changes if c.new is None]
    made = [(c.path, set((c.new or b"").splitlines())) for c in changes if c.old is None]
    return [(old, new) for old, was in gone for new, now in made if was and len(was & now) * 2 > len(was | now)]


def derived(
    space: Workspace, onto: Tag, name: str, changes: list[FileChange], progress: Progress = SILENT
) -> tuple[Hunk, ...]:
    """Hunks that make the changes, pinned to `onto`; proved by placing them."""
    bench, hunks, used = Bench(space, onto, name), list[Hunk](), set[str]()
    with progress.task("reading the diff", len(changes), "files") as task:
        for change in changes:
            hunks += _said(bench, change, used)
            task.advance()
    return tuple(hunks)


def _said(bench: Bench, change: FileChange, used: set[str]) -> list[Hunk]:
    """Hunks for one file: by structure, or as edits of the file when structure does not give its bytes."""
    for forms in attempts(change.path, change.old, change.new, executable=change.executable):
        names = set(used)
        hunks = [with_body(Hunk(bench.patch, name_of(form, names), (bench.fresh(form),))) for form in forms]
        trial = bench.try_file(change.path, hunks)
        if trial is not None and trial.data == change.new and len(trial.placements) == len(hunks):
            used |= names
            pins = {placement.hunk: placement.pin for placement in trial.placements}
            return [h.with_form(0, replace(h.forms[0], pin=pins[h.id])) for h in hunks]
    raise StateError(f"the change of `{change.path}` cannot be said as hunks")


def _check_series(space: Workspace, onto: Tag, patch: Patch) -> None:
    """Whether the patch has its place on top of the series too; raise StateError with what is in its way."""
    series = replace(space.series, patches=(*space.series.patches, patch))
    for placement in carry(space, onto, series=series).verdict.placements:
        if placement.patch == patch.name and not placement.outcome.applied:
            raise StateError(
                f"the diff does not fit on top of the series: `{placement.file}`: {placement.reason}",
                hint=f"rebasekit edit {patch.name} --new --tag {onto}",
            )
