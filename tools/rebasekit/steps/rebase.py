"""The main job: place, apply, prove, check, and say what is left to decide."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from rebasekit.model.finding import Finding
from rebasekit.model.hunk import Form, Patch, Series
from rebasekit.model.placement import Outcome, Placement
from rebasekit.model.progress import SILENT, Progress
from rebasekit.model.tag import Tag
from rebasekit.model.verdict import Verdict
from rebasekit.patches.digest import series_digest
from rebasekit.patches.maps import dump_map, map_path
from rebasekit.patches.moves import load_moves
from rebasekit.patches.resolutions import load_resolutions
from rebasekit.patches.transaction import Transaction
from rebasekit.steps.moves import Moves
from rebasekit.steps.prove import prove
from rebasekit.steps.series import Outcomes, place_series
from rebasekit.steps.trees import Trees
from rebasekit.steps.workspace import Workspace, check_pattern, pin_tag
from rebasekit.upstream.series import SeriesCommit


@dataclass
class Clock:
    """Seconds spent in each step."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


@dataclass(frozen=True)
class Result:
    """A verdict with the placed series behind it."""

    verdict: Verdict
    outcomes: Outcomes
    series: Series


def branch_of(tag: Tag) -> str:
    """The branch of the store that holds the series on a tag, one commit per patch."""
    return f"rebasekit/{tag}"


def rebase(
    space: Workspace,
    tag: Tag,
    *,
    start: Tag | None = None,
    only: list[str] | None = None,
    progress: Progress = SILENT,
) -> Verdict:
    """Carry the series to `tag`, write the branch (when every hunk has its place) and the map.

    `start` compares with that tag instead of each hunk's own pin. Raises RebasekitError; a hunk without a place is
    a result. Nothing is written before everything is known.
    """
    result = carry(space, tag, start=start, only=only, progress=progress)
    verdict = checked(space, result, progress)
    if not any(p.outcome.open for p in verdict.placements):
        verdict = replace(verdict, branch=write_branch(space, result, branch_of(tag)))
    if only is None:
        with Transaction(space.root) as transaction:
            transaction.write(map_path(tag), dump_map(verdict))
            transaction.commit()
    return verdict


def checked(space: Workspace, result: Result, progress: Progress = SILENT) -> Verdict:
    """The verdict with the findings of all checks; hunks with findings about what they use are due for review."""
    from rebasekit.steps.checking import check  # a tenth of a second that `carry` need not pay
    from rebasekit.steps.kept import kept

    verdict = result.verdict
    clock = Clock(dict(verdict.timings))
    with clock.step("check"):
        series = result.series
        found = kept(
            space,
            verdict,
            series,
            lambda: check(
                space, verdict, lambda tag: carry(space, tag, series=series, progress=progress).verdict, progress
            ),
        )
    placements, others = _with_findings(verdict.placements, found.findings)
    due = {(f.patch, f.hunk) for f in found.findings}
    placements = tuple(replace(p, decision="due") if (p.patch, p.hunk) in due else p for p in placements)
    for note in found.notes:
        progress.note(note)
    others = verdict.findings + others
    return replace(verdict, placements=placements, findings=others, notes=found.notes, timings=clock.seconds)


def carry(
    space: Workspace,
    tag: Tag,
    *,
    start: Tag | None = None,
    only: list[str] | None = None,
    series: Series | None = None,
    progress: Progress = SILENT,
) -> Result:
    """Place, prove and check without writing anything outside the store."""
    clock, chosen = Clock(), space.only(only) if series is None else series
    with clock.step("store"):
        space.ensure(_tags(chosen, tag, start), progress)
    trees = Trees.of(space.store, space.cache)
    moves, known = Moves(load_moves(space.root)), load_resolutions(space.root, check=check_pattern)

    def remembered(key: str) -> Form | None:
        return known[key].form if key in known else None

    def placed(each: Series, on: Tag) -> Outcomes:
        return place_series(
            each,
            on,
            trees,
            pin_of=lambda form: pin_tag(form, each.base),
            moves=moves,
            remembered=remembered,
            progress=progress,
        )

    with clock.step("place"):
        if start is not None and start != tag:
            chosen = repinned(chosen, start, placed(chosen, start).placements)
        outcomes = placed(chosen, tag)
    with clock.step("prove"), progress.task("proving where every hunk stands"):
        patched = outcomes.tree.bytes()
        back = {
            path: outcomes.tree.sources[path].with_text(owned.reversed()).encode()
            for path, owned in outcomes.tree.files.items()
        }
        proof = prove(outcomes.placements, patched, back, trees, tag)
    placements, others = _with_findings(outcomes.placements, (*proof, *_partly(chosen, outcomes.placements)))
    verdict = Verdict(
        tag=tag,
        base=start or chosen.base,
        placements=placements,
        findings=others,
        series_digest=series_digest(space.series),
        timings=clock.seconds,
        tree=dict(patched),
    )
    return Result(verdict, outcomes, chosen)


