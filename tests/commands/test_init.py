"""`init`: the first file of a project, checked with upstream, and a first patch on it."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import Case, series


@pytest.fixture
def case(tmp_path: Path) -> Case:
    tree = {"python/pkg/a.py": "A = 1\n", "README": "x\n"}
    made = Case(
        tmp_path / "case",
        upstream={"v1.0.0": tree, "v1.1.0": {**tree, "new": "y\n"}},
        patchset={"series.toml": series("v1.0.0", patches=[])},
    )
    for path in (made.project / "patchset").iterdir():
        path.unlink()
    (made.project / "patchset").rmdir()
    return made


def test_a_first_patch_from_nothing(case):
    done = case.run("init", str(case.repository), "--prefix", "python/", json=False)
    assert done.exit == 0, done.stderr
    assert [Path(line).name for line in done.stdout.splitlines()] == ["series.toml", ".gitattributes"]
    assert "rebasekit import SOURCE --onto v1.1.0" in done.stderr
    text = (case.project / "patchset/series.toml").read_text()
    assert 'base    = "v1.1.0"\npatches = []' in text and 'prefix  = "python/"' in text
    opened = case.run("edit", "mine", "--new", "--why", "w", "--removal", "r", json=False)
    folder = Path(opened.stdout.strip())
    (folder / "pkg/a.py").write_text("A = 2\n")
    assert case.run("refresh", "mine", json=False).exit == 0
    assert case.run("rebase", "v1.0.0").placements == {"mine/a-replace": "carried"}


def test_what_is_there_stays(case):
    (case.project / ".gitattributes").write_text("mine\n")
    assert case.run("init", str(case.repository), "--base", "1.0.0", json=False).exit == 0
    assert (case.project / ".gitattributes").read_text() == "mine\n"
    assert 'base    = "v1.0.0"' in (case.project / "patchset/series.toml").read_text()
    again = case.run("init", str(case.repository), json=False)
    assert again.exit == 2 and "already" in again.stderr


def test_elsewhere(case):
    assert case.run("-C", "a/b", "init", str(case.repository), json=False).exit == 0
    assert (case.project / "a/b/patchset/series.toml").is_file()
    assert case.run("-C", "c/patchset", "init", str(case.repository), json=False).exit == 0
    assert (case.project / "c/patchset/series.toml").is_file()


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("no-such-folder/x",), "cannot be read"),
        (("--prefix", "python/", "package"), "`--prefix` is for a git repository"),
        (("ext::sh -c true",), "not a URL"),
    ],
)
def test_refused(case, argv, words):
    before = case.snapshot()
    done = case.run("init", *argv, json=False)
    assert done.exit in (2, 4) and words in done.stderr, done.stderr
    assert case.snapshot() == before


def test_a_release_that_is_not_there(case):
    done = case.run("init", str(case.repository), "--base", "v1.2.0", json=False)
    assert done.exit == 4 and "the nearest are `v1.0.0`, `v1.1.0`" in done.stderr
