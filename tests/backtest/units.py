"""One hunk at a time: what each hunk makes of the tree, and the same as one commit per hunk for the other tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from rebasekit.model.hunk import Patch, Series
from rebasekit.model.placement import Placement
from rebasekit.model.tag import Tag
from rebasekit.steps.rebase import carry
from rebasekit.steps.workspace import Workspace
from rebasekit.upstream.series import SeriesCommit

Files = Mapping[str, bytes | None]


@dataclass(frozen=True)
class Step:
    """One hunk put in: the files that it changed as they were before and as they are after; None is no file."""

    hunk: str
    before: Files = field(default_factory=dict)
    after: Files = field(default_factory=dict)


def one_by_one(series: Series) -> Series:
    """The series with a patch for every hunk, so that the tree after each hunk is known."""
    patches = tuple(
        Patch(name=f"{patch.name}.{hunk.id}", title=hunk.id, why="", removal="", hunks=(hunk,))
        for patch in series.patches
        for hunk in patch.hunks
    )
    hunks = [replace(h, patch=p.name) for p in patches for h in p.hunks]
    return replace(
        series, patches=tuple(replace(p, hunks=(h,), depends=()) for p, h in zip(patches, hunks, strict=True))
    )


def steps(space: Workspace, series: Series, tag: Tag) -> Iterator[tuple[Placement, Step]]:
    """Each hunk's placement on a tag and what it changed there."""
    result = carry(space, tag, series=one_by_one(series))
    now: dict[str, bytes | None] = {}
    placements = {p.patch: p for p in result.verdict.placements}
    for stage in result.outcomes.stages:
        placement, before, after = placements[stage.patch.name], {}, {}
        for path, data in stage.changes.items():
            if path not in now:
                now[path] = space.store.read(tag, path)
            if data != now[path]:
                before[path], after[path], now[path] = now[path], data, data
        yield placement, Step(placement.hunk, before, after)


def commits(written: list[Step]) -> list[SeriesCommit]:
    """One commit per hunk; its message is the hunk's id."""
    return [SeriesCommit(step.hunk, step.hunk, step.after) for step in written]
