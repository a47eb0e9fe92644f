"""The project's remote: what a push may overwrite, whose a commit is, and that commits are the same everywhere."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rebasekit.errors import RebasekitError, UpstreamError, UsageError
from rebasekit.upstream.credentials import Access
from rebasekit.upstream.project import Commit, Project, Push, checkout_of

REF = "refs/heads/rebasekit/v1"
WHO = {f"GIT_{role}_{key}": "t@x" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}


def git(*argv: str, cwd: Path) -> str:
    env = {**os.environ, **WHO, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(["git", *argv], cwd=cwd, env=env, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    work, bare = tmp_path / "work", tmp_path / "remote.git"
    work.mkdir()
    git("init", "-q", "-b", "main", cwd=work)
    (work / "patchset").mkdir()
    (work / "patchset" / "a").write_text("one\n")
    (work / "ignored").write_text("x\n")
    (work / ".gitignore").write_text("*.pyc\n")
    git("add", "--all", cwd=work)
    git("commit", "-q", "-m", "start", cwd=work)
    git("clone", "-q", "--bare", str(work), str(bare), cwd=tmp_path)
    return bare


def project(bare: Path, name: str = "own", author: str = "") -> tuple[Project, Commit]:
    made = Project(Access.of(str(bare)), bare.parent / name, author)
    return made, made.checkout("main")


def changed(made: Project, base: Commit, text: str) -> Commit:
    (made.tree / "patchset" / "a").write_text(text)
    (made.tree / "patchset" / "a.pyc").write_text("no")
    (made.tree / "other").write_text("not asked for")
    return made.commit(["patchset", "upstream-map"], "carry", base, "rebasekit/v1")


def heads(bare: Path) -> dict[str, str]:
    out = git("for-each-ref", "--format=%(refname) %(objectname)", cwd=bare)
    return dict(line.split() for line in out.splitlines())


def test_a_commit_has_only_what_was_asked_for(bare: Path) -> None:
    made, base = project(bare)
    commit = changed(made, base, "two\n")
    assert git("diff", "--name-only", base.id, commit.id, cwd=made.tree) == "patchset/a"
    assert commit.parents == (base.id,)


def test_the_same_content_is_the_same_commit_anywhere(bare: Path) -> None:
    ids = {changed(*project(bare, name), "two\n").id for name in ("a", "b")}
    assert len(ids) == 1


def test_ours(bare: Path) -> None:
    made, base = project(bare)
    commit = changed(made, base, "two\n")
    assert made.ours(commit, "rebasekit/v1")
    assert not made.ours(commit, "rebasekit/v2")
    assert not made.ours(base, "rebasekit/v1")
    forged = Commit(commit.id, "0" * 40, commit.parents, commit.time, commit.message)
    assert not made.ours(forged, "rebasekit/v1")
    moved = Commit(commit.id, commit.tree, ("0" * 40,), commit.time, commit.message)
    assert not made.ours(moved, "rebasekit/v1")


def test_a_push_only_replaces_what_it_expects(bare: Path) -> None:
    made, base = project(bare)
    first = changed(made, base, "two\n")
    second = changed(made, base, "three\n")
    assert made.push(REF, first.id, second.id).outcome is Push.STALE  # it is not even there
    assert REF not in heads(bare)
    assert made.push(REF, first.id, "").outcome is Push.DONE
    assert made.push(REF, first.id, "").outcome is Push.DONE  # two that push the same do not mind each other
    assert made.push(REF, second.id, "").outcome is Push.STALE
    assert made.push(REF, second.id, base.id).outcome is Push.STALE
    assert heads(bare)[REF] == first.id
    assert made.push(REF, second.id, first.id).outcome is Push.DONE  # not a fast-forward
    assert made.push(REF, "", first.id).outcome is Push.STALE
    assert heads(bare)[REF] == second.id
    assert made.push(REF, "", second.id).outcome is Push.DONE
    assert REF not in heads(bare)


def test_a_hook_that_refuses(bare: Path) -> None:
    hook = bare / "hooks" / "update"
    hook.write_text("#!/bin/sh\necho 'not on Mondays' >&2\nexit 1\n")
    hook.chmod(0o755)
    made, base = project(bare)
    pushed = made.push(REF, base.id, "")
    assert pushed.outcome is Push.REFUSED
    assert "not on Mondays" in pushed.message
    assert "hook declined" in pushed.message


def test_a_dry_push_only_tells(bare: Path) -> None:
    told: list[str] = []
    made = Project(Access.of(str(bare)), bare.parent / "own", dry=told.append)
    base = made.checkout("main")
    before = heads(bare)
    assert made.push(REF, base.id, "").outcome is Push.DONE
    assert made.push(REF, "", base.id).outcome is Push.DONE
    assert heads(bare) == before
    short = base.id[:12]
    assert told == [f"push {short} to {REF}, if it is not there", f"remove {REF}, if it is at {short}"]


def test_fetched(bare: Path) -> None:
    made, base = project(bare)
    assert made.fetched(REF) is None
    made.push(REF, base.id, "")
    assert made.fetched(REF) == base


def test_restore_takes_everything_back(bare: Path) -> None:
    made, base = project(bare)
    changed(made, base, "two\n")
    made.restore(base)
    assert git("status", "--porcelain", "--ignored", cwd=made.tree) == ""
    assert made.part(base, "patchset") and made.part(base, "nothing") == ""


def test_the_callers_git_variables_do_not_lead_it_away(
    bare: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git("init", "-q", cwd=other)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / "index"))
    made, base = project(bare)
    changed(made, base, "two\n")
    assert sorted(path.name for path in other.iterdir()) == [".git"]


def test_a_remote_that_is_not_there(tmp_path: Path) -> None:
    made = Project(Access.of(str(tmp_path / "gone")), tmp_path / "own")
    with pytest.raises(RebasekitError):
        made.checkout("main")
    away = Project(Access.of("https://127.0.0.1:1/x", "secret-of-mine"), tmp_path / "own")
    with pytest.raises(UpstreamError, match="no answer from") as error:
        away.checkout("main")
    assert "secret-of-mine" not in str(error.value)


def test_an_author_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not `Name <mail>`"):
        Project(Access.of(str(tmp_path)), tmp_path / "own", "somebody")


def test_checkout_of(bare: Path, tmp_path: Path) -> None:
    there = tmp_path / "there"
    git("clone", "-q", str(bare), str(there), cwd=tmp_path)
    assert checkout_of(there) == (str(bare), "")
    assert checkout_of(there / "patchset") == (str(bare), "patchset")
    assert checkout_of(tmp_path) == ("", "")
