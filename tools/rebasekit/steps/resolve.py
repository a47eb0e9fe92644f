"""A person places a hunk: a worktree with both sides in, the hunk's form for that release out."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from rebasekit.edit import derive, script
from rebasekit.edit.source import Unreadable
from rebasekit.errors import StateError, UsageError
from rebasekit.model.hunk import Form, Hunk, Place, Series
from rebasekit.model.progress import SILENT, Progress
from rebasekit.model.tag import Tag, in_range
from rebasekit.patches.editor import Editor
from rebasekit.patches.resolutions import Resolution, dump_resolution, resolution_path
from rebasekit.steps.accept import pinned
from rebasekit.steps.edit import upto
from rebasekit.steps.fileforms import line_changes, own_body, text_of
from rebasekit.steps.markers import left, mark
from rebasekit.steps.meanwhile import Laid, as_begun, done
from rebasekit.steps.ranges import with_variant, without, write_hunk
from rebasekit.steps.rebase import Result, carry, write_branch
from rebasekit.steps.task import Task
from rebasekit.steps.workspace import Workspace, check_pattern
from rebasekit.steps.worktree import Worktree
from rebasekit.upstream.merge import merge3


@dataclass(frozen=True)
class Opened:
    """A worktree to resolve in: the file to edit, and where both sides lie when it has no markers."""

    task: Task
    file: Path
    marked: bool
    sides: Path | None


def start(space: Workspace, name: str, *, tag: Tag | None = None, progress: Progress = SILENT) -> Opened:
    """Open the worktree, with conflict markers where both sides are known.

    Raises StateError for a hunk that has its place on the tag.
    """
    task = Task.of(space, name, tag)
    hunk, tag, folder = task.hunk, task.tag, task.folder
    result = _series(space, space.series, task, progress)
    placement = next(p for p in result.verdict.placements if p.name == hunk.name)
    if not placement.outcome.open and not any(f.kind == "misplaced" for f in placement.findings):
        word = placement.outcome.value
        raise StateError(
            f"`{hunk.name}` is {word} on {tag}: there is nothing to resolve", hint=f"rebasekit show {hunk.name}"
        )
    file, sides = folder / placement.file, folder / ".git" / "rebasekit"
    if Worktree.at(folder) is None or not folder.is_dir():
        branch = f"rebasekit-resolve/{hunk.name}/{tag}"
        write_branch(space, result, branch)
        key = placement.conflict.key if placement.conflict else ""
        base = space.store.commit(branch)
        tree = Worktree(folder, str(space.root.resolve()), hunk.patch, tag.name, hunk.name, key=key, base=base)

        def ready(fresh: Path) -> None:
            mark(fresh, placement)
            replace(tree, folder=fresh).save()

        space.store.clone_for_editing(branch, folder, tag, ready)
    marked = file.is_file() and bool(left(file.read_bytes(), b""))
    return Opened(task, file if file.is_file() else folder, marked, sides if sides.is_dir() else None)


def _series(space: Workspace, series: Series, task: Task, progress: Progress = SILENT) -> Result:
    """The series up to the hunk's patch with all hunks that have a place."""
    return carry(space, task.tag, series=upto(series, task.hunk.patch), progress=progress)


def finish(
    space: Workspace, name: str | None, *, tag: Tag | None = None, why: str | None = None, progress: Progress = SILENT
) -> str:
    """Take the worktree's file as the answer: a form for the tag and later, and a remembered resolution.

    Raises UsageError without a worktree or with markers left, StateError when the answer cannot be said as one hunk.
    """
    task = Task.of(space, name, tag)
    tree, hunk = task.opened(), task.hunk
    result = _series(space, space.series, task, progress)
    path, before, after = _changed(space, task, tree, result)
    if tree.key and not (why or hunk.decision).strip():
        raise UsageError("a resolution that is remembered needs a reason", hint=task.again("--continue --why '…'"))
    form = _pinned(space, task, _form(space, task, path, before, after))
    new = with_variant(replace(hunk, decision=why or hunk.decision), form, task.tag)
    _prove(space, task, new, path, after)
    with Editor(space.root, check=check_pattern) as editor:
        write_hunk(editor, new)
        if tree.key:
            answer = Resolution(tree.key, hunk.name, task.tag, new.decision, form)
            editor.write(resolution_path(tree.key), dump_resolution(answer))
        editor.commit()
    shutil.rmtree(task.folder, ignore_errors=True)
    tags = new.form_for(task.tag)[1].tags  # type: ignore[index]
    return f"{hunk.name} has a form for {tags}: {form.place.value} in {form.scope or form.file}"


