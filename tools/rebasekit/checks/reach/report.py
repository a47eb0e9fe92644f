"""What `reach` answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

LIVE = "live"
SUBCLASS_ONLY = "subclass-only"
SIMULATION_ONLY = "simulation-only"
BUILDER_UNCALLED = "builder-uncalled"
UNCONSTRUCTED = "unconstructed"
RULED_OUT = "ruled-out"
UNKNOWN = "unknown"
# For functions and methods.
UNCALLED = "uncalled"
BYPASSED = "bypassed"


class Step(NamedTuple):
    """One call on the way from an entry point."""

    file: str
    line: int
    scope: str


class Site(NamedTuple):
    """One construction, or one call. `type` is the class that is built there (a subclass, perhaps)."""

    file: str
    line: int
    scope: str
    how: str
    guards: tuple[str, ...]
    liveness: str
    type: str = ""
    ruled_out: str | None = None  # the guard that the deployment's facts make false
    calls: tuple[Step, ...] = ()  # where a class that is named here is called, or a subclass is built
    chain: tuple[Step, ...] = ()
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """The stable keys first; empty extras are left out."""
        found: dict[str, Any] = {
            "file": self.file,
            "line": self.line,
            "scope": self.scope,
            "how": self.how,
            "guards": list(self.guards),
            "liveness": self.liveness,
        }
        if self.type:
            found["type"] = self.type
        if self.ruled_out:
            found["ruled_out"] = self.ruled_out
        if self.calls:
            found["calls"] = [step._asdict() for step in self.calls]
        if self.chain:
            found["chain"] = [step._asdict() for step in self.chain]
        if self.note:
            found["note"] = self.note
        return found

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Site:
        return Site(
            data["file"], data["line"], data["scope"], data["how"], tuple(data["guards"]), data["liveness"],
            data.get("type", ""), data.get("ruled_out"), _steps(data.get("calls", ())), _steps(data.get("chain", ())),
            data.get("note", ""),
        )  # fmt: skip


def _steps(data: Iterable[Mapping[str, Any]]) -> tuple[Step, ...]:
    return tuple(Step(step["file"], step["line"], step["scope"]) for step in data)


class Match(NamedTuple):
    """One definition that a name may mean."""

    name: str  # dotted, with its module
    kind: str  # "class", "function", "method"
    file: str
    line: int


class ReachReport(NamedTuple):
    """The answer for one definition.

    `name` is its dotted name; `why` explains an unknown or a surprising verdict; `subclasses` are those that serving
    builds and that run this class's constructor; `instead` names the implementation chosen in its place.
    """

    name: str
    tag: str
    kind: str
    file: str
    line: int
    verdict: str
    sites: tuple[Site, ...]
    why: tuple[str, ...] = ()
    subclasses: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "name": self.name,
            "tag": self.tag,
            "verdict": self.verdict,
            "sites": [site.to_json() for site in self.sites],
            "kind": self.kind,
            "file": self.file,
            "line": self.line,
            "why": list(self.why),
        }
        if self.subclasses:
            found["subclasses"] = list(self.subclasses)
        if self.instead:
            found["instead"] = list(self.instead)
        return found

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> ReachReport:
        """What `to_json` gave."""
        return ReachReport(
            data["name"], data["tag"], data["kind"], data["file"], data["line"], data["verdict"],
            tuple(Site.from_json(site) for site in data["sites"]), tuple(data["why"]),
            tuple(data.get("subclasses", ())), tuple(data.get("instead", ())),
        )  # fmt: skip


class NoSuchName(NamedTuple):
    """Nothing has that name; `closest` are names that look like it."""

    name: str
    tag: str
    closest: tuple[str, ...]


class Ambiguous(NamedTuple):
    """Several definitions have that name."""

    name: str
    tag: str
    matches: tuple[Match, ...]

    def to_json(self) -> dict[str, Any]:
        """In the shape of an answer that is not known, with what may be meant."""
        return {
            "name": self.name,
            "tag": self.tag,
            "verdict": "unknown",
            "sites": [],
            "why": [f"{len(self.matches)} definitions have this name"],
            "matches": [match._asdict() for match in self.matches],
        }
