"""Three-way merges: git's own result, on exact bytes."""

from __future__ import annotations

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebasekit.upstream import command
from rebasekit.upstream.merge import MergeSegment, TokenSegment, merge3, merge3_lines
from rebasekit.upstream.textdiff import diff_unified


def raw_merge(base: str, ours: str, theirs: str) -> tuple[bytes, int]:
    with TemporaryDirectory() as name:
        for side, text in (("ours", ours), ("base", base), ("theirs", theirs)):
            Path(name, side).write_bytes(text.encode())
        labels = [part for side in ("ours", "base", "theirs") for part in ("-L", side)]
        args = ["git", "merge-file", "-p", "--diff3", *labels, "ours", "base", "theirs"]
        done = subprocess.run(args, cwd=name, env=command.environment(None), capture_output=True)
        return done.stdout, done.returncode


def test_changes_apart_merge_cleanly() -> None:
    merge = merge3("a\nb\nc\nd\n", "A\nb\nc\nd\n", "a\nb\nc\nD\n")
    assert (merge.text, merge.conflicts) == ("A\nb\nc\nD\n", 0)
    assert [s.kind for s in merge.segments] == ["clean"]


def test_conflict_gives_all_three_sides() -> None:
    merge = merge3("a\nb\nc\n", "a\nx\nc\n", "a\ny\nc\n", labels=("mine", "v1", "v2"))
    assert merge.text == "a\n<<<<<<< mine\nx\n||||||| v1\nb\n=======\ny\n>>>>>>> v2\nc\n"
    assert merge.segments[1] == MergeSegment("conflict", "x\n", "b\n", "y\n")
    assert merge.conflicts == 1


def test_changes_side_by_side_conflict() -> None:
    assert merge3("a\nb\n", "A\nb\n", "a\nB\n").conflicts == 1


def test_whitespace_is_content() -> None:
    assert merge3("if x:\n    y\n", "if x:\n        y\n", "if x:\n\ty\n").conflicts == 1
    assert merge3("a\nb\nc\n", "a \nb\nc\n", "a\nb\nc\t\n").text == "a \nb\nc\t\n"


def test_line_ends_stay() -> None:
    assert merge3("a\r\nb\r\nc\r\n", "A\r\nb\r\nc\r\n", "a\r\nb\r\nC\r\n").text == "A\r\nb\r\nC\r\n"
    assert merge3("a\r\nb\r\nc\r\n", "a\nb\nc\n", "a\r\nb\r\nC\r\n").conflicts == 1


@pytest.mark.parametrize(
    "line", ["<<<<<<< ours", "=======", ">>>>>>> theirs", "||||||| base", "nul \0", "\x0c", "\u2028"]
)
def test_lines_that_could_disturb_do_not(line: str) -> None:
    merge = merge3(f"a\n{line}\nb\nc\n", f"A\n{line}\nb\nc\n", f"a\n{line}\nb\nC\n")
    assert merge.text == f"A\n{line}\nb\nC\n"
    merge = merge3(f"{line}\n", f"{line}x\n", f"{line}y\n")
    assert merge.segments == (MergeSegment("conflict", f"{line}x\n", f"{line}\n", f"{line}y\n"),)


def test_missing_last_newline_stays_exact() -> None:
    assert merge3("a\nb\nc", "A\nb\nc", "a\nb\nc\n").text == "A\nb\nc\n"
    merge = merge3("a\nb", "a\nx", "a\ny\n")
    assert merge.segments[-1] == MergeSegment("conflict", "x", "b", "y\n")
    assert "x\n|||||||" in merge.text


def test_equal_sides_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "run", lambda *a, **k: pytest.fail("a process ran"))
    assert merge3("a\n", "b\n", "b\n").text == "b\n"
    assert merge3("a\n", "a\n", "b\n").text == "b\n"
    assert merge3("a\n", "b\n", "a\n").text == "b\n"
    assert merge3("", "", "").segments == ()


def test_tokens_may_be_any_text() -> None:
    merged = merge3_lines(["a", "\n", "b", "", "c"], ["a\n1", "\n", "b", "", "c"], ["a", "\n", "b", "", "=======\n"])
    assert [t for run in merged for t in run.ours] == ["a\n1", "\n", "b", "", "=======\n"]
    assert merge3_lines(["a"], ["b"], ["c"]) == [TokenSegment("conflict", ("b",), ("a",), ("c",))]


def test_user_settings_do_not_matter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    expected = merge3("a\nb\n", "x\nb\n", "y\nb\n")
    (tmp_path / "config").write_text("[merge]\nconflictStyle = zdiff3\n[core]\nautocrlf = true\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    assert merge3("a\nb\n", "x\nb\n", "y\nb\n") == expected


_TEXT = st.lists(st.sampled_from(["a\n", "b\n", "  b\n", "\n", "}\n", "c\r\n", "d"]), max_size=9).map("".join)


@settings(max_examples=120, deadline=None)
@given(_TEXT, _TEXT, _TEXT)
def test_same_as_git_on_the_text(base: str, ours: str, theirs: str) -> None:
    merge = merge3(base, ours, theirs)
    text, conflicts = raw_merge(base, ours, theirs)
    assert merge.conflicts == conflicts
    # git ends the last line of a conflict with the file's kind of line end; compare what is content.
    assert merge.text.replace("\r", "") == text.decode().replace("\r", "")
    for segment in merge.segments:
        assert segment.kind == "conflict" or segment.ours == segment.base == segment.theirs
    if not conflicts:
        assert merge.text.encode() == text


_LINES = st.lists(st.sampled_from(["a\n", "b\n", "\n"]), max_size=4)


@settings(max_examples=80, deadline=None)
@given(_LINES, _LINES, st.lists(st.sampled_from(["a\n", "b\n", "k\n"]), max_size=4), _LINES, _LINES, _LINES, _LINES)
def test_changes_apart_are_as_git_merges_them(
    head: list[str],
    one: list[str],
    gap: list[str],
    two: list[str],
    tail: list[str],
    new_one: list[str],
    new_two: list[str],
) -> None:
    base = "".join([*head, *one, *gap, *two, *tail])
    ours, theirs = "".join([*head, *new_one, *gap, *two, *tail]), "".join([*head, *one, *gap, *new_two, *tail])
    merge = merge3(base, ours, theirs)
    assert (merge.text.encode(), merge.conflicts) == raw_merge(base, ours, theirs) or merge.conflicts
    assert merge.conflicts == raw_merge(base, ours, theirs)[1]


def test_changes_far_apart_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "run", lambda *a, **k: pytest.fail("a process ran"))
    assert merge3("a\nk\nb\n", "a\na\nk\nb\n", "a\nk\nc\nb\n").text == "a\na\nk\nc\nb\n"


def test_unified_diff_tells_the_missing_newline() -> None:
    assert diff_unified("a\n", "a\n", "x.py") == ""
    diff = diff_unified("a\nb", "a\nc\n", "x.py", "y.py")
    assert diff == "--- a/x.py\n+++ b/y.py\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n"
    assert "-a\r\n" in diff_unified("a\r\n", "a\n", "x.py")
