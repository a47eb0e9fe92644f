"""Verdicts for the tests of reports."""

from __future__ import annotations

from dataclasses import replace

from rebasekit.model.finding import Finding
from rebasekit.model.placement import Conflict, Outcome, Placement, Spot
from rebasekit.model.tag import Tag
from rebasekit.model.verdict import Verdict

OLD, NEW = Tag("v0.5.19"), Tag("v0.5.20")


def placement(name: str, outcome: Outcome = Outcome.CARRIED, **keys: object) -> Placement:
    patch, _, hunk = name.partition("/")
    spot = Spot("pkg/a.py", "f", 12) if outcome.applied else None
    made = Placement(patch, hunk, outcome, None, "pkg/a.py", "f", spot=spot, lines=(12, 13) if spot else ())
    return replace(made, **keys)


def verdict(*placements: Placement, **keys: object) -> Verdict:
    return replace(Verdict(NEW, OLD, placements), **keys)


def finding(kind: str = "unbound", message: str = "`is_cuda` is not bound here", **keys: object) -> Finding:
    return replace(Finding(kind, "pkg/a.py", 13, message, "rebasekit show p/one", "p", "one"), **keys)


CONFLICT = Conflict(
    key="k1",
    reason="both changed the same line",
    base="def f():\n    a = 1\n    return a\n",
    ours="def f():\n    a = 2\n    return a\n",
    theirs="def f():\n    a = 3\n    return a\n",
    upstream_diff="@@ -1,3 +1,3 @@\n def f():\n-    a = 1\n+    a = 3\n     return a\n",
    merged=(
        "def f():\n<<<<<<< ours\n    a = 2\n||||||| base\n    a = 1\n=======\n    a = 3\n>>>>>>> upstream\n"
        "    return a\n"
    ),
)

FULL = verdict(
    placement("p/one", findings=(finding(), finding()), decision="carried"),
    placement("p/two", Outcome.SHIFTED, remembered="k9", method="anchor and merge"),
    placement("p/three", Outcome.CONFLICT, conflict=CONFLICT),
    placement(
        "q/four", Outcome.AMBIGUOUS, reason="2 matches", candidates=(Spot("pkg/a.py", "f", 3), Spot("pkg/a.py", "f", 9))
    ),
    findings=(finding("unread", "cannot parse", file="pkg/b.py", line=0, patch="", hunk=""),),
    timings={"place": 0.123456},
    branch="rebase/v0.5.20",
)
