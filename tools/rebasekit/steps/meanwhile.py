"""What a person did in a worktree, told from what happened to the series since it was opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rebasekit.errors import StateError
from rebasekit.model.tag import Tag
from rebasekit.steps.fileforms import text_of
from rebasekit.steps.rebase import Result, modes
from rebasekit.steps.workspace import Workspace
from rebasekit.steps.worktree import Found, Worktree, changed_files
from rebasekit.upstream.merge import merge3


@dataclass(frozen=True)
class Laid:
    """Files that lie over a release's (None for one that is gone), and the modes of those that it has not."""

    files: Mapping[str, bytes | None]
    modes: Mapping[str, str]

    @classmethod
    def of(cls, result: Result) -> Laid:
        """What a placed series lays over the release."""
        stages, added = result.outcomes.stages, dict[str, str]()
        for stage in stages:
            added |= modes(stage.patch, result)
        return cls(stages[-1].changes if stages else {}, added)


def below(result: Result, patch: str) -> Result:
    """The placed series without a patch and what follows it."""
    stages = result.outcomes.stages
    count = next((i for i, stage in enumerate(stages) if stage.patch.name == patch), len(stages))
    return replace(result, outcomes=replace(result.outcomes, stages=stages[:count]))


def as_begun(space: Workspace, tree: Worktree, now: Laid) -> Laid:
    """What lay over the release at the worktree's base; `now` when nobody wrote that down."""
    tag = Tag.parse(tree.tag)
    try:
        base = space.store.commit(tree.base) if tree.base else ""
    except StateError:  # the store was made anew
        base = ""
    if not base:
        return now
    had, ids, known = space.store.files(tag), space.store.files(base), space.store.modes(base)
    other = [path for path in {**had, **ids} if had.get(path) != ids.get(path)]
    files = {path: space.store.read(base, path) if path in ids else None for path in other}
    return Laid(files, {path: known[path] for path in other if path in ids and path not in had})


def done(space: Workspace, tree: Worktree, was: Laid, now: Laid) -> list[Found]:
    """Files of a worktree that began with `was`, as the person's changes alone make them of `now`.

    Raises StateError when both changed the same lines.
    """
    tag = Tag.parse(tree.tag)
    found = changed_files(space, tree.folder, tag, was.files, was.modes)
    if was.files == now.files:
        return found
    merged = []
    for file in found:
        pristine = space.store.read(tag, file.path)
        before, after = (laid.files.get(file.path, pristine) for laid in (was, now))
        data = _merged(tree, file, before, after)
        if data != after:
            merged.append(replace(file, data=data))
    return merged


def _merged(tree: Worktree, file: Found, before: bytes | None, after: bytes | None) -> bytes | None:
    if before == after or file.data == after:
        return file.data
    if file.data is not None and before is not None and after is not None:
        mine, base, theirs = (text_of(file.path, data) for data in (file.data, before, after))
        merge = merge3(base.text, mine.text, theirs.text)
        if not merge.conflicts and (mine.codec, mine.bom) == (theirs.codec, theirs.bom):
            return theirs.with_text(merge.text).encode()
    raise StateError(
        f"the series changed the same lines of `{file.path}` since this worktree was opened",
        hint=f"rebasekit edit {tree.patch} --tag {tree.tag} --to DIR",
    )


@dataclass(frozen=True)
class Work:
    """What a worktree of `edit` says: the files that its patch has to change now, and `late`, what to write into it.

    All of the difference to the patches below is the patch's, so that a refresh can be taken back and made again.
    """

    found: list[Found]
    late: Mapping[str, bytes | None] = field(default_factory=dict)

    @classmethod
    def of(cls, space: Workspace, tree: Worktree, now: Result) -> Work:
        """Raises StateError when a patch below was changed in the same lines."""
        tag, full, under = Tag.parse(tree.tag), Laid.of(now), Laid.of(below(now, tree.patch))
        was = as_begun(space, tree, under)
        if was.files == under.files:
            return cls(changed_files(space, tree.folder, tag, full.files, full.modes))
        mine = {file.path: file for file in done(space, tree, was, under)}
        found, late = [], dict[str, bytes | None]()
        for path in sorted({*mine, *full.files, *under.files, *was.files}):
            pristine = space.store.read(tag, path)
            want = mine[path].data if path in mine else under.files.get(path, pristine)
            if want != full.files.get(path, pristine):
                found.append(Found(path, want, path in mine and mine[path].executable))
            if path in was.files or path in under.files:
                late[path] = want
        return cls(found, late)


def catch_up(tree: Worktree, late: Mapping[str, bytes | None], modes: Mapping[str, str]) -> list[str]:
    """Write what the patches below changed since into the worktree; return the paths."""
    written = []
    for path, want in sorted(late.items()):
        target = tree.folder / path
        have = target.read_bytes() if target.is_file() else None
        if want == have:
            continue
        written.append(path)
        if want is None:
            target.unlink()
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(want)
        if modes.get(path) == "100755":
            target.chmod(0o755)
    return written
