"""The body of a pull request: what needs a decision first, and all that a reader wants to know after that.

GitHub takes 65,536 characters. The rest is in the whole report, which is an artifact of the run and not a file on the
branch: a merge then brings the map and the pins and nothing that is generated anew each time.
"""

from __future__ import annotations

from collections.abc import Sequence

from rebasekit.model.finding import Finding
from rebasekit.model.placement import Placement
from rebasekit.report.fitting import Section, fitted
from rebasekit.report.links import address
from rebasekit.report.markdown import block, cell, code, escape, prose
from rebasekit.report.report import Report, counted, kinds, location, outcome_words, where
from rebasekit.report.sides import sides
from rebasekit.report.trials import build_section, smoke_sections, trouble_lines
from rebasekit.steps.bot.carried import Carried
from rebasekit.steps.bot.trials import Trials

LIMIT = 60_000  # bytes; what people write above and below has the rest
_SIDE = 3_000  # bytes of one side of a conflict
_COMMANDS = 40
_TABLE = "| {} |\n|{}|\n"


def label(carried: Carried, tried: Trials) -> str:
    """The label that says what is left to do."""
    if carried.stuck:
        return "conflict"
    return "clean" if not carried.verdict.all_findings and tried.ok else "needs-decision"


def title(carried: Carried) -> str:
    """`rebase: sglang v0.5.19 → v0.5.20 (carried 21, review 2, conflict 1)`."""
    placements = carried.verdict.placements
    stuck = sum(1 for p in placements if p.outcome.open)
    review = sum(1 for p in placements if p.outcome.applied and p.findings)
    good = sum(1 for p in placements if p.outcome.applied and not p.findings)
    gone = sum(1 for p in placements if p.outcome.value == "upstreamed")
    words = [("carried", good), ("upstreamed", gone), ("review", review), ("conflict", stuck)]
    said = ", ".join(f"{word} {number}" for word, number in words if number or word == "carried")
    return f"rebase: {carried.package[:80]} {carried.base} → {carried.tag} ({said})"


def body(carried: Carried, tried: Trials, attached: str = "") -> str:
    """The text, without the bot's marks. `attached` is the address of the whole report, "" when there is none."""
    report = Report.of(carried.verdict)
    parts: list[Section | str] = [
        f"**{escape(_summary(report, tried))}**\n\n{_merging(carried)}",
        Section("To decide", [*_decisions(report, carried), *trouble_lines(tried)], share=0.4, between="\n\n"),
        Section(
            "Placements",
            [_row(placement) for placement in carried.verdict.placements],
            head=_head("hunk", "placement", "where", "decision", "findings"),
            fold=counted(len(carried.verdict.placements), "hunk"),
        ),
        Section("Findings", [_finding(finding, carried) for finding in carried.verdict.all_findings]),
        Section("Notes", [f"- {prose(note)}" for note in carried.verdict.notes], share=0.2),
        _churn(carried),
        *build_section(tried),
        *smoke_sections(tried),
        Section("Next", [block((*_by_hand(carried), *report.next[:_COMMANDS]), "sh")], share=0.2),
        _whole(carried, attached),
    ]
    return fitted(parts, LIMIT)[0]


def _summary(report: Report, tried: Trials) -> str:
    """The report's line; it knows nothing of builds and smokes, so what they say is put behind it."""
    if tried.ok:
        return report.summary
    head = report.summary.removesuffix("nothing to decide")
    return f"{head}{', ' if head == report.summary else ''}build or smoke to look at"


def _merging(carried: Carried) -> str:
    """What a merge says, in one sentence each."""
    moved, stay = len(carried.moved.pins), len(carried.moved.stay)
    text = f"Merging says that you agree with where {moved} of {counted(moved + stay, 'hunk')} now stand, "
    text += f"and makes {escape(carried.tag.name)} the series' base."
    if stay:
        text += " The others keep their pins: somebody has to look first."
    return f"{text} Push to this branch to change anything: the bot then leaves it to you."


