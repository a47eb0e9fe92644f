"""Whether a series in another shape still makes the same of every release, and what names its hunks elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from rebasekit.errors import StateError, UsageError
from rebasekit.model.hunk import Series
from rebasekit.model.progress import SILENT, Progress
from rebasekit.model.tag import Tag
from rebasekit.patches.digest import series_digest
from rebasekit.patches.editor import Editor
from rebasekit.patches.mapfile import load_map
from rebasekit.patches.mapped import mapped_tags
from rebasekit.patches.maps import dump, map_path
from rebasekit.patches.resolutions import dump_resolution, load_resolutions, resolution_path
from rebasekit.steps.rebase import carry
from rebasekit.steps.workspace import Workspace, check_pattern

Names = dict[tuple[str, str], tuple[str, str]]  # (patch, id) before and after


def same(space: Workspace, new: Series, progress: Progress = SILENT) -> tuple[Tag, ...]:
    """The releases on which both shapes give the same bytes; raise StateError for the first that differs."""
    tags = proof_tags(space)
    for tag in tags:
        before = carry(space, tag, series=space.series, progress=progress).verdict
        after = carry(space, tag, series=new, progress=progress).verdict
        lost = [p for p in after.placements if p.outcome.open]
        if len(lost) > sum(p.outcome.open for p in before.placements):
            raise StateError(f"on {tag}, `{lost[0].name}` would lose its place: {lost[0].reason or 'conflict'}")
        different = [f for f in before.tree.keys() | after.tree.keys() if before.tree.get(f) != after.tree.get(f)]
        if different:
            raise StateError(f"on {tag}, `{min(different)}` would become another text; nothing was written")
    return tags


def proof_tags(space: Workspace) -> tuple[Tag, ...]:
    """The base, and the mapped releases that need no download."""
    stored = {tag for tag in mapped_tags(space.root) if space.store.has(tag)}
    return tuple(sorted({space.series.base} | stored))


def without_place(space: Workspace, tag: Tag, series: Series, progress: Progress) -> set[str]:
    placements = carry(space, tag, series=series, progress=progress).verdict.placements
    return {p.name for p in placements if p.outcome.open}


def check_order(series: Series) -> None:
    """Raise UsageError when a patch would come before one that it depends on."""
    seen: set[str] = set()
    for patch in series.patches:
        for other in patch.depends:
            if other not in seen:
                raise UsageError(f"`{patch.name}` depends on `{other}`, which would come after it")
        seen.add(patch.name)


def follow(editor: Editor, space: Workspace, new: Series, names: Names, tags: Iterable[Tag]) -> None:
    """Maps and remembered resolutions name hunks: let them say the new names, and the series that was compared."""
    before, after = series_digest(space.series), series_digest(new)
    order = {(h.patch, h.id): at for at, h in enumerate(new.hunks())}
    for tag in tags:
        kept = load_map(space.root, tag)
        if kept is None or kept.series != before:
            continue
        hunks = [replace(e, patch=patch, id=id_) for e in kept.hunks for patch, id_ in [_named(names, e.patch, e.id)]]
        hunks.sort(key=lambda e: order.get((e.patch, e.id), len(order)))
        editor.write(map_path(tag), dump(replace(kept, series=after, hunks=tuple(hunks))))
    for key, known in load_resolutions(space.root, check=check_pattern).items():
        patch, _, ident = known.hunk.partition("/")
        if (patch, ident) in names:
            editor.write(resolution_path(key), dump_resolution(replace(known, hunk="/".join(names[patch, ident]))))


def _named(names: Names, patch: str, ident: str) -> tuple[str, str]:
    return names.get((patch, ident), (patch, ident))
