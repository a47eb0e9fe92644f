"""The report as GitHub Markdown. Text of upstream and of patches is data: it cannot mention, link, or break a table."""

from __future__ import annotations

import re

from rebasekit.model.finding import Finding
from rebasekit.model.placement import Placement
from rebasekit.report.report import Report, answers, kinds, location, outcome_words, sentence, where
from rebasekit.report.sides import sides
from rebasekit.visible import visible

_BLANK = "\u200b"  # between the sign and the name, it keeps GitHub from making a mention or a reference
_ESCAPES = str.maketrans(
    {mark: f"\\{mark}" for mark in "\\`*_{}[]()~"}
    | {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&vert;", "$": "&dollar;", "@": f"@{_BLANK}", "#": f"#{_BLANK}"}
)


# What may be the id of a commit: the forge would look for it in the reader's repository.
_HASH = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{7,}(?![0-9A-Za-z])")


def escape(text: str) -> str:
    """`text` as it is within one line of Markdown: no markup, HTML, mention, reference, commit or link."""
    flat = _HASH.sub(lambda match: _BLANK.join(re.findall(".{1,6}", match[0])), _flat(text))
    flat = flat.translate(_ESCAPES).replace("://", f":{_BLANK}//")
    return re.sub(r"(?i)\b(gh|www)(?=[-.])", rf"\1{_BLANK}", flat)


def code(text: str) -> str:
    """`text` as a code span."""
    flat = _flat(text)
    if not flat:
        return ""
    ticks = "`" * (max((len(run) for run in re.findall("`+", flat)), default=0) + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{ticks}{pad}{flat}{pad}{ticks}"


def prose(text: str) -> str:
    """`text` escaped, with what stands in single backquotes as code: how our own messages name things."""
    parts = text.split("`")
    if len(parts) % 2 == 0 or any(not part.strip() for part in parts[1::2]):
        return escape(text)
    pieces = []
    for number, part in enumerate(parts):
        lead, trail = (" " if part[:1].isspace() else "", " " if part[-1:].isspace() else "")
        pieces.append(code(part) if number % 2 else f"{lead}{escape(part)}{trail if part.strip() else ''}")
    return "".join(pieces).strip()


def cell(text: str) -> str:
    """`text` as a code span in a table; plain when it holds a bar, which would end the cell even inside code."""
    return escape(text) if "|" in text else code(text)


def _flat(text: str) -> str:
    return " ".join(visible(text).split())


def block(lines: tuple[str, ...], language: str = "") -> str:
    """A fenced block whose fence is longer than any run of backticks in it."""
    text = visible("\n".join(lines))
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", text))])
    return f"{fence}{language}\n{text}\n{fence}"


def render(report: Report) -> str:
    """The whole report; the summary first, because a pull request shows only its beginning."""
    verdict = report.verdict
    parts = [f"**{escape(report.summary)}**"]
    if verdict.placements:
        parts.append(_table(verdict.placements))
    for placement in report.unplaced:
        parts += _open(placement, report)
    if verdict.all_findings:
        parts.append("#### Findings\n\n" + "\n".join(_finding(finding) for finding in verdict.all_findings))
    if verdict.notes:
        parts.append("#### Notes\n\n" + "\n".join(f"- {prose(note)}" for note in verdict.notes))
    if report.next:
        parts.append("#### Next\n\n" + block(report.next, "sh"))
    return "\n\n".join(parts) + "\n"


def _table(placements: tuple[Placement, ...]) -> str:
    rows = ["| hunk | placement | where | decision | findings |", "| --- | --- | --- | --- | --- |"]
    for p in placements:
        word = escape(outcome_words(p))
        cells = (cell(p.name), f"**{word}**" if p.outcome.open else word, cell(where(p)), escape(p.decision))
        rows.append(f"| {' | '.join((*cells, escape(kinds(p.findings))))} |")
    return "\n".join(rows)


def _open(placement: Placement, report: Report) -> list[str]:
    scope = f" in {code(placement.scope)}" if placement.scope else ""
    reason = placement.reason or (placement.conflict.reason if placement.conflict else "")
    parts = [f"#### {code(placement.name)}: {placement.outcome.value}"]
    parts.append(f"{code(where(placement))}{scope}{': ' if reason else ''}{prose(reason)}")
    if placement.form is not None and placement.form.at:
        parts.append(f"Its place: {prose(sentence(placement.form))}")
    if placement.candidates:
        spots = (f"- {code(f'{spot.file}:{spot.line}')} {code(spot.scope)}".rstrip() for spot in placement.candidates)
        parts.append("Candidates:\n\n" + "\n".join(spots))
    if placement.conflict is not None:
        for side in sides(placement.conflict, report.verdict.base.name, report.verdict.tag.name):
            parts.append(escape(side.title))
            if side.lines:
                parts.append(block(side.lines, "diff" if side.title != "where both meet" else ""))
    return [*parts, block(answers(placement, report.verdict.tag), "sh")]


def _finding(finding: Finding) -> str:
    owner = f" ({code('/'.join(part for part in (finding.patch, finding.hunk) if part))})" if finding.patch else ""
    step = f" Next: {code(finding.next)}" if finding.next else ""
    place = f"{code(location(finding))}: " if finding.file else ""
    return f"- {place}**{escape(finding.kind)}**: {escape(finding.message)}{owner}{step}"
