"""The report for a function or a method."""

from __future__ import annotations

from rebasekit.checks.reach.callers import Caller, Callers
from rebasekit.checks.reach.paths import Paths
from rebasekit.checks.reach.report import (
    BYPASSED,
    LIVE,
    RULED_OUT,
    SIMULATION_ONLY,
    UNCALLED,
    UNKNOWN,
    ReachReport,
    Site,
    Step,
)
from rebasekit.checks.reach.switches import Switches
from rebasekit.checks.reach.unread import missing_evidence
from rebasekit.facts.query import Facts


class FunctionReach:
    """Answers for functions of one tree under one set of deployment facts."""

    def __init__(self, facts: Facts, paths: Paths, callers: Callers, switches: Switches, tag: str) -> None:
        self.facts = facts
        self.paths = paths
        self.callers = callers
        self.switches = switches
        self.tag = tag

    def report(self, function: int) -> ReachReport:
        scope = self.facts.program.scope(function)
        callers = self.callers.of(function)
        placed = [(caller, self._ruled(caller)) for caller in callers]
        sites = tuple(dict.fromkeys(self._site(caller, ruled) for caller, ruled in placed))
        kind = "method" if self.facts.types.receiver(function) is not None else "function"
        instead = self.switches.instead_of(function) if self.facts.liveness(function) == "serving" else ()
        verdict, why = self._verdict(function, placed, instead)
        if verdict != LIVE and (missing := missing_evidence(self.facts, self.callers, self.switches.sites, function)):
            verdict, why = UNKNOWN, missing
        ordered = sorted(sites, key=lambda s: (s.liveness != "serving", s.file, s.line))
        return ReachReport(
            self.facts.dotted(function), self.tag, kind, self.facts.path(function), scope.line, verdict,
            tuple(ordered), why, (), instead,
        )  # fmt: skip

    def _ruled(self, caller: Caller) -> str | None:
        if self.facts.liveness(caller.scope) != "serving":
            return None
        return self.paths.ruled_out(caller.scope, caller.guard)

    def _site(self, caller: Caller, ruled: str | None) -> Site:
        facts = self.facts
        liveness = facts.liveness(caller.scope)
        chain = facts.chain(caller.scope) if liveness in ("serving", "simulation") else []
        return Site(
            facts.path(caller.scope), caller.line, facts.label(caller.scope), caller.how,
            self.paths.shown(caller.scope, caller.guard), liveness, "", ruled, (),
            tuple(Step(facts.path(s), line, facts.label(s)) for s, line in chain),
            "" if caller.certain else "the receiver's class is not known: matched by name",
        )  # fmt: skip

    def _verdict(
        self, function: int, placed: list[tuple[Caller, str | None]], instead: tuple[str, ...]
    ) -> tuple[str, tuple[str, ...]]:
        liveness = self.facts.liveness(function)
        serving = [(c, ruled) for c, ruled in placed if self.facts.liveness(c.scope) == "serving"]
        if liveness == "serving":
            if serving and all(ruled is not None for _c, ruled in serving):
                return RULED_OUT, tuple(dict.fromkeys(f"`{ruled}` is false" for _c, ruled in serving))
            if instead:
                return BYPASSED, instead
            certain = any(c.certain for c, _ruled in serving)
            if serving and not certain:
                return LIVE, ("called only through receivers whose class is not known",)
            return LIVE, () if serving else ("run by Python or a framework, not by a call in the tree",)
        if liveness == "simulation":
            return SIMULATION_ONLY, ()
        if any(not c.certain for c, _r in serving):
            return UNKNOWN, tuple(
                f"`{self.facts.label(c.scope)}` calls a method of this name on an object of unknown class"
                for c, _r in serving[:3]
            )
        if liveness in ("script", "test"):
            return UNCALLED, (f"called only by: {liveness}",)
        return UNCALLED, ()
