"""The check: every use on our lines, compared between the tree of the pin and the new tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rebasekit.checks.survive.catalog import Catalog
from rebasekit.checks.survive.hunks import UsedHunk
from rebasekit.checks.survive.judge import Judge
from rebasekit.checks.survive.nowhere import Nowhere, lines_of
from rebasekit.checks.survive.reader import Reader
from rebasekit.facts.collect import paused
from rebasekit.facts.query import Facts
from rebasekit.model.finding import Finding


@dataclass(frozen=True)
class Counted:
    """What was looked at in one hunk: uses compared, and uses whose receiver is not known."""

    patch: str
    hunk: str
    checked: int
    unresolved: int
    apis: tuple[str, ...] = ()  # what it uses of upstream's, by dotted name


@dataclass(frozen=True)
class Survival:
    """The answer: findings, and how much stands behind them."""

    findings: tuple[Finding, ...]
    hunks: tuple[Counted, ...] = ()

    @property
    def checked(self) -> int:
        return sum(hunk.checked for hunk in self.hunks)

    @property
    def unresolved(self) -> int:
        return sum(hunk.unresolved for hunk in self.hunks)


def survive(hunks: Sequence[UsedHunk], old: Facts, new: Facts, *, tag: str = "the new tree") -> Survival:
    """Compare what the hunks use between two patched trees; `tag` names the new one in messages.

    A hunk without an `old` sight is compared with itself: then only imports and listed uses can be missing.
    """
    with paused():
        judge = Judge(Catalog(old), Catalog(new), tag)
        itself = Judge(judge.new, judge.new, tag)
        nowhere = Nowhere(old, new, lines_of(hunk.old for hunk in hunks), lines_of(hunk.new for hunk in hunks))
        findings: list[Finding] = []
        counted: list[Counted] = []
        for hunk in hunks:
            reader = Reader(hunk, judge if hunk.old is not None else itself, nowhere)
            findings += reader.run()
            apis = tuple(sorted(reader.apis))
            counted.append(Counted(hunk.patch, hunk.id, reader.checked, reader.unresolved, apis))
    return Survival(tuple(findings), tuple(counted))
