"""Many cases in one go: counts by verdict, and the smallest failure as a folder for `tests/cases/`."""

from __future__ import annotations

import functools
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from harness import Case as Project
from harness import series
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from rebasekit.steps.workspace import Workspace
from synthetic.cases import Case, make
from synthetic.grow import Dice
from synthetic.oracle import ASKED, RIGHT, WRONG, Judged, judge


@dataclass
class Tally:
    """`counts` are of (what, verdict) pairs; `failure` is the smallest wrong case."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    skipped: int = 0
    failure: tuple[Case, Judged] | None = None

    def add(self, case: Case, judged: Judged) -> None:
        keys = ["all", "clear" if judged.clear else "unclear"]
        keys += [f"place {one.place}" for one in case.ours] + [f"change {name}" for name in {*case.done}]
        self.counts.update((key, judged.verdict) for key in keys)
        if judged.git:
            self.counts.update((f"git {key}", judged.git) for key in keys[:2])

    def total(self, key: str) -> int:
        return sum(self.counts[key, verdict] for verdict in (RIGHT, ASKED, WRONG))

    def merge(self, other: Tally) -> None:
        self.counts += other.counts
        self.skipped += other.skipped
        self.failure = self.failure or other.failure


@functools.lru_cache(maxsize=256)
def _below(count: int) -> st.SearchStrategy[int]:
    return st.integers(0, count - 1)


@st.composite
def made(draw: st.DrawFn, space: Workspace) -> tuple[Case | None, bool]:
    """A case, and whether its hunks are pinned."""
    pick: Callable[[int], int] = lambda count: draw(_below(count))  # noqa: E731
    return make(Dice(pick), space), bool(draw(_below(2)))


def survey(space: Workspace, count: int, start: int = 0, *, rival: bool = False) -> Tally:
    """Judge `count` cases; the same `start` gives the same ones. Stops at the first that is wrong, made small."""
    tally = Tally()

    @seed(start)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
        report_multiple_bugs=False,
    )
    @given(made(space))
    def holds(drawn: tuple[Case | None, bool]) -> None:
        case, pinned = drawn
        if case is None:
            tally.skipped += 1
            return
        judged = judge(case, pinned=pinned, rival=rival)
        if judged.verdict == WRONG:
            tally.failure = (case, judged)
            raise AssertionError(judged.why)
        if tally.failure is None:
            tally.add(case, judged)

    try:
        holds()
    except AssertionError:
        assert tally.failure is not None
        tally.counts["all", WRONG] += 1
    return tally


@dataclass
class Tape:
    """Choices that are played again, then zeros: a recorded case that can be cut."""

    choices: list[int]
    at: int = 0

    def draw(self, count: int) -> int:
        self.at += 1
        return self.choices[self.at - 1] % count if self.at <= len(self.choices) else 0


def seeded(space: Workspace, numbers: range, *, rival: bool = False) -> Tally:
    """The same with one seed per case, which spreads more evenly than hypothesis does."""
    tally = Tally()
    for number in numbers:
        source, choices = random.Random(number), list[int]()

        def record(count: int, source: random.Random = source, choices: list[int] = choices) -> int:
            choices.append(source.randrange(count))
            return choices[-1]

        case = make(Dice(record), space)
        if case is None:
            tally.skipped += 1
            continue
        judged = judge(case, pinned=bool(number % 2), rival=rival)
        tally.add(case, judged)
        if judged.verdict == WRONG:
            tally.failure = smallest(space, choices, pinned=bool(number % 2)) or (case, judged)
            return tally
    return tally


def smallest(space: Workspace, choices: list[int], *, pinned: bool, tries: int = 600) -> tuple[Case, Judged] | None:
    """Cut choices out, and make them zero, as long as the case stays wrong."""
    best: tuple[Case, Judged] | None = None

    def wrong(shorter: list[int]) -> bool:
        nonlocal best, tries
        tries -= 1
        with suppress(Exception):  # half a case may be none at all
            case = make(Dice(Tape(shorter).draw), space)
            if case is not None and (judged := judge(case, pinned=pinned)).verdict == WRONG:
                best = (case, judged)
                return True
        return False

    size = len(choices) // 2
    while size and tries > 0:
        at = 0
        while at < len(choices) and tries > 0:
            cut = choices[:at] + choices[at + size :]
            zero = choices[:at] + [0] * len(choices[at : at + size]) + choices[at + size :]
            if wrong(cut):
                choices = cut
            elif any(choices[at : at + size]) and wrong(zero):
                choices, at = zero, at + size
            else:
                at += size
        size //= 2
    return best


def workspace(root: Path) -> Workspace:
    """A project with an empty series, for the steps that want one."""
    project = Project(root, {"v1.0.0": {"m.py": "x = 1\n"}}, {"series.toml": series("v1.0.0", patches=[])})
    assert project.run("rebase", "v1.0.0").exit == 0
    return Workspace(project.project, project.cache)
