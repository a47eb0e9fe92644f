"""What changed in a worktree becomes hunks: a hunk whose lines changed keeps its id, why and decision."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from rebasekit.errors import StateError
from rebasekit.model.hunk import Hunk, Patch, Series
from rebasekit.model.placement import Placement
from rebasekit.model.progress import SILENT, Progress
from rebasekit.model.tag import Tag
from rebasekit.patches.editor import Editor
from rebasekit.steps.bench import Bench
from rebasekit.steps.edit import begun, placed_series, upto
from rebasekit.steps.meanwhile import Laid, Work, catch_up
from rebasekit.steps.rebase import Result, carry
from rebasekit.steps.rework import Rework, retired
from rebasekit.steps.workspace import Workspace, check_pattern
from rebasekit.steps.worktree import Found, Worktree, find


@dataclass(frozen=True)
class Change:
    """What a refresh does to one hunk: `verb` is changed, added or removed."""

    verb: str
    hunk: str
    file: str

    def __str__(self) -> str:
        return f"{self.verb} {self.hunk} ({self.file})"


@dataclass(frozen=True)
class Refreshed:
    """The changes of the patch, and the hunks of later patches that have no place any more because of them."""

    patch: str
    tag: Tag
    changes: tuple[Change, ...]
    lost: tuple[Placement, ...] = ()


def refresh(
    space: Workspace, patch: str | None = None, *, dry_run: bool = False, progress: Progress = SILENT
) -> Refreshed:
    """Write the worktree's state to the patch; return what changed. All or nothing.

    The result is proved first: the new hunks give the worktree's bytes exactly, else StateError.
    """
    tree = find(space, patch)
    tag = Tag.parse(tree.tag)
    exists = any(p.name == tree.patch for p in space.series.patches)
    old = space.patch(tree.patch) if exists else Patch(tree.patch, tree.title or tree.patch, tree.why, tree.removal)
    now = placed_series(space, upto(space.series, tree.patch), tag, progress)
    work = Work.of(space, tree, now)
    found = work.found
    if not found:
        if not dry_run:
            _catch_up(space, tree, work, now, progress)
        return Refreshed(old.name, tag, ())
    new = reworked(space, tag, old, now, found)
    series = _with(space.series, new)
    result = carry(space, tag, series=series)
    lost = _prove(space, result, new, found, tree)
    if not dry_run:
        with Editor(space.root, check=check_pattern) as editor:
            editor.replace_patch(new) if exists else editor.add_patch(new)
            editor.commit()
        _catch_up(space, tree, work, now, progress)
    return Refreshed(old.name, tag, tuple(_changes(old, new)), lost)


def _catch_up(space: Workspace, tree: Worktree, work: Work, now: Result, progress: Progress) -> None:
    """Have the patches below as they now are in the worktree, and remember that it has them."""
    if not work.late:
        return
    written = catch_up(tree, work.late, Laid.of(now).modes)
    begun(space, tree, now).save()
    if written:
        progress.note(f"{', '.join(f'`{path}`' for path in written)} was brought up to date with the patches below")


def reworked(space: Workspace, tag: Tag, old: Patch, now: Result, found: list[Found]) -> Patch:
    """The patch with every changed file's hunks made to fit."""
    stages = [stage for stage in now.outcomes.stages if stage.patch.name != old.name]
    below = stages[-1].changes if stages else {}
    bench = Bench(space, tag, old.name, tuple(stage.patch for stage in stages))
    hunks, used = list(old.hunks), {h.id for h in old.hunks}
    for file in found:
        pristine = bench.pristine(file.path)
        here = [p for p in now.outcomes.placements if p.file == file.path and p.outcome.applied]
        mine = [h for h in hunks if h.name in {p.name for p in here}]
        work = Rework(
            bench,
            file,
            mine,
            {p.hunk: p for p in here if p.patch == old.name},
            below.get(file.path, pristine),
            now.outcomes.tree.bytes().get(file.path, pristine),
            used,
            frozenset(p.name for p in here if p.patch != old.name),
        )
        hunks = _merged(hunks, mine, work.hunks(), bench)
    return replace(old, hunks=tuple(hunks))


def _merged(hunks: list[Hunk], before: list[Hunk], after: list[Hunk], bench: Bench) -> list[Hunk]:
    """All hunks with one file's replaced: those that stay keep their place, a new one follows its neighbour."""
    known, made = {h.id for h in before}, {h.id: h for h in after}
    result: list[Hunk] = []
    for hunk in hunks:
        if hunk.id not in known:
            result.append(hunk)
        elif hunk.id in made:
            result.append(made[hunk.id])
        elif rest := retired(hunk, bench):
            result.append(rest)
    for number, hunk in enumerate(after):
        if hunk.id in known:
            continue
        previous = after[number - 1].id if number else ""
        following = next((h.id for h in after[number:] if h.id in known), "")
        ids = [h.id for h in result]
        at = ids.index(previous) + 1 if previous in ids else ids.index(following) if following in ids else len(result)
        result.insert(at, hunk)
    return result


def _with(series: Series, new: Patch) -> Series:
    names = [p.name for p in series.patches]
    patches = [new if p.name == new.name else p for p in series.patches]
    return replace(series, patches=tuple(patches if new.name in names else [*patches, new]))


def _prove(
    space: Workspace, result: Result, new: Patch, found: Iterable[Found], tree: Worktree
) -> tuple[Placement, ...]:
    """Compare every changed file with the series as placed with the patch; hunks of later patches that are lost."""
    tag = result.verdict.tag
    stage = next(stage for stage in result.outcomes.stages if stage.patch.name == new.name)
    for file in found:
        if stage.changes.get(file.path, space.store.read(tag, file.path)) != file.data:
            raise StateError(f"the hunks would not give `{file.path}` as it is in `{tree.folder}`; nothing was written")
    broken = [p for p in result.verdict.placements if p.outcome.open]
    if broken:
        before = carry(space, tag, series=space.series).verdict.placements
        lost = {p.name for p in before if p.outcome.open}
        broken = [p for p in broken if p.name not in lost]
    return tuple(broken)


def _changes(old: Patch, new: Patch) -> Iterable[Change]:
    before, after = {h.id: h for h in old.hunks}, {h.id: h for h in new.hunks}
    for name, hunk in before.items():
        if name not in after:
            yield Change("removed", hunk.name, hunk.forms[0].file)
        elif after[name] != hunk:
            yield Change("changed", hunk.name, hunk.forms[0].file)
    for name, hunk in after.items():
        if name not in before:
            yield Change("added", hunk.name, hunk.forms[0].file)
