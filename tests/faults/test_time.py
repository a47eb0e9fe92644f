"""Two at once, and a clock that goes back."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from harness import Case

from rebasekit.model.tag import Tag
from rebasekit.patches import load_map
from rebasekit.steps.workspace import Workspace


def start(case: Case, *argv: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "rebasekit", *argv],
        cwd=case.project,
        env=case.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_rebases_at_once(make: Callable[..., Case]) -> None:
    """To the same release and to another, from nothing: each ends as if it had been alone."""
    case = make()
    runs = [start(case, "rebase", tag) for tag in ("v1.1.0", "v1.2.0", "v1.1.0", "v1.0.0")]
    ends = [(run.communicate(timeout=120), run.returncode) for run in runs]
    assert [code for _, code in ends] == [0, 3, 0, 0], ends
    alone = make(case.root.parent / "alone")
    for tag in ("v1.0.0", "v1.1.0", "v1.2.0"):
        alone.run("rebase", tag)
        assert load_map(case.project, Tag(tag)) is not None
        name = f"upstream-map/{tag}.toml"
        assert (case.project / name).read_bytes() == (alone.project / name).read_bytes()
    assert Workspace(case.project, case.cache).store.verify() == []


@pytest.mark.slow
def test_two_writers_of_one_patch(make: Callable[..., Case]) -> None:
    """Both decisions are there, or the later writer was told to run again; none is lost in silence."""
    case = make()
    assert case.run("rebase", "v1.0.0").exit == 0
    runs = [start(case, "accept", f"p/{h}", "--tag", "v1.0.0", "--why", f"looked at {h}") for h in ("one", "two")]
    ends = [(run.communicate(timeout=120)[1], run.returncode) for run in runs]
    text = (case.project / "patchset/p/patch.toml").read_text()
    for hunk, (error, code) in zip(("one", "two"), ends, strict=True):
        assert code in (0, 4), error
        assert (f"looked at {hunk}" in text) == (code == 0), (error, text)
    assert any(code == 0 for _, code in ends)
    assert not list(case.project.glob(".rebasekit*"))


def test_files_from_the_future(make: Callable[..., Case]) -> None:
    """The clock was wrong when the cache was written, or is wrong now: answers are the same."""
    case = make()
    first = case.run("rebase", "v1.1.0")
    for folder in (case.cache, case.project):
        for path in folder.rglob("*"):
            os.utime(path, (4_000_000_000, 4_000_000_000), follow_symlinks=False)
    again = case.run("rebase", "v1.1.0")
    assert (again.exit, again.placements) == (first.exit, first.placements)
    assert case.run("accept", "p/two", "--tag", "v1.1.0", "--why", "looked").exit == 0
    changed = case.project / "patchset/p/patch.toml"
    changed.write_text(changed.read_text().replace("z *= 3", "z *= 4"))
    os.utime(changed, (1, 1))  # older than what was read before
    result = case.run("export", "--tag", "v1.1.0", "--diff", json=False)
    assert "z *= 4" in result.stdout


def test_the_clock_goes_back_while_it_works(make: Callable[..., Case], monkeypatch: pytest.MonkeyPatch) -> None:
    case = make()
    now = [2_000_000_000.0]

    def earlier() -> float:
        now[0] -= 3600
        return now[0]

    monkeypatch.setattr(time, "time", earlier)
    result = case.run("rebase", "v1.1.0")
    assert (result.exit, result.placements) == (0, {"p/one": "carried", "p/two": "shifted"})
    assert all(seconds >= 0 for seconds in result.json["timings"].values())
    assert case.run("accept", "p/two", "--tag", "v1.1.0", "--why", "looked").exit == 0


def test_a_lock_of_a_process_that_is_gone(make: Callable[..., Case]) -> None:
    """Lock files stay; what they say about who held them is no lock."""
    case = make()
    assert case.run("rebase", "v1.0.0").exit == 0
    locks = [path for path in Path(case.cache).rglob("*.lock") if path.is_file()]
    for lock in locks:
        lock.write_text("process 999999 works since 2099-01-01\n")
    assert locks
    assert case.run("rebase", "v1.1.0").exit == 0
