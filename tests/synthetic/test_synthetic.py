"""A made-up upstream, a change of ours, a change of upstream's: what comes out is right, or a person was asked."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from rebasekit.steps.workspace import Workspace
from synthetic.cases import Case, make
from synthetic.grow import Dice
from synthetic.keep import keep
from synthetic.oracle import ASKED, RIGHT, WRONG, describe, judge
from synthetic.ours import BY_DIFF, FILES, INSIDE, STATEMENTS
from synthetic.run import seeded, survey, workspace
from synthetic.theirs import CHANGES

CASES = 1000


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return workspace(tmp_path_factory.mktemp("synthetic"))


@pytest.mark.slow
def test_nothing_is_wrong_and_silent(space: Workspace, tmp_path: Path) -> None:
    tally = survey(space, CASES // 2)
    if not tally.failure:
        tally.merge(seeded(space, range(CASES // 2)))
    if tally.failure:
        case, judged = tally.failure
        keep(case, judged, tmp_path / "case")
        pytest.fail(f"{judged.why}\n{describe(case)}\nas a folder for tests/cases/failing: {tmp_path / 'case'}")
    assert tally.total("all") >= CASES * 0.7
    assert tally.counts["clear", RIGHT] >= tally.total("clear") * 0.7, "asking always is no answer"
    assert tally.counts["unclear", ASKED] >= 30
    places = (*STATEMENTS, *INSIDE, *BY_DIFF, *FILES)
    assert [p for p in places if tally.total(f"place {p}") < 5] == []
    assert [c.__name__ for c in CHANGES if tally.total(f"change {c.__name__}") < 5] == []


def first(space: Workspace, start: int, filler: int = 0) -> Case:
    """The first case that can be said, from a seed."""
    for number in range(start, start + 50):
        dice = Dice(random.Random(number).randrange)
        case = make(dice, space, filler=filler)
        if case is not None:
            return case
    raise AssertionError("no case can be said")


@pytest.mark.slow
@pytest.mark.parametrize("start", [0, 100, 200])
def test_twenty_thousand_lines(space: Workspace, start: int) -> None:
    case = first(space, start, filler=20_000)
    assert max(data.count(b"\n") for data in case.old_bytes.values()) > 20_000
    assert judge(case, pinned=bool(start)).verdict in (RIGHT, ASKED)


# ---- the oracle itself: it has to see what is wrong ----


@pytest.mark.parametrize("seed", range(12))
def test_the_oracle_sees_a_tree_that_is_not_meant(space: Workspace, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the hunks' lines left out, doubled or moved, and nobody told, no case is right."""
    from rebasekit.edit.owned import Owned

    case = first(space, seed * 1000)
    if judge(case, pinned=False).verdict != RIGHT:
        pytest.skip("a person is asked, so there is no tree to damage")
    text = Owned.text.fget  # type: ignore[attr-defined]
    monkeypatch.setattr(Owned, "text", property(lambda self: text(self) + "stray = 1\n"))
    assert judge(case, pinned=False).verdict == WRONG


def test_a_failure_gets_small_and_becomes_a_folder(space: Workspace, tmp_path: Path) -> None:
    """With the second opinion switched off there are failures; what is kept of one still fails."""
    from rebasekit.steps import crosscheck

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crosscheck, "agree", lambda sides, result: crosscheck.Agreement("none"))
        tally = seeded(space, range(400))
        assert tally.failure is not None
        case, judged = tally.failure
        assert judge(case, pinned=False).verdict == WRONG or judge(case, pinned=True).verdict == WRONG
        assert sum(map(len, case.old_bytes.values())) < 2500
    keep(case, judged, tmp_path / "case")
    assert {p.name for p in (tmp_path / "case").iterdir()} >= {"v1.0.0", "v1.1.0", "patchset", "why"}


def test_the_oracle_sees_a_hunk_that_lands_although_its_statement_changed(space: Workspace) -> None:
    """Without the second opinion of a merge, some cases come out wrong, and the oracle says so."""
    from rebasekit.steps import crosscheck

    verdicts = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crosscheck, "agree", lambda sides, result: crosscheck.Agreement("none"))
        for start in range(0, 6000, 50):
            verdicts.append(judge(first(space, start), pinned=False).verdict)
    assert WRONG in verdicts
