"""The report on a terminal: one table, the open conflicts, the findings, the summary, the next commands."""

from __future__ import annotations

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from rebasekit.model.finding import Finding
from rebasekit.model.placement import Placement
from rebasekit.report.report import Report, answers, kinds, location, outcome_words, sentence, where
from rebasekit.report.sides import Side, nearest, sides
from rebasekit.visible import visible

_LONGEST = 40  # lines of one side before the rest is cut; `-v` shows all
_MOST_COMMANDS = 8
_STYLES = {
    "carried": "green",
    "shifted": "green",
    "relocated": "cyan",
    "upstreamed": "cyan",
    "not-meant": "dim",
    "conflict": "bold red",
    "missing": "bold red",
    "ambiguous": "bold red",
    "due": "yellow",
}
_LINE_STYLES = (
    (("+++", "---"), "bold"),
    ((">>>>>>>", "<<<<<<<", "=======", "|||||||"), "bold magenta"),
    (("+",), "green"),
    (("-",), "red"),
    (("@@",), "cyan"),
    (("…",), "dim"),
)


def render(report: Report, *, verbose: int = 0) -> list[RenderableType]:
    """What to print, from top to bottom; the summary and the commands come last, next to the prompt."""
    parts: list[RenderableType] = [table(report)] if report.verdict.placements else []
    told: dict[tuple[str, ...], str] = {}
    for placement in report.unplaced:
        parts += _open(placement, report, verbose, told)
    for finding in report.verdict.all_findings:
        parts.append(_finding(finding))
    if verbose > 1 and report.verdict.timings:
        timings = report.verdict.timings.items()
        parts.append(Text(", ".join(f"{step} {seconds:.2f} s" for step, seconds in timings), style="dim"))
    style = {0: "bold green", 1: "bold yellow"}.get(report.verdict.exit_code, "bold red")
    parts.append(Text(visible(report.summary), style=style))
    if report.verdict.branch:
        parts.append(Text(f"branch: {visible(report.verdict.branch)}"))
    return parts + _commands(report.next, verbose)


def table(report: Report) -> Table:
    """Hunk, placement, where, decision, findings."""
    result = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    columns = ["hunk", "placement", "where", "decision", "findings"]
    if not any(p.findings for p in report.verdict.placements):
        columns.pop()  # room for names on a narrow terminal
    for column in columns:
        # Paths fold on a narrow terminal; words stay whole.
        result.add_column(column, overflow="fold", no_wrap=column in ("placement", "decision"))
    for p in report.verdict.placements:
        cells = (
            Text(visible(p.name)),
            Text(outcome_words(p), style=_STYLES.get(p.outcome.value, "")),
            Text(visible(where(p))),
            Text(visible(p.decision), style=_STYLES.get(p.decision, "")),
            Text(visible(kinds(p.findings)), style="yellow"),
        )
        result.add_row(*cells[: len(columns)])
    return result


def source_lines(lines: tuple[str, ...], verbose: int = 0) -> Text:
    """Diff or merge lines, indented and in colour, cut to a screenful unless verbose."""
    text = Text()
    shown = lines if verbose or len(lines) <= _LONGEST else lines[:_LONGEST]
    for line in shown:
        style = next((style for starts, style in _LINE_STYLES if line.startswith(starts)), "")
        text.append(f"    {visible(line)}\n", style=style)
    if len(shown) < len(lines):
        text.append(f"    … {len(lines) - len(shown)} more lines with `-v`\n", style="dim")
    text.rstrip()
    return text


def _open(placement: Placement, report: Report, verbose: int, told: dict[tuple[str, ...], str]) -> list[RenderableType]:
    """One hunk without a place; `told` names the hunk at which a change of upstream's was shown already."""
    scope = f" in `{placement.scope}`" if placement.scope else ""
    head = Text.assemble(
        (visible(placement.name), "bold"),
        ": ",
        (placement.outcome.value, _STYLES[placement.outcome.value]),
        visible(f" at {where(placement) if placement.conflict else placement.file}{scope}"),
    )
    reason = placement.reason or (placement.conflict.reason if placement.conflict else "")
    if reason:
        head.append(visible(f", {reason}"))
    parts: list[RenderableType] = [head]
    if placement.form is not None and placement.form.at:
        parts.append(Text(visible(f"  its place: {sentence(placement.form)}"), style="dim"))
    parts += [Text(visible(f"  candidate: {s.file}:{s.line} {s.scope}".rstrip())) for s in placement.candidates]
    if placement.conflict is not None:
        for side in sides(placement.conflict, report.verdict.base.name, report.verdict.tag.name):
            if side.upstream and side.lines and not verbose:
                side = _shortened(side, placement, told)
            parts += _side(side, verbose)
    for number, command in enumerate(answers(placement, report.verdict.tag)):
        last = "" if command.startswith("rebasekit resolve") else "   if that is right"
        parts.append(Text(visible(f"  {'or' if number else 'next'}: {command}{last}"), style="dim"))
    return [*parts, Text()]


def _shortened(side: Side, placement: Placement, told: dict[tuple[str, ...], str]) -> Side:
    """Upstream's change without what lies far from the conflict, and shown once when several hunks meet it."""
    assert placement.conflict is not None
    if other := told.get(side.lines):
        return Side(f"{side.title}: shown at {other} above", ())
    told[side.lines] = placement.name
    if len(side.lines) <= _LONGEST:
        return side
    lines, near, every = nearest(placement.conflict, side.lines)
    return Side(side.title if near == every else f"{side.title}, {near} of its {every} parts (all with `-v`)", lines)


def _side(side: Side, verbose: int) -> list[RenderableType]:
    title = Text(f"  {visible(side.title)}", style="bold")
    return [title, source_lines(side.lines, verbose)] if side.lines else [title]


def _finding(finding: Finding) -> Text:
    text = Text()
    owner = f" [{finding.patch}{'/' if finding.hunk else ''}{finding.hunk}]" if finding.patch else ""
    text.append(visible(location(finding)) or "series", style="bold")
    text.append(f": {finding.kind}", style="yellow")
    text.append(visible(f": {finding.message}{owner}"))
    if finding.next:
        text.append(visible(f"\n    next: {finding.next}"), style="dim")
    return text


def _commands(commands: tuple[str, ...], verbose: int) -> list[RenderableType]:
    shown = commands if verbose else commands[:_MOST_COMMANDS]
    lines: list[RenderableType] = [
        Text(f"{'next: ' if number == 0 else '      '}{visible(command)}") for number, command in enumerate(shown)
    ]
    if len(shown) < len(commands):
        lines.append(Text(f"      … {len(commands) - len(shown)} more with `-v`", style="dim"))
    return lines
