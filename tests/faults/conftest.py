"""A project with releases on which something is left to do for every command, and a disk that is small."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from harness import Case, patch_toml, series

A = "def one(x):\n    y = x + 1\n    return y\n\n\ndef two(x):\n    z = x + 2\n    return z\n"
ONE = 'id = "one"\nfile = "pkg/a.py"\nscope = "one"\nplace = "replace"\nat = "y = x + 1"\nlines = "y = x + 5"'
TWO = 'id = "two"\nfile = "pkg/a.py"\nscope = "two"\nplace = "before"\nat = "return z"\nlines = "z *= 3"'
FILES = {f"pkg/m{n}.py": f"M = {n}\n" * 40 for n in range(60)}


def upstream() -> dict[str, dict[str, str]]:
    conflict = A.replace("    y = x + 1\n", "    y = check(x + 1)\n")
    texts = {"v1.0.0": A, "v1.1.0": A.replace("x + 2", "x + 3"), "v1.2.0": conflict}
    return {tag: {"pkg/a.py": text, "pkg/b.py": "B = 1\n", **FILES} for tag, text in texts.items()}


def patchset() -> dict[str, str | bytes]:
    return {"series.toml": series("v1.0.0", patches=["p"]), "p/patch.toml": patch_toml(ONE, TWO)}


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Case]:
    """A case at a place of the test's choice; nothing is fetched yet."""

    def made(root: Path | None = None) -> Case:
        case = Case(root or tmp_path / "case", upstream(), patchset())
        (case.project / "in.diff").write_text("--- a/pkg/b.py\n+++ b/pkg/b.py\n@@ -1 +1,2 @@\n B = 1\n+B = 2\n")
        return case

    return made


def mount(place: Path, *options: str) -> None:
    """Mount a tmpfs, or mount one anew; skip where that is not allowed."""
    place.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", place], capture_output=True)
    if done.returncode:
        pytest.skip("needs the right to mount a small disk (run as root)")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of two megabytes."""
    place = tmp_path / "disk"
    mount(place, "size=2m")
    yield place
    subprocess.run(["umount", "-l", place], check=True)
