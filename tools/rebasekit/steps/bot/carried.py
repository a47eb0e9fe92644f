"""The series on one release, as the bot's branch has it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field

from rebasekit.checks.churn import FileChurn
from rebasekit.model.finding import Finding
from rebasekit.model.hunk import Series
from rebasekit.model.progress import SILENT, Progress
from rebasekit.model.tag import Tag
from rebasekit.model.verdict import Verdict
from rebasekit.steps.background import touched
from rebasekit.steps.bot.pins import Moved, move
from rebasekit.steps.rebase import rebase
from rebasekit.steps.workspace import Workspace


@dataclass(frozen=True)
class Carried:
    """`base` is what the series stood on; `lines` has upstream's own line for each (file, line) of a finding."""

    tag: Tag
    base: Tag
    package: str
    verdict: Verdict
    moved: Moved
    churn: tuple[FileChurn, ...] = ()
    lines: dict[tuple[str, int], int] = field(default_factory=dict)
    link: str = ""

    @property
    def stuck(self) -> bool:
        """Whether a hunk has no place, so that there is nothing to build."""
        return any(p.outcome.open for p in self.verdict.placements)


def carry(space: Workspace, tag: Tag, progress: Progress = SILENT) -> Carried:
    """Rebase onto the release, and write map, pins and base below `space.root`. Raises RebasekitError."""
    series = space.series
    verdict = rebase(space, tag, progress=progress)
    found = touched(space, verdict, _scopes(space, verdict))
    lines = _upstream_lines(space, verdict)
    return Carried(
        tag, series.base, package_of(series), verdict, move(space, verdict), found, lines, series.source.link
    )


def package_of(series: Series) -> str:
    """What people call the upstream."""
    source = series.source
    return source.package or source.url.rstrip("/").removesuffix(".git").rpartition("/")[2].rpartition(":")[2]


def _scopes(space: Workspace, verdict: Verdict) -> set[str]:
    """The scopes that the series touches, the modules' own lines among them."""
    scopes = {scope for p in verdict.placements for scope in (p.scope, p.spot.scope if p.spot else "") if scope}
    scopes |= {form.scope for hunk in space.series.hunks() for form in hunk.forms if form.scope}
    return scopes | {""}


def _upstream_lines(space: Workspace, verdict: Verdict) -> dict[tuple[str, int], int]:
    """Where the lines of findings are in upstream's own files; a line of ours is the line that it stands before."""
    wanted: dict[str, set[int]] = {}
    for file, line in _spots(verdict.all_findings):
        wanted.setdefault(file, set()).add(line)
    found: dict[tuple[str, int], int] = {}
    for file, lines in wanted.items():
        own = space.store.read(verdict.tag, file)
        if own is None:
            continue  # a file that only the series has
        ours = verdict.tree.get(file, own)
        table = _table(own, ours or b"")
        found |= {(file, line): table[line - 1] for line in lines if line <= len(table)}
    return found


def _spots(findings: Iterable[Finding]) -> set[tuple[str, int]]:
    return {(finding.file, finding.line) for finding in findings if finding.file and finding.line}


def _table(own: bytes, ours: bytes) -> list[int]:
    """For each line of `ours`, the 1-based line of `own` that it is or stands before."""
    before, after = own.splitlines(), ours.splitlines()
    table: list[int] = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        table += range(a + 1, b + 1) if kind == "equal" else [min(a + 1, max(len(before), 1))] * (d - c)
    return table
