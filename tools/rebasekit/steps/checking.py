"""All checks on a patched tree, against the trees on which its hunks were last reviewed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from rebasekit.checks.churn import review_due
from rebasekit.checks.defaults import ReliedHunk, defaults
from rebasekit.checks.reach import Reach, ReachReport
from rebasekit.checks.survive import Sight, UsedHunk, survive
from rebasekit.checks.unbound import RepositoryTree, unbound
from rebasekit.model.finding import Finding
from rebasekit.model.hunk import Place
from rebasekit.model.placement import Placement
from rebasekit.model.progress import SILENT, Progress, Task
from rebasekit.model.tag import Tag
from rebasekit.model.verdict import Verdict
from rebasekit.steps.consequences import explained
from rebasekit.steps.cutoff import cut_off
from rebasekit.steps.dotted import dotted_scope
from rebasekit.steps.patched import Patched, read_patched
from rebasekit.steps.workspace import Workspace, pin_tag

# verdicts of reach that mean that serving runs our lines, or that nobody can say so from the source
_FINE = {"live", "unknown"}
_FIRST = re.compile(r"`([^`]+)`")  # what a finding is about is the first name that it says
Carry = Callable[[Tag], Verdict]


@dataclass(frozen=True)
class Checked:
    """Findings of all checks, each with its hunk where it has one, and notes that are no findings."""

    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()


def check(space: Workspace, verdict: Verdict, carry: Carry, progress: Progress = SILENT) -> Checked:
    """Run every check; `carry` places the series on another tag. Raises nothing for what a check cannot read:

    that is a finding of kind `unread`.
    """
    new = read_patched(space, verdict, progress)
    earlier: dict[Tag, Patched] = {verdict.tag: new}

    def at(tag: Tag) -> Patched:
        if tag not in earlier:
            earlier[tag] = read_patched(space, carry(tag), progress)
        return earlier[tag]

    pins = {p.name: at(_pin(space, p)) for p in verdict.placements if p.outcome.applied and p.form}
    base = at(space.series.base)
    pinned = space.series.known
    with progress.task("what our lines use", unit="hunks"):
        survived = list(_survived(new, pins))
    with progress.task("defaults that our lines rely on"):
        relied = defaults(_relied(new), base.facts, new.facts, pins=pinned, tag=verdict.tag.name)
    with progress.task("names that nothing binds"):
        names = unbound(verdict.tree, RepositoryTree(space.store, verdict.tag))
    with progress.task("what serving reaches", len(pins), "hunks") as task:
        bypassed = {(f.patch, f.hunk) for f in relied.findings if f.kind == "bypassed"}
        reached = list(_reached(new, pins, pinned, bypassed, task))
    told = explained(survived, verdict)
    found = [*explained(_owned(names, verdict.placements), verdict), *told, *relied.findings, *reached]
    # what only waits for an open hunk is nothing to review
    troubled: dict[tuple[str, str], list[Finding]] = {}
    for finding, before in zip(told, survived, strict=True):
        if finding is before:
            troubled.setdefault((finding.patch, finding.hunk), []).append(finding)
    found += [due for p in verdict.placements if (of := troubled.get((p.patch, p.hunk))) and (due := _due(p, of))]
    return Checked(tuple(dict.fromkeys(found)), relied.notes)


def _pin(space: Workspace, placement: Placement) -> Tag:
    assert placement.form is not None
    return pin_tag(placement.form, space.series.base)


def _owned(findings: tuple[Finding, ...], placements: tuple[Placement, ...]) -> Iterator[Finding]:
    """Give a finding to the hunk whose line it is about; to the file's first hunk when it is about another line."""
    for finding in findings:
        here = [p for p in placements if p.file == finding.file and p.outcome.applied]
        owner = next((p for p in here if finding.line in p.lines), here[0] if here else None)
        if owner is None:
            yield finding
        else:
            yield replace(finding, patch=owner.patch, hunk=owner.hunk, next=f"rebasekit edit {owner.patch}")


def _survived(new: Patched, pins: Mapping[str, Patched]) -> Iterator[Finding]:
    """Compare what the hunks use, grouped by the tag on which they were reviewed."""
    groups: dict[Tag, list[str]] = {}
    for name, old in pins.items():
        groups.setdefault(old.tag, []).append(name)
    for names in groups.values():
        old = pins[names[0]]
        hunks = [used(name, old, new) for name in names]
        yield from survive(hunks, old.facts, new.facts, tag=new.tag.name).findings


def used(name: str, old: Patched, new: Patched) -> UsedHunk:
    """A hunk as `survive` takes it, seen on the tag of its pin and on the new one."""
    placement = new.placements[name]
    before = _sight(name, old) if old is not new else None
    uses = placement.form.uses if placement.form else ()
    return UsedHunk(placement.patch, placement.hunk, before, _sight(name, new), uses)


