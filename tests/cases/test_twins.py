"""What a person can do when a scope may be another now: two twins in two files have changed places."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import Case, Result, as_bytes, read_tree

from rebasekit.model.tag import Tag
from rebasekit.steps.rebase import branch_of
from rebasekit.steps.workspace import Workspace

FOLDER = Path(__file__).parent / "working" / "twins-that-swap-files"
MOVE = """\
[[move]]
from = { file = "pkg/a.py", scope = "Fast.go" }
to   = { file = "pkg/b.py", scope = "Slow.go" }
tags = ">=v1.1.0"
why  = "they changed places"
"""


@pytest.fixture
def case(tmp_path: Path) -> Case:
    case = Case(tmp_path, {path.name: read_tree(path) for path in sorted(FOLDER.glob("v*"))}, FOLDER / "patchset")
    assert case.run("rebase", "v1.0.0").placements == {"p/count": "carried"}
    return case


def with_line(case: Case, tag: str) -> list[str]:
    """The files of the branch that have the hunk's line."""
    space = Workspace(case.project, case.cache)
    branch = branch_of(Tag.parse(tag))
    return [path for path in space.store.files(branch) if b"counted(y)" in (space.store.read(branch, path) or b"")]


def reasons(result: Result) -> list[str]:
    return [hunk["reason"] for hunk in result.json["hunks"]]


def test_the_question_names_both_places(case: Case) -> None:
    result = case.run("rebase", "v1.1.0")
    assert (result.exit, result.placements) == (3, {"p/count": "ambiguous"})
    assert reasons(result) == ["`Fast.go` may be another now: `Slow.go` in `pkg/b.py` has more of what it was"]
    spots = result.json["hunks"][0]["candidates"]
    assert [(spot["file"], spot["scope"]) for spot in spots] == [("pkg/a.py", "Fast.go"), ("pkg/b.py", "Slow.go")]


def test_accepted_where_its_name_is_and_older_releases_keep_theirs(case: Case) -> None:
    case.run("rebase", "v1.1.0")
    said = case.run("accept", "p/count", "--why", "what it does is the same")
    assert (said.exit, said.stdout) == (0, "p/count pinned to v1.1.0 (a form for >=v1.1.0)\n")
    for tag in ("v1.1.0", "v1.0.0"):
        assert case.run("rebase", tag).placements == {"p/count": "carried"}
        assert with_line(case, tag) == ["pkg/a.py"]


def test_a_confirmed_move_takes_it_to_the_other_file(case: Case) -> None:
    case.write({"upstream-map/moves.toml": as_bytes(MOVE)})
    assert case.run("rebase", "v1.1.0").placements == {"p/count": "relocated"}
    assert with_line(case, "v1.1.0") == ["pkg/b.py"]
    assert case.run("rebase", "v1.0.0").placements == {"p/count": "carried"}


def test_a_confirmed_move_is_not_doubted(tmp_path: Path) -> None:
    """Where a person says that it went, it has changed, and the other twin is to the letter what it was."""
    tags = {path.name: read_tree(path) for path in sorted(FOLDER.glob("v*"))}
    old, new = tags["v1.0.0"]["pkg/a.py"], as_bytes(tags["v1.1.0"]["pkg/b.py"])
    tags["v1.1.0"] |= {"pkg/b.py": new.replace(b'key = "fast"', b'key = "faster"'), "pkg/c.py": old}
    case = Case(tmp_path, tags, FOLDER / "patchset")
    case.write({"upstream-map/moves.toml": as_bytes(MOVE)})
    assert case.run("rebase", "v1.1.0").placements == {"p/count": "relocated"}
    assert with_line(case, "v1.1.0") == ["pkg/b.py"]
