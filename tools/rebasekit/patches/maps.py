"""Maps: where each hunk landed on a tag. No dates, so that the same rebase writes the same bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import rebasekit
from rebasekit.model.finding import Finding
from rebasekit.model.placement import Outcome, Placement
from rebasekit.model.tag import Tag
from rebasekit.model.verdict import Verdict
from rebasekit.patches.render import pairs

SCHEMA = 1
FOLDER = "upstream-map"
_NOTE = "# Written by rebasekit: where each hunk stands on this tag. A rebase to the tag writes it anew.\n"


@dataclass(frozen=True)
class MapEntry:
    """One hunk on the tag. `line` is 1-based in the patched tree, 0 when not applied; `lines` counts the hunk's."""

    patch: str
    id: str
    placement: Outcome
    file: str = ""
    scope: str = ""
    line: int = 0
    lines: int = 0
    method: str = ""
    reason: str = ""
    remembered: str = ""
    churn: str = ""
    decision: str = ""
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class TagMap:
    """A verdict as it is kept. `series` is the digest of the series that was placed."""

    tag: str
    base: str
    series: str
    tool: str
    hunks: tuple[MapEntry, ...] = ()
    findings: tuple[Finding, ...] = ()


def map_path(tag: Tag) -> str:
    return f"{FOLDER}/{tag.name}.toml"


def map_of(verdict: Verdict, churn: Mapping[str, str] | None = None) -> TagMap:
    """The map of a verdict; `churn` has a text per hunk name (`patch/id`)."""
    entries = tuple(_entry(placement, (churn or {}).get(placement.name, "")) for placement in verdict.placements)
    tool = f"rebasekit {rebasekit.__version__}"
    return TagMap(verdict.tag.name, verdict.base.name, verdict.series_digest, tool, entries, _sorted(verdict.findings))


def _entry(placement: Placement, churn: str) -> MapEntry:
    spot = placement.spot
    return MapEntry(
        patch=placement.patch,
        id=placement.hunk,
        placement=placement.outcome,
        file=spot.file if spot else placement.file,
        scope=spot.scope if spot else placement.scope,
        line=spot.line if spot else 0,
        lines=len(placement.lines),
        method=placement.method,
        reason=placement.reason,
        remembered=placement.remembered,
        churn=churn,
        decision=placement.decision,
        findings=_sorted(placement.findings, placement.patch, placement.hunk),
    )


def _sorted(findings: tuple[Finding, ...], patch: str = "", hunk: str = "") -> tuple[Finding, ...]:
    """In a fixed order. A hunk's findings name it by where they stand, so that it is not written again."""
    plain = {Finding(f.kind, f.file, f.line, f.message, f.next, f.patch or patch, f.hunk or hunk) for f in findings}
    return tuple(sorted(plain, key=lambda f: (f.file, f.line, f.kind, f.message, f.next, f.patch, f.hunk)))


def dump_map(verdict: Verdict, churn: Mapping[str, str] | None = None) -> str:
    """The map of a verdict as TOML."""
    return dump(map_of(verdict, churn))


def dump(tag_map: TagMap) -> str:
    head = {"schema": SCHEMA, "tag": tag_map.tag, "base": tag_map.base, "series": tag_map.series, "tool": tag_map.tool}
    parts = [_NOTE + pairs(head)]
    for entry in tag_map.hunks:
        values: dict[str, object] = {"patch": entry.patch, "id": entry.id, "placement": entry.placement.value}
        values |= {key: getattr(entry, key) for key in ("file", "scope", "line", "lines")}
        optional = {key: getattr(entry, key) for key in ("method", "reason", "remembered", "churn", "decision")}
        values |= {key: text for key, text in optional.items() if text}
        parts.append("[[hunk]]\n" + pairs(values))
        parts += ["[[hunk.finding]]\n" + _finding_text(f, entry.patch, entry.id) for f in entry.findings]
    parts += ["[[finding]]\n" + _finding_text(finding) for finding in tag_map.findings]
    return "\n".join(parts)


def _finding_text(finding: Finding, patch: str = "", hunk: str = "") -> str:
    values: dict[str, object] = {key: getattr(finding, key) for key in ("kind", "file", "line", "message", "next")}
    if (finding.patch, finding.hunk) != (patch, hunk):
        values |= {"patch": finding.patch, "hunk": finding.hunk}
    return pairs(values)