def _sight(name: str, tree: Patched) -> Sight | None:
    placement = tree.placements.get(name)
    data = tree.tree.get(placement.file) if placement else None
    return Sight(placement.file, placement.lines, data) if placement and data is not None and placement.lines else None


def _relied(new: Patched) -> list[ReliedHunk]:
    return [
        ReliedHunk(p.patch, p.hunk, p.file, p.lines, p.form.relies if p.form else ())
        for p in new.placements.values()
        if p.outcome.applied
    ]


def _reached(
    new: Patched, pins: Mapping[str, Patched], assume: Mapping[str, object], said: set[tuple[str, str]], task: Task
) -> Iterator[Finding]:
    """Scopes that serving no longer gets to although it did at the pin, and what `needs` asks for."""
    now = Reach(new.facts, new.tag.name, assume)
    then: dict[Tag, Reach] = {new.tag: now}
    for name, old in pins.items():
        task.advance()
        placement = new.placements[name]
        before = then.setdefault(old.tag, Reach(old.facts, old.tag.name, assume))
        yield from _needs(placement, now)
        yield from _cut_off(placement, new, old)
        if (placement.patch, placement.hunk) in said or old is new:
            continue
        yield from _scope_reached(placement, old.placements.get(name), now, before)


def _cut_off(placement: Placement, new: Patched, old: Patched) -> Iterator[Finding]:
    """Lines that a `return` before them keeps from running, which it did not at the pin."""
    line = cut_off(placement, new.tree.get(placement.file))
    earlier = old.placements.get(placement.name)
    if line and old is not new and earlier and not cut_off(earlier, old.tree.get(earlier.file)):
        message = f"nothing gets to the hunk's lines: line {line} always leaves the block before them"
        next_ = f"rebasekit show {placement.name}"
        yield Finding("uncalled", placement.file, _line(placement), message, next_, placement.patch, placement.hunk)


def _needs(placement: Placement, now: Reach) -> Iterator[Finding]:
    for need in placement.form.needs if placement.form else ():
        word, _, dotted = need.partition(" ")
        report = now.report(dotted.strip()) if word == "constructed" else None
        if isinstance(report, ReachReport) and report.verdict not in _FINE:
            yield _finding(report.verdict, placement, report, f"the hunk needs `{dotted}` to be built")
        elif report is not None and not isinstance(report, ReachReport):
            message = f"the hunk needs `{dotted}`, and {_unnamed(report)}"
            next_ = f"tools/reach {dotted.rpartition('.')[2]} --tag {now.tag}"
            where = (placement.file, _line(placement))
            yield Finding("unconstructed", *where, message, next_, placement.patch, placement.hunk)


def _unnamed(report: object) -> str:
    """Why a name has no report."""
    return "it is not in the tree" if type(report).__name__ == "NoSuchName" else "several things have that name"


def _scope_reached(placement: Placement, earlier: Placement | None, now: Reach, before: Reach) -> Iterator[Finding]:
    """The class or function that the hunk stands in: worse than at the pin?"""
    form = placement.form
    if not placement.scope or form is None or form.place is Place.NEW_FILE or earlier is None:
        return
    for number, name in enumerate(_names(placement, now)):
        report = now.report(name)
        if not isinstance(report, ReachReport) or report.verdict in _FINE:
            continue
        names = _names(earlier, before)
        if number >= len(names):
            return
        old = before.report(names[number])
        if isinstance(old, ReachReport) and old.verdict == report.verdict:
            return  # it was so when a person last looked
        yield _finding(report.verdict, placement, report, f"the hunk stands in `{placement.scope}`")
        return


def _names(placement: Placement, reach: Reach) -> list[str]:
    """The hunk's scope, and for a method its class first: a method of a class that nobody builds does not run."""
    own = dotted_scope(placement)
    report = reach.report(own)
    if isinstance(report, ReachReport) and report.kind == "method":
        return [own.rpartition(".")[0], own]
    return [own]


def _finding(kind: str, placement: Placement, report: ReachReport, what: str) -> Finding:
    why = f": {report.why[0]}" if report.why else ""
    instead = f"; `{report.instead[0]}` is taken instead" if report.instead else ""
    next_ = f"tools/reach {report.name} --tag {report.tag}"
    message = f"{what}, which is {report.verdict}{why}{instead}"
    return Finding(kind, placement.file, _line(placement), message, next_, placement.patch, placement.hunk)


def _line(placement: Placement) -> int:
    return placement.lines[0] if placement.lines else 0


def _due(placement: Placement, findings: Iterable[Finding]) -> Finding | None:
    return review_due(
        "",
        "",
        merged=True,
        survived=False,
        lost=[named[1] for finding in findings if (named := _FIRST.search(finding.message))],
        where=(placement.file, _line(placement)),
        hunk=(placement.patch, placement.hunk),
    )
