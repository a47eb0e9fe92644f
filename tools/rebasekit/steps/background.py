"""What a reader wants beside a verdict: each hunk over all tags, how much upstream moved, how serving gets there."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from rebasekit.checks.churn import FileChurn, churn
from rebasekit.checks.reach import Reach, ReachReport, Site
from rebasekit.model.hunk import Place
from rebasekit.model.placement import Placement
from rebasekit.model.progress import SILENT, Progress
from rebasekit.model.verdict import Verdict
from rebasekit.patches.mapfile import load_map
from rebasekit.patches.mapped import mapped_tags
from rebasekit.patches.maps import TagMap, map_of
from rebasekit.steps.dotted import dotted_scope
from rebasekit.steps.patched import read_patched
from rebasekit.steps.workspace import Workspace

_LIVE_FIRST = {"serving": 0, "simulation": 1}


@dataclass(frozen=True)
class Way:
    """How serving gets to the scope that a hunk stands in: `site` is the best construction or call, with its chain."""

    name: str
    verdict: str
    why: tuple[str, ...] = ()
    site: Site | None = None


@dataclass(frozen=True)
class Background:
    """`maps` are in the order of their tags, the verdict's own among them; `ways` are by `patch/id`."""

    maps: tuple[TagMap, ...] = ()
    churn: tuple[FileChurn, ...] = ()
    ways: dict[str, Way] | None = None


def background(space: Workspace, verdict: Verdict, progress: Progress = SILENT) -> Background:
    """Gather it from the maps, the store and the facts. Raises RebasekitError for a map that cannot be read."""
    return Background(maps(space, verdict), touched(space, verdict), dict(ways(space, verdict, progress)))


def maps(space: Workspace, verdict: Verdict) -> tuple[TagMap, ...]:
    """The maps of all tags; the verdict stands for its own tag, written or not."""
    found = {verdict.tag: map_of(verdict)}
    for tag in mapped_tags(space.root):
        if tag not in found and (kept := load_map(space.root, tag)) is not None:
            found[tag] = kept
    return tuple(found[tag] for tag in sorted(found))


def touched(space: Workspace, verdict: Verdict, scopes: Collection[str] | None = None) -> tuple[FileChurn, ...]:
    """How much upstream's files under the hunks moved since the base; files that only the series has are left out.

    A file that was renamed is two: where the forms say, and where the hunks are. `scopes` narrow what is counted.
    """
    before, after = space.store.commit(verdict.base), space.store.commit(verdict.tag)
    there = set(space.store.files(after)) | set(space.store.files(before))
    files = {p.file for p in verdict.placements} | {p.spot.file for p in verdict.placements if p.spot}
    files |= {form.file for hunk in space.series.hunks() for form in hunk.forms}
    found = churn(space.store, before, after, files & there, scopes) if files & there else ()
    return tuple(one for one in found if one.added or one.removed)


def ways(space: Workspace, verdict: Verdict, progress: Progress = SILENT) -> Iterator[tuple[str, Way]]:
    """How serving gets to each applied hunk's scope; new files are reached through the hunks that call them."""
    patched = read_patched(space, verdict, progress)
    reach = Reach(patched.facts, verdict.tag.name, space.series.known)
    known: dict[str, Way | None] = {}
    for placement in verdict.placements:
        name = _dotted(placement)
        if not name:
            continue
        if name not in known:
            report = reach.report(name)
            known[name] = _way(report) if isinstance(report, ReachReport) else None
        if (way := known[name]) is not None:
            yield placement.name, way


def _dotted(placement: Placement) -> str:
    """The scope's dotted name; empty for a hunk that stands in no class or function."""
    new_file = placement.form is not None and placement.form.place is Place.NEW_FILE
    if not placement.outcome.applied or not placement.scope or new_file or not placement.file.endswith(".py"):
        return ""
    return dotted_scope(placement)


def _way(report: ReachReport) -> Way:
    sites = sorted(report.sites, key=lambda s: (bool(s.ruled_out), _LIVE_FIRST.get(s.liveness, 2), len(s.chain)))
    return Way(report.name, report.verdict, report.why, sites[0] if sites else None)