def _tags(series: Series, tag: Tag, start: Tag | None) -> set[Tag]:
    """The tags that a rebase reads: the target, the base, and every pin that a form for it has."""
    wanted = {tag, series.base, *([start] if start else [])}
    for hunk in series.hunks():
        for target in (tag, start):
            selected = hunk.form_for(target) if target else None
            if selected:
                wanted.add(pin_tag(selected[1], series.base))
    return wanted


def repinned(series: Series, tag: Tag, placements: tuple[Placement, ...]) -> Series:
    """The series as if a person had reviewed it on `tag`: every hunk pinned to where it was placed there."""
    placed = {p.name: p for p in placements if p.outcome.applied and p.pin}
    patches = []
    for patch in series.patches:
        hunks = []
        for hunk in patch.hunks:
            placement = placed.get(hunk.name)
            if placement and placement.form:
                form = replace(placement.form, pin=placement.pin, lines=placement.script or placement.form.lines)
                index = next((i for i, f in enumerate(hunk.forms) if f is placement.form), None)
                if index is not None:
                    hunk = hunk.with_form(index, form)
            hunks.append(hunk)
        patches.append(replace(patch, hunks=tuple(hunks)))
    return replace(series, patches=tuple(patches))


def _with_findings(
    placements: tuple[Placement, ...], findings: tuple[Finding, ...]
) -> tuple[tuple[Placement, ...], tuple[Finding, ...]]:
    """Give each finding to its hunk; what belongs to none is returned beside."""
    names = {p.name for p in placements}
    result = tuple(
        replace(p, findings=p.findings + tuple(f for f in findings if f"{f.patch}/{f.hunk}" == p.name))
        for p in placements
    )
    return result, tuple(f for f in findings if f"{f.patch}/{f.hunk}" not in names)


def _partly(series: Series, placements: tuple[Placement, ...]) -> Iterator[Finding]:
    """Patches of which upstream has some hunks and not others, and hunks that upstream has."""
    for patch in series.patches:
        mine = [p for p in placements if p.patch == patch.name and p.outcome is not Outcome.NOT_MEANT]
        gone = [p for p in mine if p.outcome is Outcome.UPSTREAMED]
        for placement in gone:
            kind = "upstreamed" if len(gone) == len(mine) else "partly-upstreamed"
            rest = "" if len(gone) == len(mine) else f"; {len(mine) - len(gone)} of the patch's hunks stay"
            spot = placement.spot
            yield Finding(
                kind,
                spot.file if spot else placement.file,
                spot.line if spot else 0,
                f"{placement.reason}{rest}",
                f"rebasekit show {placement.name}",
                placement.patch,
                placement.hunk,
            )


def write_branch(space: Workspace, result: Result, branch: str) -> str:
    """One commit per patch on top of the release, with fixed names and dates so that ids are reproducible."""
    before: dict[str, bytes | None] = {}
    commits = []
    for stage in result.outcomes.stages:
        changed: dict[str, bytes | None] = {p: d for p, d in stage.changes.items() if p not in before or before[p] != d}
        commits.append(SeriesCommit(stage.patch.name, message(stage.patch), changed, modes(stage.patch, result)))
        before = dict(stage.changes)
    space.store.commit_series(result.verdict.tag, commits, branch)
    return branch


def message(patch: Patch) -> str:
    """A commit message: title, why, and the header's facts as trailers."""
    trailers = [("Origin", patch.origin), ("Forwarded", patch.forwarded), ("Removal", patch.removal)]
    lines = [f"{key}: {' '.join(value.split())}" for key, value in trailers if value]
    return f"{patch.title}\n\n{patch.why.strip()}\n\n" + "\n".join([*lines, f"Patch-name: {patch.name}"]) + "\n"


def modes(patch: Patch, result: Result) -> dict[str, str]:
    """Files of the patch that are executable, in git's words."""
    return {
        p.file: "100755"
        for p in result.outcomes.placements
        if p.patch == patch.name and p.form and p.form.mode == "executable" and p.outcome.applied
    }
