"""Open a worktree in which a patch is changed as files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rebasekit.errors import StateError, UsageError
from rebasekit.model.hunk import Series
from rebasekit.model.progress import SILENT, Progress
from rebasekit.model.tag import Tag
from rebasekit.patches.paths import name_problem
from rebasekit.steps.meanwhile import below
from rebasekit.steps.rebase import Result, carry, write_branch
from rebasekit.steps.workspace import Workspace
from rebasekit.steps.worktree import Worktree, default_folder, note_folder


def edit(
    space: Workspace,
    patch: str,
    *,
    tag: Tag | None = None,
    new: bool = False,
    to: str | None = None,
    header: dict[str, str] | None = None,
    progress: Progress = SILENT,
) -> Path:
    """Open a worktree of `tag` with the series applied up to and including `patch`; return its folder.

    With `new`, a patch of that name is started at the end of the series. An open worktree of the same patch and tag
    is returned as it is. Raises UsageError for a patch that is not there, StateError when a hunk has no place.
    """
    tag = tag or space.series.base
    if new:
        check_new_name(space, patch)
    else:
        space.patch(patch)
    folder = Path(to).absolute() if to else default_folder(space, "edit", patch, tag)
    opened = Worktree.at(folder) if folder.is_dir() else None
    if opened and opened.folder == folder and (opened.patch, opened.tag) == (patch, tag.name):
        return folder
    result = placed_series(space, upto(space.series, patch), tag, progress)
    branch = f"rebasekit-edit/{patch}/{tag}"
    write_branch(space, result, branch)
    told = header if header and new else {}
    tree = begun(space, Worktree(folder, str(space.root.resolve()), patch, tag.name, **told), result)
    space.store.clone_for_editing(branch, folder, tag, lambda fresh: replace(tree, folder=fresh).save())
    note_folder(space, tree)
    return folder


def begun(space: Workspace, tree: Worktree, result: Result) -> Worktree:
    """The worktree with what lies below its patch as its base."""
    return replace(tree, base=space.store.commit(branch_below(space, result, tree.patch)))


def branch_below(space: Workspace, result: Result, patch: str) -> str:
    """A branch of the store with what lies below a patch; all of the series when the patch is not there yet."""
    return write_branch(space, below(result, patch), f"rebasekit-below/{patch}/{result.verdict.tag}")


def check_new_name(space: Workspace, patch: str) -> None:
    if reason := name_problem(patch):
        raise UsageError(f"`{patch}` {reason}", hint="rebasekit edit --help")
    if patch in {p.name for p in space.series.patches}:
        raise UsageError(f"there is a patch `{patch}` already", hint=f"rebasekit edit {patch}")
    if (space.patchset / patch).exists():
        raise UsageError(f"`patchset/{patch}` exists, though the series does not name it", hint="rebasekit list")


def upto(series: Series, patch: str) -> Series:
    """The series up to and including a patch; all of it when the patch is not there yet."""
    names = [p.name for p in series.patches]
    return replace(series, patches=series.patches[: names.index(patch) + 1]) if patch in names else series


def placed_series(space: Workspace, series: Series, tag: Tag, progress: Progress = SILENT) -> Result:
    """The series on a tag; raise StateError when a hunk has no place there."""
    result = carry(space, tag, series=series, progress=progress)
    lost = [p for p in result.verdict.placements if p.outcome.open]
    if lost:
        raise StateError(
            f"`{lost[0].name}` has no place on {tag}: {lost[0].reason}",
            hint=f"rebasekit resolve {lost[0].name} --tag {tag}",
        )
    return result
