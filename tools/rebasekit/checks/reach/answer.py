"""Asking about a name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from rebasekit.checks.reach.arrivals import Arrivals
from rebasekit.checks.reach.callers import Callers
from rebasekit.checks.reach.classes import ClassReach
from rebasekit.checks.reach.functions import FunctionReach
from rebasekit.checks.reach.names import closest, find, match
from rebasekit.checks.reach.paths import Paths
from rebasekit.checks.reach.report import Ambiguous, NoSuchName, ReachReport
from rebasekit.checks.reach.sites import Sites
from rebasekit.checks.reach.switches import Switches
from rebasekit.facts.collect import paused
from rebasekit.facts.query import Facts

_REVISION = 2  # raise when the same facts give another answer: kept answers of older revisions are not used


class Reach:
    """Reach over one tree, under one set of deployment facts (`assume`: attribute tails to values)."""

    def __init__(self, facts: Facts, tag: str = "", assume: Mapping[str, Any] | None = None) -> None:
        self.facts = facts
        self.tag = tag
        self.assume = dict(assume or {})
        sites = Sites(facts)
        callers = Callers(facts, sites.flow.targets)
        paths = Paths(facts, callers, self.assume)
        paths.arrivals = Arrivals(facts, callers, sites)
        switches = Switches(facts, callers, sites, self.assume)
        self.classes = ClassReach(facts, paths, sites, callers, tag)
        self.functions = FunctionReach(facts, paths, callers, switches, tag)

    def report(self, name: str) -> ReachReport | Ambiguous | NoSuchName:
        """The answer for a partial or dotted name; several different definitions are listed instead."""
        key = self._key(name)
        kept = self.facts.parts.answer(key)
        if kept is not None:
            return ReachReport.from_json({**json.loads(kept), "tag": self.tag})
        with paused():
            found = find(self.facts, name)
            if not found:
                return NoSuchName(name, self.tag, tuple(closest(self.facts, name)))
            if len(found) > 1:
                return Ambiguous(name, self.tag, tuple(match(self.facts, d) for d in found))
            report = self.of(found[0])
        self.facts.parts.keep(key, json.dumps(report.to_json()).encode())
        return report

    def of(self, definition: int) -> ReachReport:
        """The answer for one class or function, by scope id."""
        if self.facts.is_class(definition):
            return self.classes.report(definition)
        return self.functions.report(definition)

    def _key(self, name: str) -> str:
        assumed = json.dumps(sorted(self.assume.items()), default=str)
        text = f"reach\0{_REVISION}\0{self.facts.settings.key}\0{assumed}\0{name}"
        return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
