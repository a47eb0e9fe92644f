"""Asking about a name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rebasekit.checks.reach.arrivals import Arrivals
from rebasekit.checks.reach.callers import Callers
from rebasekit.checks.reach.classes import ClassReach
from rebasekit.checks.reach.functions import FunctionReach
from rebasekit.checks.reach.kept import recall, remember
from rebasekit.checks.reach.names import closest, find, match
from rebasekit.checks.reach.paths import Paths
from rebasekit.checks.reach.report import Ambiguous, NoSuchName, ReachReport
from rebasekit.checks.reach.sites import Sites
from rebasekit.checks.reach.switches import Switches
from rebasekit.facts.collect import paused
from rebasekit.facts.query import Facts
from rebasekit.facts.settings import Settings
from rebasekit.facts.source import SourceTree


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
        return report._replace(
            why=(*report.why, "the tree is not indexed: callers beyond those read are assumed to run")
        )
    return report


class Reach:
    """Reach over one tree, under one set of deployment facts (`assume`: attribute tails to values)."""

    def __init__(self, facts: Facts, tag: str = "", assume: Mapping[str, Any] | None = None) -> None:
        self.facts = facts
        self.tag = tag
        self.assume = dict(assume or {})
        sites = Sites(facts)
        callers = Callers(facts, sites.flow.targets)
        paths = Paths(facts, callers, Arrivals(facts, callers, sites), self.assume)
        switches = Switches(facts, callers, sites, self.assume)
        self.classes = ClassReach(facts, paths, sites, callers, tag)
        self.functions = FunctionReach(facts, paths, callers, switches, tag)

    def report(self, name: str) -> ReachReport | Ambiguous | NoSuchName:
        """The answer for a partial or dotted name; several different definitions are listed instead."""
        kept = recall(self.facts.parts, self.facts.settings, name, self.assume, self.tag)
        if kept is not None:
            return ReachReport.from_json(kept)
        with paused():
            found = find(self.facts, name)
            if not found:
                return NoSuchName(name, self.tag, tuple(closest(self.facts, name)))
            if len(found) > 1:
                found = sorted(found, key=lambda definition: self.facts.liveness(definition) != "serving")
                return Ambiguous(name, self.tag, tuple(match(self.facts, d) for d in found))
            report = self.of(found[0])
        remember(self.facts.parts, self.facts.settings, name, self.assume, report.to_json())
        return report

    def of(self, definition: int) -> ReachReport:
        """The answer for one class or function, by scope id."""
        if self.facts.is_class(definition):
            return self.classes.report(definition)
        return self.functions.report(definition)
