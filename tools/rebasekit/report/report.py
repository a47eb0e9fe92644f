"""The report: a verdict with its summary line and the commands to run next."""

from __future__ import annotations

from dataclasses import dataclass

from rebasekit.model.finding import Finding
from rebasekit.model.hunk import Form
from rebasekit.model.placement import Outcome, Placement
from rebasekit.model.tag import Tag
from rebasekit.model.verdict import Verdict

RELEASE_COMMANDS = ("rebasekit export --tag {tag}", "rebasekit apply --tag {tag} --to DIR")


@dataclass(frozen=True)
class Report:
    """What every form of the report says. `next` are commands, most urgent first."""

    verdict: Verdict
    summary: str
    next: tuple[str, ...]

    @classmethod
    def of(cls, verdict: Verdict) -> Report:
        return cls(verdict, summary(verdict), next_commands(verdict))

    @property
    def unplaced(self) -> tuple[Placement, ...]:
        """The hunks that a person has to place."""
        return tuple(p for p in self.verdict.placements if p.outcome.open)


def summary(verdict: Verdict) -> str:
    """One line: `v0.5.19 → v0.5.20: carried 9, shifted 2, relocated 1 — nothing to decide`."""
    counts = verdict.counts()
    parts = [f"{outcome.value} {counts[outcome.value]}" for outcome in Outcome if counts[outcome.value]]
    remembered = sum(1 for p in verdict.placements if p.remembered)
    if remembered:
        parts.append(f"{remembered} by a remembered resolution")
    return f"{verdict.base} → {verdict.tag}: {', '.join(parts) or 'no hunks'} — {_decide(verdict)}"


def _decide(verdict: Verdict) -> str:
    unplaced = sum(1 for p in verdict.placements if p.outcome.open)
    findings = len(verdict.all_findings)
    parts = [counted(unplaced, "hunk") + " to place"] if unplaced else []
    if findings:
        parts.append(counted(findings, "finding"))
    return ", ".join(parts) or "nothing to decide"


def counted(number: int, noun: str, plural: str = "") -> str:
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def next_commands(verdict: Verdict) -> tuple[str, ...]:
    """What to run now: place the open hunks, follow each finding, try again; or ship it."""
    if verdict.exit_code == 0:
        return tuple(command.format(tag=verdict.tag) for command in RELEASE_COMMANDS)
    commands = [f"rebasekit resolve {p.name} --tag {verdict.tag}" for p in verdict.placements if p.outcome.open]
    commands += [finding.next for finding in verdict.all_findings if finding.next]
    return (*dict.fromkeys(commands), f"rebasekit rebase {verdict.tag}")


def sentence(form: Form) -> str:
    """Where a form's lines go: `replace `x = $A` in `f` of file.py`."""
    parts = [form.place.value]
    if form.at:
        parts.append(f"`{form.at}`" + (f" ({form.count} times)" if form.count > 1 else ""))
    if form.to:
        parts.append(f"behind `{form.to}`")
    parts.append(f"in `{form.scope}` of {form.file}" if form.scope else f"in {form.file}")
    return " ".join(parts)


def answers(placement: Placement, tag: Tag) -> tuple[str, ...]:
    """The commands that place an open hunk, the quickest first."""
    resolve = f"rebasekit resolve {placement.name} --tag {tag}"
    if placement.conflict is not None and placement.conflict.alone:
        return (f"rebasekit accept {placement.name} --tag {tag} --why '…'", resolve)
    return (resolve,)


def where(placement: Placement) -> str:
    """`file:line` in the patched tree, or the file where the hunk was looked for."""
    if placement.spot is not None:
        return f"{placement.spot.file}:{placement.spot.line}"
    return placement.file


def location(finding: Finding) -> str:
    return f"{finding.file}:{finding.line}" if finding.line else finding.file


def outcome_words(placement: Placement) -> str:
    """The placement's word, marked when a remembered resolution stands behind it."""
    word = placement.outcome.value
    return f"{word} (remembered)" if placement.remembered else word


def kinds(findings: tuple[Finding, ...]) -> str:
    """`unbound ×3, api-gone` for a table cell."""
    names = [finding.kind for finding in findings]
    return ", ".join(f"{kind} ×{names.count(kind)}" if names.count(kind) > 1 else kind for kind in dict.fromkeys(names))
