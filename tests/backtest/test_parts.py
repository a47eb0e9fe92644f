"""The parts of the backtest that decide what is compared with what."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.backtest import tools
from tests.backtest.difference import difference
from tests.backtest.nearest import Nearest, likeness
from tests.backtest.owners import follow
from tests.backtest.units import Step

from rebasekit.model.tag import Tag


class Trees:
    """Trees by tag as the store would give them; the blob's id is its text."""

    def __init__(self, trees: dict[str, dict[str, str]]) -> None:
        self.trees, self.fetched = trees, list[str]()

    def ensure(self, tag: Tag, progress: object = None) -> None:
        self.fetched.append(tag.name)

    def files(self, tag: Tag) -> dict[str, str]:
        return self.trees[tag.name]

    def read(self, tag: Tag, path: str) -> bytes | None:
        text = self.trees[tag.name].get(path)
        return None if text is None else text.encode()


def test_nearest_release_of_a_hundred_is_found_with_few_downloads() -> None:
    tags = [Tag(f"v0.{number}") for number in range(100)]
    trees = {tag.name: {f"{i}.py": f"x = {(n + i) // (2 + i)}\n" for i in range(40)} for n, tag in enumerate(tags)}
    for wanted in (0, 37, 98):
        store = Trees(trees)
        fork = {**trees[f"v0.{wanted}"], "0.py": "ours\n", "new.py": ""}
        assert Nearest(store, fork, tags).find() == tags[wanted]  # type: ignore[arg-type]
        assert len(store.fetched) < 25


def test_likeness() -> None:
    assert likeness({"a.py": "1", "b.txt": "2"}, {"a.py": "1"}) == 1
    assert likeness({"a.py": "1"}, {"a.py": "2"}) == pytest.approx(0.1)
    assert likeness({}, {}) == 0


def test_what_is_the_forks_own() -> None:
    first, second = "a = 1\nb = 1\nc = 1\nd = 1\ne = 1\n", "a = 1\nb = 1\nc = 1\nd = 1\ne = 2\n"
    upstream = Trees(
        {
            "v1": {"a.py": first, "b.py": "old\n", "c.py": "c\n"},
            "v2": {"a.py": second, "b.py": "new\n", "c.py": "c\n"},
            "v3": {"a.py": second, "b.py": "new\n", "c.py": "C\n"},
        }
    )
    fork = Trees({"v9": {"a.py": first.replace("a = 1", "a = 7"), "b.py": "old\n", "c.py": "c2\n", "n.py": "n\n"}})
    found = difference(upstream, Tag("v2"), Tag("v1"), fork, Tag("v9"))  # type: ignore[arg-type]
    assert {c.path: c.new for c in found.changes} == {
        "a.py": second.replace("a = 1", "a = 7").encode(),
        "c.py": b"c2\n",
        "n.py": b"n\n",
    }
    assert found.left_out == {"the release before has the same file": 1}


def test_lines_are_followed_from_hunk_to_hunk() -> None:
    texts = [b"a\nb\nc\n", b"a\nx\nb\nc\n", b"a\nx\nB\nc\n", b"a\nx\nc\n"]
    steps = [Step(name, {"f": one}, {"f": two}) for name, one, two in zip("pqr", texts[:-1], texts[1:], strict=True)]
    owners = follow(steps)["f"]
    assert owners.lines == [1, "p", 3, 4]
    assert owners.gone == {"p": set(), "q": {2}, "r": set()}


@pytest.fixture
def clone(tmp_path: Path) -> tools.Clone:
    """Two releases and three hunks: one that fits, one in the way, one that the target has."""
    clone = tools.Clone(tmp_path / "repo", "v1", "v2")
    clone.folder.mkdir()
    clone.git("init", "-q", "-b", "series")
    lines = [f"line {n}\n" for n in range(30)]

    def commit(message: str, changed: dict[int, str]) -> None:
        for at, text in changed.items():
            lines[at] = text
        (clone.folder / "a.txt").write_text("".join(lines))
        clone.git("add", "a.txt")
        clone.git("commit", "-q", "-m", message)

    commit("one", {})
    clone.git("tag", "v1")
    old = list(lines)
    commit("two", {0: "new\n", 15: "theirs\n", 25: "same\n"})
    clone.git("tag", "v2")
    lines[:] = old
    clone.git("checkout", "-q", "-B", "series", "v1")
    commit("fits", {5: "ours\n"})
    commit("conflict", {15: "ours\n"})
    commit("there", {25: "same\n"})
    clone.git("tag", "units")
    return clone


@pytest.mark.parametrize("tool", [tools.git_rebase, tools.git_apply, tools.gnu_patch])
def test_tools(clone: tools.Clone, tool: object) -> None:
    if tool is tools.gnu_patch and not shutil.which("patch"):
        pytest.skip("GNU patch is not installed")
    answers = list(tool(clone))  # type: ignore[operator]
    did = {a.step.hunk: a.did.value for a in answers}
    there = "asked a person" if tool is tools.gnu_patch else "said that upstream has it"
    assert did == {"fits": "put in", "conflict": "asked a person", "there": there}
    after = answers[0].step.after["a.txt"]
    assert after is not None and b"ours\n" in after and after.count(b"theirs") == 1
    assert subprocess.run(["git", "status", "--short"], cwd=clone.folder, capture_output=True).returncode == 0
