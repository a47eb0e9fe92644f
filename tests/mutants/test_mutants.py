"""A good rebase, broken on purpose in many known ways: how many of them the checks catch is held to a number."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from harness import Case
from mutant_list import MUTANTS, Mutant
from mutant_project import project
from mutant_run import Verdict, judged


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    made = project(tmp_path_factory.mktemp("mutants"))
    assert made.run("rebase", "v1.0.0").exit == 0
    return made


@pytest.fixture(scope="module")
def verdicts(case: Case) -> Iterator[dict[str, Verdict]]:
    yield {mutant.name: judged(case, mutant, f"v1.2.{number}") for number, mutant in enumerate(MUTANTS)}


@pytest.fixture(scope="module")
def control(case: Case) -> Verdict:
    return judged(case, Mutant("control", lambda files: files, ()), "v1.1.1")


def test_an_undamaged_rebase_says_nothing(control: Verdict) -> None:
    assert (control.result.exit, control.said) == (0, set())
    assert "ours" in control.printed and "price" in control.printed, "the patched program runs, our lines in it"


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_mutant_is_broken(mutant: Mutant, verdicts: dict[str, Verdict], control: Verdict) -> None:
    """Each mutant's program prints something else, or fails; or it is said to break only what nobody calls yet."""
    assert (verdicts[mutant.name].printed != control.printed) or mutant.dead


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_mutant_is_caught(mutant: Mutant, verdicts: dict[str, Verdict]) -> None:
    """By a finding, or by a hunk without a place, of a kind that says what is wrong; or it is known why not."""
    caught = bool(verdicts[mutant.name].said & set(mutant.kinds))
    assert caught != bool(mutant.missed), f"{verdicts[mutant.name].said}; {mutant.missed}"
    assert not caught or verdicts[mutant.name].result.exit in (1, 3)


def test_nineteen_of_twenty_are_caught(verdicts: dict[str, Verdict]) -> None:
    caught = [mutant.name for mutant in MUTANTS if verdicts[mutant.name].said & set(mutant.kinds)]
    assert len(MUTANTS) >= 40
    assert len(caught) * 20 >= len(MUTANTS) * 19, set(caught) ^ {mutant.name for mutant in MUTANTS}
