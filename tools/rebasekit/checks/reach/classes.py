"""The report for a class."""

from __future__ import annotations

from typing import NamedTuple

from rebasekit.checks.reach.callers import Callers
from rebasekit.checks.reach.inits import InitRoute, init_route
from rebasekit.checks.reach.paths import Paths
from rebasekit.checks.reach.report import (
    BUILDER_UNCALLED,
    LIVE,
    RULED_OUT,
    SIMULATION_ONLY,
    SUBCLASS_ONLY,
    UNCONSTRUCTED,
    UNKNOWN,
    ReachReport,
    Site,
    Step,
)
from rebasekit.checks.reach.sites import RawSite, Sites
from rebasekit.checks.reach.unread import missing_evidence
from rebasekit.facts.query import Facts

# Best first: a site counts as the best of the ways in which it can be reached.
_ORDER = ("serving", "simulation", "script", "test", "dead")


class _Placed(NamedTuple):
    raw: RawSite
    liveness: str
    ruled_out: str | None


class ClassReach:
    """Answers for classes of one tree under one set of deployment facts."""

    def __init__(self, facts: Facts, paths: Paths, sites: Sites, callers: Callers, tag: str) -> None:
        self.facts = facts
        self.paths = paths
        self.callers = callers
        self.tag = tag
        self.sites = sites

    def report(self, class_id: int) -> ReachReport:
        own = self._placed(class_id)
        below = self._below(class_id)
        sites = [self._site(p) for p in own]
        # A class that is built as itself in several places is one choice among its subclasses: each is shown where it
        # is built. One that is mostly inherited from is shown where subclasses run its constructor; `calls` says who
        # builds them.
        peers = sum(len(p.raw.calls) or 1 for p in own if p.liveness == "serving") > 1
        chosen = {call for p in own for call in p.raw.calls}
        for subclass, route, placed in below:
            beside = any(call in chosen for p in placed for call in p.raw.calls)
            sites.extend(self._subclass_sites(subclass, route, placed, peers or beside))
        sites = _distinct(sites)
        verdict, why = self._verdict(class_id, own, [p for _, _, placed in below for p in placed])
        if verdict != LIVE and (missing := missing_evidence(self.facts, self.callers, self.sites, class_id)):
            verdict, why = UNKNOWN, missing
        alive = tuple(self.facts.dotted(s) for s, _r, placed in below if any(p.liveness == "serving" for p in placed))
        scope = self.facts.program.scope(class_id)
        return ReachReport(
            self.facts.dotted(class_id), self.tag, "class", self.facts.path(class_id), scope.line, verdict,
            tuple(sorted(sites, key=_rank)), why, alive,
        )  # fmt: skip

    def _placed(self, class_id: int) -> list[_Placed]:
        placed = []
        for raw in self.sites.of(class_id).sites:
            liveness = self.liveness(raw)
            ruled_out = self.paths.ruled_out(raw.scope, raw.guard) if liveness in ("serving", "simulation") else None
            placed.append(_Placed(raw, liveness, ruled_out))
        return placed

    def liveness(self, raw: RawSite) -> str:
        """A site is as live as its scope; a class that is only named there, at most as its calls."""
        found = self.facts.liveness(raw.scope)
        if raw.factory is not None:
            found = _worst(found, self._simulated(raw.factory))
        if raw.calls:
            found = _worst(found, _best([self.facts.liveness(scope) for scope, _line in raw.calls]))
        if found == "serving" and self.paths.impossible(raw.scope, raw.guard):
            return "dead"
        return found

    def _simulated(self, function: int) -> str:
        name = self.facts.program.scope(function).name
        return "simulation" if self.facts.settings.simulation_pattern.search(name) else "serving"

    def _below(self, class_id: int) -> list[tuple[int, InitRoute, list[_Placed]]]:
        found = []
        for subclass in self.facts.hierarchy.subclasses(class_id):
            route = init_route(self.facts, subclass, class_id)
            if route is not None:
                found.append((subclass, route, self._placed(subclass)))
        return found

    def _subclass_sites(self, subclass: int, route: InitRoute, placed: list[_Placed], peers: bool) -> list[Site]:
        if peers or not route.calls:
            return [self._site(p) for p in placed]
        call = route.calls[-1]
        liveness = _best([p.liveness for p in placed])
        guards = self.paths.shown(call.function, call.guard)
        calls = tuple(Step(self.facts.path(p.raw.scope), p.raw.line, self.facts.label(p.raw.scope)) for p in placed)
        chain = self._chain(placed[0].raw.scope) if placed and liveness == "serving" else ()
        ruled = [p.ruled_out for p in placed if p.liveness == "serving"]
        return [
            Site(
                self.facts.path(call.function), call.line, self.facts.label(call.function), "super().__init__", guards,
                liveness, self.facts.dotted(subclass), ruled[0] if ruled and all(ruled) else None, calls, chain,
            )
        ]  # fmt: skip

    def _site(self, placed: _Placed) -> Site:
        raw = placed.raw
        calls = tuple(Step(self.facts.path(s), line, self.facts.label(s)) for s, line in raw.calls)
        chain = self._chain(raw.scope) if placed.liveness in ("serving", "simulation") else ()
        return Site(
            self.facts.path(raw.scope), raw.line, self.facts.label(raw.scope), ", ".join(raw.how),
            self.paths.shown(raw.scope, raw.guard), placed.liveness, self.facts.dotted(raw.type), placed.ruled_out,
            calls, chain,
        )  # fmt: skip

    def _chain(self, scope: int) -> tuple[Step, ...]:
        return tuple(Step(self.facts.path(s), line, self.facts.label(s)) for s, line in self.facts.chain(scope))

    def _verdict(self, class_id: int, own: list[_Placed], below: list[_Placed]) -> tuple[str, tuple[str, ...]]:
        """The verdict is about the class itself; what its subclasses do is said beside it."""
        serving = [p for p in own if p.liveness == "serving"]
        if any(p.ruled_out is None for p in serving):
            return LIVE, ()
        if serving:
            return RULED_OUT, tuple(dict.fromkeys(f"`{p.ruled_out}` is false" for p in serving))
        if any(p.liveness == "simulation" for p in own):
            return SIMULATION_ONLY, ()
        through = [p for p in below if p.liveness == "serving"]
        if any(p.ruled_out is None for p in through):
            return SUBCLASS_ONLY, ()
        if through:
            return RULED_OUT, tuple(dict.fromkeys(f"`{p.ruled_out}` is false" for p in through))
        lost = [
            (scope, line, what)
            for scope, line, what in self.sites.of(class_id).lost
            if scope >= 0 and self.facts.liveness(scope) == "serving"
        ]
        if lost:
            return UNKNOWN, tuple(
                f"handed to `{what}` at {self.facts.path(scope)}:{line}, which cannot be followed"
                for scope, line, what in lost[:5]
            )
        if self.facts.hierarchy.is_enum(class_id) and self.facts.liveness(class_id) == "serving":
            return LIVE, ("an enumeration: its members are made with the class",)
        dead = [p for p in (*own, *below) if p.liveness == "dead"]
        if dead:
            return BUILDER_UNCALLED, tuple(
                dict.fromkeys(f"nothing that runs calls `{self.facts.label(p.raw.scope)}`" for p in dead)
            )
        others = sorted({p.liveness for p in own})
        return UNCONSTRUCTED, ((f"built only by: {', '.join(others)}",) if others else ())


def _rank(site: Site) -> tuple[int, str, int]:
    return _ORDER.index(site.liveness), site.file, site.line


def _best(levels: list[str]) -> str:
    return min(levels, key=_ORDER.index, default="dead")


def _worst(one: str, other: str) -> str:
    return max(one, other, key=_ORDER.index)


def _distinct(sites: list[Site]) -> list[Site]:
    """One site per line: a line that builds several types lists them all."""
    merged: dict[tuple[str, int], Site] = {}
    for site in sites:
        key = (site.file, site.line)
        known = merged.get(key)
        if known is None:
            merged[key] = site
        else:
            best = min(known, site, key=_rank)
            types = dict.fromkeys([*known.type.split(", "), *site.type.split(", ")])
            merged[key] = best._replace(type=", ".join(types), calls=tuple(dict.fromkeys((*known.calls, *site.calls))))
    return list(merged.values())
