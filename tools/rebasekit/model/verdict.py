"""The verdict of a rebase: placements, findings, exit code."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from rebasekit.model.finding import Finding
from rebasekit.model.placement import Placement
from rebasekit.model.tag import Tag

SCHEMA = 1


@dataclass(frozen=True)
class Verdict:
    """What a rebase found. `findings` are those that belong to no hunk; `timings` are seconds per step.

    `notes` are what a reader should know and need not decide: that a pin of the environment keeps hunks working.
    """

    tag: Tag
    base: Tag
    placements: tuple[Placement, ...]
    findings: tuple[Finding, ...] = ()
    series_digest: str = ""
    branch: str = ""
    notes: tuple[str, ...] = ()
    timings: dict[str, float] = field(default_factory=dict)
    tree: dict[str, bytes | None] = field(default_factory=dict, repr=False, compare=False)

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        return self.findings + tuple(f for p in self.placements for f in p.findings)

    @property
    def exit_code(self) -> int:
        """0 nothing to decide; 1 findings; 3 a hunk that a person has to place."""
        if any(p.outcome.open for p in self.placements):
            return 3
        return 1 if self.all_findings else 0

    def counts(self) -> Counter[str]:
        return Counter(p.outcome.value for p in self.placements)
