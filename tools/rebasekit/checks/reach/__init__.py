"""Who builds a class or calls a function, under which tests, and whether serving gets there.

`reach` answers for one name; `Reach` (in `answer`) keeps what it learnt between several.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rebasekit.checks.reach.answer import Reach
from rebasekit.checks.reach.report import Ambiguous, Match, NoSuchName, ReachReport, Site, Step
from rebasekit.facts.query import Facts
from rebasekit.facts.settings import Settings
from rebasekit.facts.source import SourceTree

__all__ = ["Ambiguous", "Match", "NoSuchName", "Reach", "ReachReport", "Site", "Step", "reach", "reach_unindexed"]


def reach(
    facts: Facts, name: str, *, tag: str = "", assume: Mapping[str, Any] | None = None
) -> ReachReport | Ambiguous | NoSuchName:
    """Answer for `name` (partial or dotted) in one tree; entry points are those that `facts` was opened with."""
    return Reach(facts, tag, assume).report(name)


def reach_unindexed(
    tree: SourceTree, settings: Settings, name: str, *, tag: str = "", assume: Mapping[str, Any] | None = None
) -> ReachReport | Ambiguous | NoSuchName:
    """The same answer without an index, in seconds: only files that text search finds are read.

    Where the search stopped, callers are assumed to run, and `why` says so.
    """
    from rebasekit.facts.quick import quick_facts  # reads files: not for a command that only asks

    facts, complete = quick_facts(tree, settings, name)
    report = Reach(facts, tag, assume).report(name)
    if isinstance(report, ReachReport) and not complete:
        return replace(
            report, why=(*report.why, "the tree is not indexed: callers beyond those read are assumed to run")
        )
    return report
