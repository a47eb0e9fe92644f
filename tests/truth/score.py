"""Holding reach to classes that a person has read: verdicts, serving sites found, serving sites that are right.

A reported serving site is right when the truth has a serving site in that file on that line (or on one of the lines
that it says may be cited). A serving site of the truth is found when a reported serving site is on one of its lines.
A site that the truth leaves open counts for nothing; of a class that is marked `verdict_only`, only the verdict counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rebasekit.checks.reach import Reach, ReachReport
from rebasekit.facts.query import open_facts
from rebasekit.facts.settings import Settings
from rebasekit.facts.source import SourceTree

Answer = Mapping[str, Any]  # what `reach --json` prints
Line = tuple[str, int]


@dataclass
class Score:
    """Counts over all classes, with what went wrong as text."""

    classes: int = 0
    verdicts: int = 0
    wanted: int = 0
    found: int = 0
    reported: int = 0
    right: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def recall(self) -> float:
        return self.found / self.wanted if self.wanted else 1.0

    @property
    def precision(self) -> float:
        return self.right / self.reported if self.reported else 1.0

    def __str__(self) -> str:
        return (
            f"verdicts {self.verdicts}/{self.classes}, serving sites {self.found}/{self.wanted} "
            f"({self.recall:.1%}), precision {self.right}/{self.reported} ({self.precision:.1%})"
        )


def expected_verdicts(text: str) -> set[str]:
    """The verdicts that a sentence of the truth allows."""
    for verdict in ("simulation-only", "subclass-only"):
        if text.startswith(verdict):
            return {verdict}
    if text.startswith("dead"):
        return {"unconstructed", "builder-uncalled"}
    return {"live"}


def score(truth: Mapping[str, Any], ask: Callable[[str], Answer], prefix: str = "sglang/") -> Score:
    """Compare `ask(class name)` with each class of the truth."""
    total = Score()
    for name, entry in truth["classes"].items():
        _score_class(total, name, entry, ask(name), prefix)
    return total


def _lines(prefix: str, sites: Iterable[Mapping[str, Any]]) -> dict[Line, Mapping[str, Any]]:
    found = {}
    for site in sites:
        for line in {site["line"], *site["all_lines"]}:
            found[prefix + site["file"], line] = site
        for file, line in site.get("also", ()):
            found[prefix + file, line] = site
    return found


def _score_class(total: Score, name: str, entry: Mapping[str, Any], answer: Answer, prefix: str) -> None:
    total.classes += 1
    if answer["verdict"] in expected_verdicts(entry["verdict"]):
        total.verdicts += 1
    else:
        total.problems.append(f"{name}: verdict {answer['verdict']}, truth: {entry['verdict']}")
    if entry.get("verdict_only"):
        return
    serving = [s for s in entry["sites"] if s["liveness"].startswith("serving")]
    allowed = _lines(prefix, serving)
    others = _lines(prefix, [s for s in entry["sites"] if s not in serving])
    left_open = _lines(prefix, [s for s in entry["sites"] if s["liveness"] == "open"]).keys() - allowed.keys()
    reported = {(s["file"], s["line"]) for s in answer["sites"] if s["liveness"] == "serving"} - left_open
    for line in sorted(reported):
        total.reported += 1
        if line in allowed:
            total.right += 1
        else:
            truth = others[line]["liveness"] if line in others else "not in the truth"
            total.problems.append(f"{name}: extra {line[0]}:{line[1]} ({truth})")
    for site in serving:
        total.wanted += 1
        if reported & _lines(prefix, [site]).keys():
            total.found += 1
        else:
            total.problems.append(f"{name}: missed {site['file']}:{site['line']} ({site['kind']})")
    for other in answer["sites"]:
        site = others.get((other["file"], other["line"]))
        if site is not None and site["liveness"] == "not-a-site":
            total.problems.append(f"{name}: {other['file']}:{other['line']} is marked not-a-site")
            total.reported += other["liveness"] != "serving"


def measure(truth: Mapping[str, Any], tree: SourceTree, cache: Path) -> Score:
    """The score of a release against its truth; facts are kept in folder `cache`."""
    facts = open_facts(cache, tree, Settings((truth["entry"],)))
    reach = Reach(facts, tag=truth["version"])

    def ask(name: str) -> Answer:
        answer = reach.report(name)
        return answer.to_json() if isinstance(answer, ReachReport) else {"verdict": "unknown", "sites": []}

    return score(truth, ask)