def _decisions(report: Report, carried: Carried) -> list[str]:
    """A block per hunk without a place, then one line per hunk with findings."""
    found = [_open(placement, carried) for placement in report.unplaced]
    found += [
        f"- {code(p.name)}: {escape(kinds(p.findings))}"
        for p in carried.verdict.placements
        if p.findings and not p.outcome.open
    ]
    loose = carried.verdict.findings
    return found + ([f"- of no hunk: {escape(kinds(loose))}"] if loose else [])


def _open(placement: Placement, carried: Carried) -> str:
    scope = f" in {code(placement.scope)}" if placement.scope else ""
    reason = placement.reason or (placement.conflict.reason if placement.conflict else "")
    said = f": {prose(reason)}" if reason else ""
    parts = [f"- {code(placement.name)} **{placement.outcome.value}** at {code(where(placement))}{scope}{said}"]
    spots = [f"  - {code(f'{spot.file}:{spot.line}')} {code(spot.scope)}".rstrip() for spot in placement.candidates]
    if spots:
        parts.append("\n".join(["  candidates:", "", *spots]))
    if placement.conflict is None:
        return "\n\n".join(parts)
    parts.append("<details><summary>both sides</summary>")
    for side in sides(placement.conflict, carried.base.name, carried.tag.name):
        parts.append(f"*{escape(side.title)}*")
        if side.lines:
            parts.append(_cut(side.lines, "diff" if side.title != "where both meet" else ""))
    return "\n\n".join([*parts, "</details>"])


def _cut(lines: Sequence[str], language: str) -> str:
    """A fenced block of the lines that fit into one side's share."""
    room, taken = _SIDE, list[str]()
    for line in lines:
        room -= len(line.encode("utf-8", "replace")) + 1
        if room < 0:
            break
        taken.append(line)
    left = len(lines) - len(taken)
    made = block(tuple(taken) or (f"{lines[0][:200]}…",), language)
    return f"{made}\n\n… and {counted(left, 'line')} more" if left else made


def _row(placement: Placement) -> str:
    word = escape(outcome_words(placement))
    shown = f"**{word}**" if placement.outcome.open else word
    cells = (cell(placement.name), shown, cell(where(placement)), escape(placement.decision))
    return f"| {' | '.join((*cells, escape(kinds(placement.findings))))} |"


def _head(*columns: str) -> str:
    return _TABLE.format(" | ".join(columns), " --- |" * (len(columns) - 1) + " --- ")


def _finding(finding: Finding, carried: Carried) -> str:
    """One line, with a link to upstream's own source where there is one to link to."""
    owner = f" ({code('/'.join(part for part in (finding.patch, finding.hunk) if part))})" if finding.patch else ""
    step = f". Next: {code(finding.next)}" if finding.next else ""
    place = f"{_linked(finding, carried)}: " if finding.file else ""
    return f"- {place}**{escape(finding.kind)}**{owner}: {prose(finding.message)}{step}"


def _linked(finding: Finding, carried: Carried) -> str:
    shown = code(location(finding))
    line = carried.lines.get((finding.file, finding.line))
    return f"[{shown}]({address(carried.link, carried.tag, finding.file, line)})" if carried.link and line else shown


def _churn(carried: Carried) -> Section:
    rows = []
    for one in sorted(carried.churn, key=lambda one: -(one.added + one.removed)):
        scopes = [s for s in one.scopes if s.scope]
        inner = ", ".join(f"{code(s.scope)} +{s.added}/−{s.removed}" for s in scopes if "|" not in s.scope)
        rows.append(f"| {cell(one.file)} | +{one.added} | −{one.removed} | {inner} |")
    head = _head("file", "added", "removed", "scopes that the series touches")
    changed = f"{counted(len(rows), 'file')} changed from {escape(carried.base.name)} to {escape(carried.tag.name)}"
    return Section("What upstream changed beneath the series", rows, head=head, fold=changed, share=0.1)


def _by_hand(carried: Carried) -> tuple[str, ...]:
    return (f"git fetch origin rebasekit/{carried.tag} && git switch rebasekit/{carried.tag}",)


def _whole(carried: Carried, attached: str) -> str:
    command = code(f"rebasekit rebase {carried.tag} --markdown report.md")
    if attached:
        return f"The whole report is attached to [the run that wrote this]({attached}); {command} writes it again."
    return f"{command} writes the whole report."
