"""Reach against classes of a real release that a person has read."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rebasekit.facts.source import ListingTree
from rebasekit.model.tag import Tag
from rebasekit.upstream.store import Store

HERE = Path(__file__).parent
TRUTHS = sorted(HERE.glob("reach-v*.json"))


def _score() -> ModuleType:
    spec = spec_from_file_location("truth_score", HERE / "score.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["truth_score"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


score = _score()


@pytest.mark.release
@pytest.mark.slow
@pytest.mark.parametrize("truth", TRUTHS, ids=lambda path: path.stem)
def test_truth(truth: Path, release_store: Store, need_release: Callable[..., list[Tag]]) -> None:
    (tag,) = need_release(truth.stem.removeprefix("reach-"))
    tree = ListingTree(release_store.commit(tag), lambda: release_store.files(tag), release_store.read_many)
    cache = release_store.root.parent.parent / "facts"
    total = score.measure(json.loads(truth.read_text(encoding="utf-8")), tree, cache)
    assert total.verdicts == total.classes, total.problems
    assert min(total.recall, total.precision) >= 0.95, total.problems


TRUTH: dict[str, Any] = {
    "classes": {
        "A": {
            "verdict": "alive",
            "sites": [
                {"file": "x.py", "line": 4, "all_lines": [2, 4], "liveness": "serving", "kind": ""},
                {"file": "x.py", "line": 9, "all_lines": [9], "liveness": "not-a-site", "kind": ""},
            ],
        }
    }
}


OTHER_LINES: dict[str, Any] = {
    "classes": {
        "A": {
            "verdict": "subclass-only: a mixin",
            "sites": [
                {"file": "x.py", "line": 4, "all_lines": [4], "also": [["y.py", 7]], "liveness": "serving", "kind": ""},
                {"file": "x.py", "line": 9, "all_lines": [9], "liveness": "open", "kind": ""},
            ],
        },
        "B": {"verdict": "subclass-only: abstract", "verdict_only": True, "sites": []},
    }
}


def test_other_lines_open_sites_and_verdicts_alone() -> None:
    sites = [{"file": f"up/{file}.py", "line": line, "liveness": "serving"} for file, line in (("y", 7), ("x", 9))]
    total = score.score(OTHER_LINES, lambda _name: {"verdict": "subclass-only", "sites": sites}, prefix="up/")
    assert (total.verdicts, total.wanted, total.found, total.reported, total.right) == (2, 1, 1, 1, 1)
    assert score.score(OTHER_LINES, lambda _name: answer("live"), prefix="up/").verdicts == 0


def answer(verdict: str, *lines: int, liveness: str = "serving") -> dict[str, Any]:
    return {"verdict": verdict, "sites": [{"file": "up/x.py", "line": n, "liveness": liveness} for n in lines]}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (answer("live", 4), (1, 1, 1, 1)),
        (answer("live", 2), (1, 1, 1, 1)),
        (answer("live", 3), (1, 0, 1, 0)),
        (answer("unconstructed"), (0, 0, 0, 0)),
        (answer("live", 4, 9), (1, 1, 2, 1)),
        (answer("live", 4, 4), (1, 1, 1, 1)),
        (answer("live", 4, liveness="dead"), (1, 0, 0, 0)),
        (answer("live", 9, liveness="dead"), (1, 0, 1, 0)),  # a site marked not-a-site counts against precision
    ],
)
def test_score_counts(given: dict[str, Any], expected: tuple[int, int, int, int]) -> None:
    total = score.score(TRUTH, lambda _name: given, prefix="up/")
    assert (total.verdicts, total.found, total.reported, total.right) == expected
