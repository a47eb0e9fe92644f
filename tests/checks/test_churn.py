"""churn: lines per file as git counts them, and per scope."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from harness import build_repository, clean_environment

from rebasekit.checks.churn import churn, review_due
from rebasekit.checks.churn.lines import changed_lines
from rebasekit.model.tag import Tag
from rebasekit.upstream.repository import Repository
from rebasekit.upstream.store import Store

OLD = """
import os


class A:
    size = 1

    def f(self):
        return 1

    def g(self):
        def inner():
            return 2
        return inner


def last():
    return 3
"""
NEW = """
import os
import sys


class A:
    size = 1

    @property
    def f(self):
        return 1

    def g(self):
        def inner():
            return 20
        return inner

    def h(self):
        return 4
"""


def repository(tmp_path: Path, old: dict[str, str | bytes], new: dict[str, str | bytes]) -> Repository:
    build_repository(tmp_path / "up", {"v1.0.0": old, "v1.1.0": new}, clean_environment(tmp_path))
    return Repository(tmp_path / "up" / ".git")


def numstat(tmp_path: Path) -> dict[str, tuple[int, int]]:
    """What git itself says."""
    command = ["git", "diff", "--numstat", "--no-renames", "v1.0.0", "v1.1.0"]
    env = clean_environment(tmp_path)
    out = subprocess.run(command, cwd=tmp_path / "up", env=env, capture_output=True, text=True, check=True).stdout
    rows = [line.split("\t") for line in out.splitlines()]
    return {path: (int(added), int(removed)) for added, removed, path in rows if added != "-"}


def scopes(repo: Repository, path: str) -> dict[str, tuple[int, int]]:
    (one,) = churn(repo, "v1.0.0", "v1.1.0", [path])
    assert sum(scope.added for scope in one.scopes) == one.added
    assert sum(scope.removed for scope in one.scopes) == one.removed
    return {scope.scope: (scope.added, scope.removed) for scope in one.scopes}


def test_innermost_scopes(tmp_path: Path) -> None:
    repo = repository(tmp_path, {"a.py": OLD}, {"a.py": NEW})
    found = scopes(repo, "a.py")
    assert found[""][0] == 1, "the import"
    assert found["A.f"] == (1, 0), "a decorator belongs to its function"
    assert found["A.g.inner"] == (1, 1)
    assert "A.g" not in found
    assert found["A.h"][0] == 2
    assert found["last"] == (0, 2)


def test_files_add_up_to_numstat(tmp_path: Path) -> None:
    old: dict[str, str | bytes] = {
        "a.py": OLD, "gone.py": OLD, "same.py": OLD, "moved.py": OLD, "crlf.py": OLD.replace("\n", "\r\n").encode(),
        "broken.py": "def (\n", "notes.md": "--- a\n+++ b\n", "bin": b"\0\1", "end.py": b"def f():\n    return 1",
        "space in name.py": OLD, "twins.py": "if a:\n    def f():\n        x = 1\nelse:\n    def f():\n        x = 2\n",
    }  # fmt: skip
    new: dict[str, str | bytes] = {
        "a.py": NEW, "new.py": NEW, "same.py": OLD, "other.py": OLD, "crlf.py": NEW.replace("\n", "\r\n").encode(),
        "broken.py": "def (:\n", "notes.md": "-- a\n++ b\n", "bin": b"\0\2", "end.py": b"def f():\n    return 2",
        "space in name.py": NEW, "twins.py": "if a:\n    def f():\n        x = 1\nelse:\n    def f():\n        x = 3\n",
    }  # fmt: skip
    repo = repository(tmp_path, old, new)
    found = {one.file: one for one in churn(repo, "v1.0.0", "v1.1.0")}
    assert {path: (one.added, one.removed) for path, one in found.items() if path != "bin"} == numstat(tmp_path)
    for one in found.values():
        assert sum(scope.added for scope in one.scopes) == one.added
        assert sum(scope.removed for scope in one.scopes) == one.removed
    assert (found["bin"].added, found["bin"].removed, found["bin"].scopes) == (0, 0, ())
    assert [scope.scope for scope in found["broken.py"].scopes] == [""]
    assert [scope.scope for scope in found["twins.py"].scopes] == ["f[else a]"], "twins are told apart"
    assert found["moved.py"].added == 0 and found["other.py"].removed == 0, "a renamed file is two"


def test_narrowed(tmp_path: Path) -> None:
    repo = repository(tmp_path, {"a.py": OLD, "b.py": OLD}, {"a.py": NEW, "b.py": OLD})
    a, b = churn(repo, "v1.0.0", "v1.1.0", ["b.py", "a.py"], scopes=["last"])
    assert (b.file, b.added, b.removed, b.scopes) == ("b.py", 0, 0, ())
    assert [(one.scope, one.removed) for one in a.scopes] == [("last", 2)] and a.added > 0


def test_text_that_looks_like_a_header() -> None:
    diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n--- a\n+@@ -9,9 +9,9 @@\n+++ b\n same\n\\ No newline at end of file\n"
    assert changed_lines(diff) == ([1], [1, 2])


@pytest.mark.parametrize(
    ("new", "merged", "survived", "due"),
    [
        ("def f():\n    return 1\n", False, True, False),
        ("    def f():\n        return 1\n", False, True, False),
        ("def f():\n    return 2\n", True, True, False),
        ("def f():\n    return 2\n", False, True, True),
        ("def f():\n    return 1\n", True, False, True),
    ],
)
def test_review_due(new: str, merged: bool, survived: bool, due: bool) -> None:
    base = "def f():\n    return 1\n"
    found = review_due(base, new, merged=merged, survived=survived, where=("a.py", 3), hunk=("p", "h"))
    assert (found is not None) is due
    if found is not None:
        assert (found.kind, found.file, found.line, found.next) == ("review-due", "a.py", 3, "rebasekit show p/h")
        assert ("+1/−1" in found.message) is (new != base)


def test_review_due_says_what_did_not_survive() -> None:
    def told(*lost: str) -> str:
        found = review_due("", "", merged=True, survived=False, where=("a.py", 3), hunk=("p", "h"), lost=lost)
        assert found is not None
        return found.message

    assert told("Req.a", "Req.a", "f") == "what it uses did not survive as it was: `Req.a`, `f`"
    assert told(*"abcde").endswith("`a`, `b`, `c` and 2 more")


@pytest.mark.release
def test_known_releases(release_store: Store, need_release: Callable[..., list[Tag]]) -> None:
    a, b = need_release("v0.5.19", "v0.5.20")
    backend, pool = "sglang/srt/layers/attention/triton_backend.py", "sglang/srt/mem_cache/memory_pool.py"
    found = {one.file: one for one in churn(release_store, a, b, [backend, pool])}
    assert (found[backend].added, found[backend].removed) == (403, 101)
    assert (found[pool].added, found[pool].removed) == (824, 193)
    folder = [path for path in release_store.numstat(a, b) if path.startswith("sglang/srt/mem_cache/unified_cache/")]
    for one in churn(release_store, a, b, folder):
        assert sum(scope.added for scope in one.scopes) == one.added, one.file
        assert sum(scope.removed for scope in one.scopes) == one.removed, one.file
