"""The shipped checkpoint pool on a real release: every fifth mutant here, all of them with `nox -s mutants`."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from mutant_list import Mutant
from mutant_real import MUTANTS, TAG, Real

from rebasekit.model.tag import Tag

ALL = os.environ.get("REBASEKIT_MUTANTS") == "all"


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory, need_release: Callable[..., list[Tag]]) -> Real:
    from releases import release_cache

    need_release("v0.5.19", TAG.name)
    return Real.made(tmp_path_factory.mktemp("real"), release_cache())


@pytest.mark.release
@pytest.mark.slow
def test_an_undamaged_rebase_says_nothing(real: Real) -> None:
    assert real.said(Mutant("control", lambda files: files, ())) == set()


@pytest.mark.release
@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS if ALL else MUTANTS[::5], ids=lambda mutant: mutant.name)
def test_the_mutant_is_caught(mutant: Mutant, real: Real) -> None:
    caught = bool(real.said(mutant) & set(mutant.kinds))
    assert caught != bool(mutant.missed), mutant.missed
