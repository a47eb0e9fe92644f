"""The harness itself: the same trees give the same commits, and nothing of the caller's gets in."""

from __future__ import annotations

import os
import time
from pathlib import Path

from harness import Case, as_bytes, patch_toml, read_tags, snapshot, write_tree

TREES = {
    "v1.0.0": {"pkg/a.py": "x = 1\n", "run.sh": "#!/bin/sh\n", "pkg/crlf.txt": b"a\r\nb\r\n"},
    "v1.1.0": {"pkg/b.py": "x = 2\n"},
}


def test_tags_hold_exactly_their_trees(tmp_path):
    case = Case(tmp_path, TREES)
    assert case.pristine("v1.0.0") == {name: as_bytes(text) for name, text in TREES["v1.0.0"].items()}
    assert case.pristine("v1.1.0") == {"pkg/b.py": b"x = 2\n"}
    assert case.git("ls-tree", "v1.0.0", "run.sh").startswith(b"100755")
    assert case.git("fsck", "--strict") == b""


def test_ids_depend_on_the_trees_only(tmp_path):
    ids = set()
    for number in range(2):
        case = Case(tmp_path / str(number), {"v1.0.0": TREES["v1.0.0"]})
        case.tag("v1.1.0", TREES["v1.1.0"])
        ids.add(case.git("rev-parse", "v1.0.0^{}", "v1.1.0^{}", "v1.1.0^{}^", "v1.1.0"))
    ids.add(Case(tmp_path / "both", TREES).git("rev-parse", "v1.0.0^{}", "v1.1.0^{}", "v1.1.0^{}^", "v1.1.0"))
    assert len(ids) == 1


def test_folders_are_read_in_version_order(tmp_path):
    write_tree(tmp_path, {"v1.10.0/a.py": "", "v1.9.0/a.py": "", "patchset/series.toml": ""})
    assert list(read_tags(tmp_path)) == ["v1.9.0", "v1.10.0"]


def test_the_environment_is_cleared_and_given_back(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("CLICOLOR_FORCE", "1")
    before, folder = dict(os.environ), Path.cwd()
    case = Case(tmp_path, TREES)
    assert "GIT_DIR" not in case.env
    result = case.run("--help")
    assert (result.exit, result.stderr) == (0, "")
    assert (dict(os.environ), Path.cwd()) == (before, folder)
    assert case.spawn("--version").stdout == "rebasekit 0.1.0\n"


def test_snapshot_sees_every_byte(tmp_path):
    write_tree(tmp_path, {"a/b": b"\0", ".c": ""})
    before = snapshot(tmp_path)
    assert snapshot(tmp_path) == before
    write_tree(tmp_path, {"a/b": b"\1"})
    assert {name for name in before if before[name] != snapshot(tmp_path)[name]} == {"a/b"}


def test_a_case_is_cheap(tmp_path):
    best = 9.0
    for number in range(3):
        start = time.perf_counter()
        case = Case(tmp_path / str(number), TREES, {"p/patch.toml": patch_toml()})
        case.run("list")
        best = min(best, time.perf_counter() - start)
    assert best < 0.3
