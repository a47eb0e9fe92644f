"""What the page shows, as plain data: no decisions are left to the template."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from rebasekit.checks.churn import FileChurn
from rebasekit.model.finding import Finding
from rebasekit.model.placement import Outcome, Placement
from rebasekit.model.verdict import Verdict
from rebasekit.report.links import address
from rebasekit.report.page.timeline import Row, legend, rows
from rebasekit.report.report import Report, counted, location, outcome_words, where
from rebasekit.report.sides import sides
from rebasekit.steps.background import Background, Way

_MARKS = (
    (("<<<<<<<", "=======", ">>>>>>>", "|||||||"), "marker"),
    (("@@", "…"), "where"),
    (("+",), "added"),
    (("-",), "removed"),
)


@dataclass(frozen=True)
class Line:
    text: str
    kind: str  # "added", "removed", "marker", "where" or ""


@dataclass(frozen=True)
class Side:
    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Problem:
    """A finding with where it is in words."""

    finding: Finding
    where: str
    url: str


@dataclass(frozen=True)
class Item:
    """One hunk. `words` are what the filters know of it."""

    placement: Placement
    words: tuple[str, ...]
    outcome: str
    where: str
    url: str
    problems: tuple[Problem, ...]
    sides: tuple[Side, ...]
    way: Way | None

    @property
    def reason(self) -> str:
        conflict = self.placement.conflict
        return self.placement.reason or (conflict.reason if conflict else "")

    @property
    def urgent(self) -> bool:
        return self.placement.outcome.open or bool(self.problems)


@dataclass(frozen=True)
class Bar:
    """Churn of a file or scope; the shares are of the largest file's, in percent."""

    name: str
    added: int
    removed: int
    added_share: float
    removed_share: float
    ours: bool
    inner: tuple[Bar, ...] = ()


@dataclass(frozen=True)
class Page:
    report: Report
    state: str  # "clean", "needs-decision" or "conflict"
    headline: str
    items: tuple[Item, ...]
    others: tuple[Problem, ...]
    words: tuple[tuple[str, int], ...]
    patches: tuple[tuple[str, int], ...]
    bars: tuple[Bar, ...]
    tags: tuple[str, ...]
    timeline: tuple[Row, ...]

    @property
    def legend(self) -> tuple[tuple[str, str], ...]:
        """Sign and word of each placement."""
        return legend()

    @property
    def verdict(self) -> Verdict:
        return self.report.verdict


def page(report: Report, background: Background, link: str = "") -> Page:
    verdict = report.verdict
    ways = background.ways or {}
    items = tuple(_item(p, verdict, ways.get(p.name), link) for p in verdict.placements)
    words = Counter(word for item in items for word in item.words)
    patches = Counter(p.patch for p in verdict.placements)
    return Page(
        report=report,
        state={0: "clean", 1: "needs-decision", 3: "conflict"}[verdict.exit_code],
        headline=_headline(report),
        items=items,
        others=tuple(_problem(finding, verdict, link) for finding in verdict.findings),
        words=tuple(sorted(words.items(), key=lambda pair: _order(pair[0]))),
        patches=tuple(patches.items()),
        bars=_bars(background.churn, verdict),
        tags=tuple(kept.tag for kept in background.maps),
        timeline=rows(background.maps),
    )


def _headline(report: Report) -> str:
    open_, findings = len(report.unplaced), len(report.verdict.all_findings)
    parts = [counted(open_, "hunk") + " to place"] if open_ else []
    parts += [counted(findings, "finding") + " to decide"] if findings else []
    return " and ".join(parts) or "Nothing to decide"


def _order(word: str) -> tuple[int, str]:
    names = [outcome.value for outcome in Outcome]
    return (names.index(word) if word in names else len(names), word)


def _item(placement: Placement, verdict: Verdict, way: Way | None, link: str) -> Item:
    kinds = [finding.kind for finding in placement.findings]
    due = ["decision due"] if placement.decision == "due" else []
    shown = sides(placement.conflict, verdict.base.name, verdict.tag.name) if placement.conflict else []
    return Item(
        placement,
        tuple(dict.fromkeys([placement.outcome.value, *kinds, *due])),
        outcome_words(placement),
        where(placement),
        _url(link, verdict, placement.file),
        tuple(_problem(finding, verdict, link) for finding in placement.findings),
        tuple(Side(side.title, tuple(_line(text) for text in side.lines)) for side in shown),
        way,
    )


def _line(text: str) -> Line:
    return Line(text, next((kind for starts, kind in _MARKS if text.startswith(starts)), ""))


def _problem(finding: Finding, verdict: Verdict, link: str) -> Problem:
    return Problem(finding, location(finding), _url(link, verdict, finding.file))


def _url(link: str, verdict: Verdict, file: str) -> str:
    """Upstream's file; lines are those of the patched tree, so a link leads to the file and not to a line of it."""
    return address(link, verdict.tag, file) if file else ""


def _bars(files: tuple[FileChurn, ...], verdict: Verdict) -> tuple[Bar, ...]:
    ours = {(p.file, p.scope) for p in verdict.placements}
    most = max((file.added + file.removed for file in files), default=0) or 1
    bars = []
    for file in sorted(files, key=lambda file: -(file.added + file.removed)):
        inner = [
            _bar(scope.scope or "the module", scope.added, scope.removed, most, (file.file, scope.scope) in ours)
            for scope in sorted(file.scopes, key=lambda scope: -(scope.added + scope.removed))
        ]
        inner.sort(key=lambda bar: not bar.ours)
        bars.append(_bar(file.file, file.added, file.removed, most, True, tuple(inner)))
    return tuple(bars)


def _bar(name: str, added: int, removed: int, most: int, ours: bool, inner: tuple[Bar, ...] = ()) -> Bar:
    return Bar(name, added, removed, round(100 * added / most, 2), round(100 * removed / most, 2), ours, inner)
