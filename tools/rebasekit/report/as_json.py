"""The report as JSON; the shape is documented in docs/report-schema.md and changes only with `SCHEMA`."""

from __future__ import annotations

import json
from typing import Any

from rebasekit.model.finding import Finding
from rebasekit.model.placement import Conflict, Placement, Spot
from rebasekit.model.verdict import SCHEMA
from rebasekit.report.report import Report


def render(report: Report) -> str:
    """The document as text. ASCII only, so that no terminal encoding and no odd file name can spoil it."""
    return json.dumps(document(report), indent=2) + "\n"


def document(report: Report) -> dict[str, Any]:
    """The document as plain data."""
    verdict = report.verdict
    return {
        "schema": SCHEMA,
        "tag": verdict.tag.name,
        "from": verdict.base.name,
        "exit": verdict.exit_code,
        "summary": report.summary,
        "branch": verdict.branch,
        "series_digest": verdict.series_digest,
        "counts": dict(verdict.counts()),
        "hunks": [_hunk(placement) for placement in verdict.placements],
        "findings": [finding_data(finding) for finding in verdict.findings],
        "notes": list(verdict.notes),
        "next": list(report.next),
        "timings": {step: round(seconds, 4) for step, seconds in verdict.timings.items()},
    }


def finding_data(finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "file": finding.file,
        "line": finding.line,
        "message": finding.message,
        "next": finding.next,
        "patch": finding.patch,
        "hunk": finding.hunk,
    }


def _hunk(placement: Placement) -> dict[str, Any]:
    spot = placement.spot
    return {
        "patch": placement.patch,
        "id": placement.hunk,
        "file": spot.file if spot else placement.file,
        "scope": spot.scope if spot else placement.scope,
        "line": spot.line if spot else 0,
        "lines": list(placement.lines),
        "placement": placement.outcome.value,
        "reason": placement.reason,
        "method": placement.method,
        "remembered": placement.remembered,
        "decision": placement.decision,
        "candidates": [_spot(candidate) for candidate in placement.candidates],
        "conflict": _conflict(placement.conflict),
        "findings": [finding_data(finding) for finding in placement.findings],
    }


def _spot(spot: Spot) -> dict[str, Any]:
    return {"file": spot.file, "scope": spot.scope, "line": spot.line}


def _conflict(conflict: Conflict | None) -> dict[str, Any] | None:
    if conflict is None:
        return None
    return {
        "key": conflict.key,
        "reason": conflict.reason,
        "base": conflict.base,
        "ours": conflict.ours,
        "theirs": conflict.theirs,
        "upstream_diff": conflict.upstream_diff,
        "merged": conflict.merged,
        "alone": conflict.alone,
    }
