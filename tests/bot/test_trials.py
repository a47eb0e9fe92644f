"""Build and smoke in a pull request: what they found, what could not run, and when they run again."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from world import World

from rebasekit.errors import StateError
from rebasekit.model.tag import Tag
from rebasekit.steps.bot import trials
from rebasekit.steps.bot.settings import Settings
from rebasekit.steps.smoke.result import Effect, Smoke, StepResult
from rebasekit.steps.workspace import Workspace


def served(outcome: str = "ok", seconds: float = 3.0) -> Smoke:
    return Smoke(
        tag="v1.1.0",
        version="1.1.0+rk.0",
        device="cpu",
        ranks=2,
        kernels="stand-in",
        model="tiny",
        patched=True,
        steps=(StepResult("plain", "greedy", outcome, "3 prompts", seconds, 5),),
        effects=(Effect("p/y", "ran", 1, 1, {"TP0": "ran 1/1", "TP1": "ran 1/1"}),),
        seconds=seconds,
    )


def built(ok: bool = True) -> trials.BuildResult:
    failed = () if ok else ("test_it",)
    return trials.BuildResult(ok, "1.1.0+rk.0", "pkg-1.1.0.whl", tests=(trials.PatchTests("p", 4, 1, failed),))


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Steps of our own in place of the real ones, which need a package index and minutes."""
    said: dict[str, Any] = {"build": built(), "smoke": served(), "count": 0}

    def give(what: str) -> Any:
        said["count"] += 1
        if isinstance(said[what], Exception):
            raise said[what]
        return said[what]

    monkeypatch.setattr(trials, "planned", lambda *_: {})
    monkeypatch.setattr(trials, "build", lambda *_, **__: give("build"))
    monkeypatch.setattr(trials, "of_built", lambda found: found)
    monkeypatch.setattr(trials, "smoke", lambda *_: give("smoke"))
    return said


def test_what_was_found_is_shown(near: World, runs: dict[str, Any]) -> None:
    assert near.bot().exit == 0
    body = near.pull(1)["body"]
    assert "ok: `pkg-1.1.0.whl`" in body
    assert "| `p` | 4 | 0 | 1 |" in body
    assert "| ok | `plain` | `greedy` | 3 prompts | 3 s |" in body
    assert "| `p/y` | ran | 1/1 | ran 1/1 | ran 1/1 |  |" in body
    assert near.labels(1) == {"rebase", "clean"}
    assert runs["count"] == 2
    near.writes()
    runs["smoke"] = served(seconds=99.0)
    assert near.bot().exit == 0
    assert runs["count"] == 2  # nothing is built for what is known
    assert near.writes() == []
    assert near.bot("--again").exit == 0
    assert runs["count"] == 4
    assert "| 99 s |" in near.pull(1)["body"]


def test_a_failure_needs_a_decision(near: World, runs: dict[str, Any]) -> None:
    runs.update(build=built(False), smoke=served("FAIL"))
    assert near.bot().exit == 0
    assert near.labels(1) == {"rebase", "needs-decision"}
    decide = near.pull(1)["body"].split("#### Placements")[0]
    assert "- build: `p`: `test_it` failed" in decide
    assert "- smoke: `plain: greedy`: 3 prompts" in decide


def test_what_could_not_run_is_tried_again(near: World, runs: dict[str, Any]) -> None:
    runs["smoke"] = StateError("pip could not install @torch", hint="less log")
    assert near.bot().exit == 0
    assert near.labels(1) == {"rebase", "needs-decision"}
    assert "smoke could not run: pip could not install @\u200btorch" in near.pull(1)["body"]
    runs["smoke"] = served()
    assert near.bot().exit == 0
    assert near.labels(1) == {"rebase", "clean"}


def test_switches(near: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "build", lambda *_, **__: pytest.fail("built"))
    assert near.bot("--no-build", "--no-smoke").exit == 0
    body = near.pull(1)["body"]
    assert "left out with \u2013" not in body
    assert "#### Build\n\nNot run: left out with --no-build" in body
    assert "#### Smoke\n\nNot run: left out with --no-smoke" in body


def write(folder: Path, smoke: Any, build: Any) -> None:
    (folder / "deep").mkdir(parents=True, exist_ok=True)
    if smoke is not None:
        (folder / "deep" / "smoke-v1.1.0.json").write_text(smoke if isinstance(smoke, str) else json.dumps(smoke))
    if build is not None:
        (folder / "build-v1.1.0.json").write_text(json.dumps(build))


def result(ok: bool = True) -> dict[str, Any]:
    tests = [{"patch": "p", "counts": {"passed": 4, "skipped": 1}, "failed": [] if ok else ["test_it"]}]
    one = {"version": "1.1.0+rk.0", "ok": ok, "wheel": {"path": "/a/pkg-1.1.0.whl"}, "installation": None}
    return {"schema": 1, "builds": [{**one, "imports": [], "tests": tests}]}


def test_results_of_other_jobs(near: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The job that may write runs nothing of upstream's: it reads."""
    monkeypatch.setattr(trials, "planned", lambda *_: {})
    for step in ("build", "smoke"):
        monkeypatch.setattr(trials, step, lambda *_, **__: pytest.fail("ran"))
    write(tmp_path, {"schema": 1, "ok": True, **asdict(served())}, result())
    assert near.bot("--results", str(tmp_path)).exit == 0
    assert near.labels(1) == {"rebase", "clean"}
    assert "| `p` | 4 | 0 | 1 |" in near.pull(1)["body"]


@pytest.mark.parametrize("smoke", [None, "{", "[]", "{}", '{"tag": []}'])
def test_results_that_are_missing_or_broken(
    near: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, smoke: Any
) -> None:
    monkeypatch.setattr(trials, "planned", lambda *_: {})
    write(tmp_path, smoke, result(False))
    assert near.bot("--results", str(tmp_path)).exit == 0
    assert near.labels(1) == {"rebase", "needs-decision"}
    assert "smoke could not run" in near.pull(1)["body"]
    assert "`test_it` failed" in near.pull(1)["body"]


def test_planned(near: World, tmp_path: Path) -> None:
    space = Workspace(near.project, near.case.cache)
    settings = Settings(cache=near.case.cache, out=tmp_path)
    assert set(trials.planned(space, settings, False)) == {"build", "smoke"}  # upstream is git
    near.case.write({"patchset/series.toml": SERIES})
    space = Workspace(near.project, near.case.cache)
    assert set(trials.planned(space, settings, False)) == {"smoke"}  # there is no serve/smoke.toml
    near.case.write({"serve/smoke.toml": ""})
    assert trials.planned(space, settings, False) == {}
    assert set(trials.planned(space, settings, True)) == {"build", "smoke"}
    tried = trials.run(space, Tag("v1.1.0"), Settings(cache=near.case.cache, out=tmp_path, build=False), False)
    assert [note.what for note in tried.notes if note.failed] == ["smoke"]  # a plan that is none is told, not raised


SERIES = 'base = "v1.0.0"\npatches = ["p"]\n\n[upstream]\nkind = "pypi"\npackage = "no-such-package-of-ours"\n'