def _changed(space: Workspace, task: Task, tree: Worktree, result: Result) -> tuple[str, bytes, bytes]:
    """Path, before and after of the file that the person changed: one file, no markers."""
    now = Laid.of(result)
    found = done(space, tree, as_begun(space, tree, now), now)
    if not found:
        raise UsageError(
            f"nothing was changed in `{task.folder}`; if the hunk is not needed from {task.tag} on, drop it",
            hint=task.again("--drop --why '…'"),
        )
    if len(found) > 1:
        names = ", ".join(f"`{file.path}`" for file in found[:3])
        raise UsageError(
            f"{len(found)} files were changed, a resolution changes one: {names}",
            hint=f"git -C {task.folder} checkout -- {found[1].path}",
        )
    path, after = found[0].path, found[0].data
    before = now.files.get(path, space.store.read(task.tag, path))
    if after is None or before is None:
        raise StateError(
            f"`{path}` was {'removed' if after is None else 'added'}; a resolution changes one file that is there",
            hint=f"rebasekit edit {task.hunk.patch} --tag {task.tag}",
        )
    if marker := left(after, before):
        raise UsageError(
            f"`{path}` still has conflict markers, the first at line {marker}", hint=f"$EDITOR {task.folder / path}"
        )
    return path, before, after


def _form(space: Workspace, task: Task, path: str, before: bytes, after: bytes) -> Form:
    """The change as one form on upstream's text; on the patched text when it touches other hunks' lines."""
    pristine = space.store.read(task.tag, path)
    old, new = text_of(path, before), text_of(path, after)
    base = old
    if pristine is not None:
        upstream = text_of(path, pristine)
        merged = merge3(old.text, new.text, upstream.text)
        if not merged.conflicts:
            base, new = upstream, upstream.with_text(merged.text)
    changes = line_changes(base.text, new.text)
    if not path.endswith(".py"):
        return Form(path, "", Place.TEXT, lines=script.render(changes), keep_newlines="\r\n" in new.text)
    try:
        _ = base.tree, new.tree
    except Unreadable as error:
        raise StateError(f"`{path}` cannot be read as Python: {error}", hint=f"$EDITOR {task.folder / path}") from None
    return derive.single(path, base, changes)


def _pinned(space: Workspace, task: Task, form: Form) -> Form:
    """The form with what people said about the one before, a body of its own, and its pin."""
    selected = task.hunk.form_for(task.tag)
    old = selected[1] if selected else task.hunk.forms[0]
    form = own_body(task.hunk, replace(form, uses=old.uses, needs=old.needs, relies=old.relies), task.tag)
    try:
        return pinned(space, task.hunk, form, task.tag)
    except StateError:
        return form  # it stands on other hunks' lines; the proof says whether it does


def _prove(space: Workspace, task: Task, new: Hunk, path: str, after: bytes) -> None:
    """The series with the new form gives the file that the person left."""
    result = _series(space, _with(space.series, new), task)
    if result.outcomes.tree.bytes().get(path) != after:
        raise StateError(
            f"one hunk cannot say what `{path}` is now; nothing was written",
            hint=f"rebasekit edit {new.patch} --tag {task.tag}",
        )


def _with(series: Series, new: Hunk) -> Series:
    patches = (replace(p, hunks=tuple(new if h.name == new.name else h for h in p.hunks)) for p in series.patches)
    return replace(series, patches=tuple(patches))


def drop(space: Workspace, name: str | None, *, why: str | None, tag: Tag | None = None) -> str:
    """Say that the hunk is not needed from the tag on; older releases keep it. Raises UsageError without a reason."""
    task = Task.of(space, name, tag)
    if not (why or "").strip():
        raise UsageError("`--drop` needs a reason", hint=task.again("--drop --why '…'"))
    hunk, first = task.hunk, min(space.series.base, task.tag)
    if not any(in_range(task.tag, form.tags) for form in hunk.forms):
        raise StateError(f"`{hunk.name}` is not meant for {task.tag} already", hint=f"rebasekit show {hunk.name}")
    if task.tag <= first:
        raise StateError(
            f"{task.tag} is the series' base: remove the hunk's lines", hint=f"rebasekit edit {hunk.patch}"
        )
    rest = without(hunk, task.tag)
    patch = space.patch(hunk.patch)
    kept = [h if h.id != hunk.id else replace(rest, decision=why or "") if rest else None for h in patch.hunks]
    with Editor(space.root, check=check_pattern) as editor:
        editor.replace_patch(replace(patch, hunks=tuple(h for h in kept if h)))
        editor.commit()
    shutil.rmtree(task.folder, ignore_errors=True)
    return f"{hunk.name} is not meant for {task.tag} and later"


def abort(space: Workspace, name: str | None, *, tag: Tag | None = None) -> str:
    """Throw the worktree away; raise UsageError when there is none."""
    task = Task.of(space, name, tag)
    task.opened()
    shutil.rmtree(task.folder)
    return f"threw `{task.folder}` away"
