"""The series put in another shape: patches renamed, reordered, folded and deleted.

Renaming, reordering and folding must not change what any release becomes: both shapes are placed on the base and on
every mapped release that is stored, and compared byte for byte before anything is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from rebasekit.errors import StateError, UsageError
from rebasekit.model.hunk import Hunk, Patch, Series
from rebasekit.model.progress import SILENT, Progress
from rebasekit.model.tag import Tag
from rebasekit.patches.editor import Editor
from rebasekit.patches.paths import name_problem
from rebasekit.steps.shape import check_order, follow, proof_tags, same, without_place
from rebasekit.steps.workspace import Workspace, check_pattern


@dataclass(frozen=True)
class Arranged:
    """The releases on which the two shapes were compared, and hunks that got another id."""

    tags: tuple[Tag, ...]
    renamed: tuple[tuple[str, str], ...] = ()


def rename(space: Workspace, patch: str, name: str, progress: Progress = SILENT) -> Arranged:
    """Give a patch another name, in the series, in what depends on it, in maps and in remembered resolutions."""
    old = space.patch(patch)
    if problem := name_problem(name):
        raise UsageError(f"`{name}` {problem}")
    if any(p.name == name for p in space.series.patches):
        raise UsageError(f"there is a patch `{name}` already", hint=f"rebasekit fold {patch} --into {name}")
    patches = tuple(_known_as(_renamed(p, name) if p is old else p, {patch: name}) for p in space.series.patches)
    new = replace(space.series, patches=patches)
    tags = same(space, new, progress)
    with Editor(space.root, check=check_pattern) as editor:
        for path in list(editor.files.walk(f"patchset/{patch}")):
            editor.rename(path, f"patchset/{name}{path.removeprefix(f'patchset/{patch}')}")
        editor.set_order([name if p.name == patch else p.name for p in space.series.patches])
        _write_depends(editor, space.series.patches, new, {patch: name})
        follow(editor, space, new, {(patch, h.id): (name, h.id) for h in old.hunks}, tags)
        editor.commit()
    return Arranged(tags)


def reorder(
    space: Workspace, patch: str, *, before: str | None = None, after: str | None = None, progress: Progress = SILENT
) -> Arranged:
    """Put a patch before or after another one; without either, last."""
    mine = space.patch(patch)
    beside = before or after
    target = space.patch(beside) if beside else None
    if target is mine:
        raise UsageError(f"`{patch}` cannot stand before or after itself")
    rest = [p for p in space.series.patches if p is not mine]
    at = len(rest) if target is None else rest.index(target) + (after is not None)
    new = replace(space.series, patches=(*rest[:at], mine, *rest[at:]))
    check_order(new)
    tags = same(space, new, progress)
    with Editor(space.root, check=check_pattern) as editor:
        editor.set_order([p.name for p in new.patches])
        follow(editor, space, new, {}, tags)
        editor.commit()
    return Arranged(tags)


def fold(space: Workspace, patch: str, into: str, progress: Progress = SILENT) -> Arranged:
    """Make the hunks of one patch part of another; each keeps the reason of its patch as its own."""
    mine, target = space.patch(patch), space.patch(into)
    if mine is target:
        raise UsageError(f"`{patch}` cannot be folded into itself")
    names = _free_names(mine, target)
    hunks = tuple(_moved(h, names[h.id], mine, target) for h in mine.hunks)
    order = [p.name for p in space.series.patches]
    both = (*target.hunks, *hunks) if order.index(patch) > order.index(into) else (*hunks, *target.hunks)
    depends = tuple(dict.fromkeys(d for d in (*target.depends, *mine.depends) if d not in (patch, into)))
    result = replace(target, hunks=both, depends=depends)
    patches = (_known_as(result if p is target else p, {patch: into}) for p in space.series.patches if p is not mine)
    new = replace(space.series, patches=tuple(patches))
    check_order(new)
    tags = same(space, new, progress)
    with Editor(space.root, check=check_pattern) as editor:
        editor.remove_patch(patch)
        editor.replace_patch(next(p for p in new.patches if p.name == into))
        _write_depends(editor, [p for p in space.series.patches if p not in (mine, target)], new, {})
        follow(editor, space, new, {(patch, h.id): (into, names[h.id]) for h in mine.hunks}, tags)
        editor.commit()
    return Arranged(tags, tuple((f"{patch}/{old}", f"{into}/{now}") for old, now in names.items() if old != now))


def delete(space: Workspace, patch: str, progress: Progress = SILENT) -> tuple[str, ...]:
    """Take a patch out of the series and remove its folder; return its hunks.

    Raises StateError when another patch depends on it, or when a hunk of another patch loses its place by it.
    """
    mine = space.patch(patch)
    users = [p.name for p in space.series.patches if patch in p.depends]
    if users:
        raise StateError(f"`{users[0]}` depends on `{patch}`", hint=f"rebasekit fold {patch} --into {users[0]}")
    new = replace(space.series, patches=tuple(p for p in space.series.patches if p is not mine))
    for tag in proof_tags(space):
        lost = without_place(space, tag, new, progress) - without_place(space, tag, space.series, progress)
        if lost:
            hint = f"rebasekit fold {patch} --into {min(lost).partition('/')[0]}"
            raise StateError(f"on {tag}, `{min(lost)}` has no place without `{patch}`", hint=hint)
    with Editor(space.root, check=check_pattern) as editor:
        editor.remove_patch(patch)
        editor.commit()
    return tuple(h.name for h in mine.hunks)


def _renamed(patch: Patch, name: str) -> Patch:
    return replace(patch, name=name, hunks=tuple(replace(h, patch=name) for h in patch.hunks))


def _known_as(patch: Patch, names: dict[str, str]) -> Patch:
    depends = tuple(dict.fromkeys(n for d in patch.depends if (n := names.get(d, d)) != patch.name))
    return patch if depends == patch.depends else replace(patch, depends=depends)


def _free_names(mine: Patch, target: Patch) -> dict[str, str]:
    taken = {h.id for h in target.hunks}
    return {h.id: f"{mine.name}-{h.id}" if h.id in taken else h.id for h in mine.hunks}


def _moved(hunk: Hunk, name: str, mine: Patch, target: Patch) -> Hunk:
    """The hunk as one of the other patch, with body files that do not meet one of the other's."""
    taken = {form.body for h in target.hunks for form in h.forms if form.body}
    forms = tuple(replace(f, body=f"{mine.name}-{f.body}") if f.body in taken else f for f in hunk.forms)
    return replace(hunk, patch=target.name, id=name, forms=forms, why=hunk.why or mine.why)


def _write_depends(editor: Editor, old: Iterable[Patch], new: Series, renamed: dict[str, str]) -> None:
    now = {p.name: p for p in new.patches}
    for patch in old:
        after = now[renamed.get(patch.name, patch.name)]
        if after.depends != patch.depends:
            editor.replace_patch(after)
