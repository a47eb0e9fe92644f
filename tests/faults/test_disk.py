"""A disk that is full or cannot be written: an error with a way out, and everything as it was."""

from __future__ import annotations

import gc
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from harness import Case, Result

WRITERS = {
    "rebase": ("rebase", "v1.1.0"),
    "accept": ("accept", "p/two", "--tag", "v1.0.0", "--why", "looked " * 2000),
    "import": ("import", "in.diff", "--onto", "v1.0.0", "--as", "q"),
    "rename": ("rename", "p", "r"),
    "export": ("export", "--tag", "v1.0.0", "--to", "out"),
}


def told(result: Result) -> str:
    """An error that a person can use: exit code 4 or 2, one line, a hint, and no traceback."""
    assert result.exit in (2, 4), (result.exit, result.stderr)
    lines = result.stderr.strip().splitlines()
    assert any(line.startswith("error: ") for line in lines), result.stderr
    assert any(line.startswith("hint: ") for line in lines), result.stderr
    assert "Traceback" not in result.stderr
    return result.stderr


def fill(place: Path) -> Path:
    """Use up all of a disk."""
    ballast = place / "ballast"
    with ballast.open("wb", buffering=0) as handle:
        for size in (1 << 16, 1 << 10, 1):
            try:
                while True:
                    handle.write(b"x" * size)
            except OSError:
                continue
    return ballast


@pytest.mark.parametrize("name", WRITERS)
def test_the_projects_disk_is_full(make: Callable[..., Case], disk: Path, tmp_path: Path, name: str) -> None:
    case = make(disk / "case")
    case.env["REBASEKIT_CACHE"] = str(tmp_path / "cache")  # the cache has room
    for tag in ("v1.0.0", "v1.1.0"):
        assert case.run("rebase", tag).exit == 0
    shutil.rmtree(case.project / "upstream-map")
    ballast, before = fill(disk), case.snapshot()
    result = case.run(*WRITERS[name], json=False)
    message = told(result)
    assert "no space left" in message or "the disk is full; nothing was changed" in message, message
    assert case.snapshot() == before
    ballast.unlink()
    again = case.run(*WRITERS[name], json=False)
    assert again.exit == 0, again.stderr
    assert not list(case.project.glob(".rebasekit*"))


def test_the_caches_disk_is_full(make: Callable[..., Case], disk: Path) -> None:
    case = make()
    case.env["REBASEKIT_CACHE"] = str(disk / "cache")
    assert case.run("rebase", "v1.0.0").exit == 0
    ballast, before = fill(disk), case.snapshot()
    message = told(case.run("rebase", "v1.1.0"))
    assert "no space left" in message and "REBASEKIT_CACHE" in message
    assert case.snapshot() == before
    ballast.unlink()
    assert case.run("rebase", "v1.1.0").exit == 0


def read_only(disk: Path) -> None:
    """Mount the disk anew so that nothing can be written; what still has a file open there gets a moment."""
    stop = time.monotonic() + 20
    while subprocess.run(["mount", "-o", "remount,ro", disk], stderr=subprocess.DEVNULL).returncode:
        assert time.monotonic() < stop, "something keeps a file of the disk open"
        gc.collect()
        time.sleep(0.2)


def test_the_cache_can_only_be_read(make: Callable[..., Case], disk: Path) -> None:
    """What is stored can be asked; what has to be stored is refused with the way out; nothing else happens."""
    case = make()
    case.env["REBASEKIT_CACHE"] = str(disk / "cache")
    for tag in ("v1.0.0", "v1.1.0"):
        assert case.spawn("rebase", tag).exit == 0  # a process of its own leaves no file of the disk open
    read_only(disk)
    try:
        before = case.snapshot()
        assert case.run("show", "p/two", json=False).exit == 0
        assert case.run("list", json=False).exit == 0
        for argv in (("export", "--tag", "v1.1.0", "--diff"), ("rebase", "v1.1.0"), ("churn", "v1.0.0", "v1.1.0")):
            result = case.run(*argv, json=False)
            assert result.exit == 0 or "REBASEKIT_CACHE" in told(result), (argv, result.stderr)
        message = told(case.run("rebase", "v1.2.0"))
        assert "REBASEKIT_CACHE" in message
        assert {p: d for p, d in case.snapshot().items() if "v1.1.0" not in p} == {
            p: d for p, d in before.items() if "v1.1.0" not in p
        }
    finally:
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
    assert case.run("rebase", "v1.2.0").exit == 3


def test_the_project_can_only_be_read(make: Callable[..., Case], disk: Path, tmp_path: Path) -> None:
    case = make(disk / "case")
    case.env["REBASEKIT_CACHE"] = str(tmp_path / "cache")
    assert case.run("rebase", "v1.0.0").exit == 0
    read_only(disk)
    try:
        for argv in WRITERS.values():
            told(case.run(*argv, json=False))
        assert case.run("list", json=False).exit == 0
    finally:
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)


def test_no_place_for_temporary_files(make: Callable[..., Case], tmp_path: Path) -> None:
    case = make()
    assert case.run("rebase", "v1.0.0").exit == 0
    result = case.spawn("rebase", "v1.1.0", env={"TMPDIR": str(tmp_path / "nowhere")})
    assert result.exit in (0, 2, 4) and "Traceback" not in result.stderr
    assert any(case.project.iterdir())
