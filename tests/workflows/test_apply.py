"""`apply`: the release's own bytes in, the patched bytes out, or nothing at all (cases 7, 8 and 11)."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from harness import patch_toml, series

UPSTREAM = {
    "pkg/a.py": "A = 1\nB = 2\n",
    "pkg/b.py": "C = 1\n",
    "pkg/old.py": "O = 1\n",
    "pkg/crlf.py": b"D = 1\r\nE = 2\r\n",
    "pkg/other.txt": "not ours\n",
    "pkg/run.py": "#!/usr/bin/env python\nR = 1\n",
}
PATCH = patch_toml(
    'id = "a"\nfile = "pkg/a.py"\nplace = "after"\nat = "A = 1"\nlines = "A += 1"',
    'id = "b"\nfile = "pkg/b.py"\nplace = "after"\nat = "C = 1"\nlines = "C += 1"',
    'id = "crlf"\nfile = "pkg/crlf.py"\nplace = "after"\nat = "D = 1"\nlines = "D += 1"',
    'id = "run"\nfile = "pkg/run.py"\nplace = "replace"\nat = "R = 1"\nlines = "R = 2"',
    'id = "gone"\nfile = "pkg/old.py"\nplace = "delete"',
    'id = "new"\nfile = "pkg/deep/new.py"\nplace = "new-file"\nmode = "executable"\nlines = "#!x\\n"',
)
PATCHED = {
    "pkg/a.py": b"A = 1\nA += 1\nB = 2\n",
    "pkg/b.py": b"C = 1\nC += 1\n",
    "pkg/crlf.py": b"D = 1\r\nD += 1\r\nE = 2\r\n",
    "pkg/deep/new.py": b"#!x\n",
    "pkg/other.txt": b"not ours\n",
    "pkg/run.py": b"#!/usr/bin/env python\nR = 2\n",
}


@pytest.fixture
def case(flow):
    return flow(UPSTREAM, {"series.toml": series("v1.0.0", patches=["p"]), "p/patch.toml": PATCH})


def refused(case, folder, tree, *argv):
    before = tree(folder)
    message = case.refused("apply", "--tag", "v1.0.0", "--to", str(folder), *argv)
    assert tree(folder) == before
    return message


def test_there_and_back(case, tree):
    folder = case.unpacked()
    (folder / "pkg/run.py").chmod(0o755)
    pristine = tree(folder)
    changed = case.ok("apply", "--tag", "v1.0.0", "--to", str(folder)).splitlines()
    assert changed == [str(folder / path) for path in sorted({*PATCHED, "pkg/old.py"} - {"pkg/other.txt"})]
    assert tree(folder) == PATCHED
    assert os.access(folder / "pkg/deep/new.py", os.X_OK) and os.access(folder / "pkg/run.py", os.X_OK)
    assert not os.access(folder / "pkg/a.py", os.X_OK)
    case.ok("apply", "--tag", "v1.0.0", "--to", str(folder), "-R")
    assert tree(folder) == pristine
    assert not (folder / "pkg/deep").exists()
    assert not list(folder.glob(".rebasekit*"))


def test_dry_run(case, tree):
    folder = case.unpacked()
    before = tree(folder)
    assert len(case.ok("apply", "--tag", "v1.0.0", "--to", str(folder), "-n").splitlines()) == 6
    assert tree(folder) == before
    (folder / "pkg/a.py").write_text("x")
    refused(case, folder, tree, "-n")


def test_second_apply(case, tree):
    folder = case.unpacked()
    assert "already taken out" in refused(case, folder, tree, "-R")
    case.ok("apply", "--tag", "v1.0.0", "--to", str(folder))
    assert "already applied" in refused(case, folder, tree)
    assert "already applied" in refused(case, folder, tree, "-n")


@pytest.mark.parametrize("missing", ["pkg/a.py", "pkg/old.py", "pkg/deep/new.py"])
def test_half_applied(case, tree, missing):
    folder = case.unpacked()
    pristine = tree(folder)
    case.ok("apply", "--tag", "v1.0.0", "--to", str(folder))
    if missing in pristine:
        (folder / missing).write_bytes(pristine[missing])
    else:
        (folder / missing).unlink()
    assert "half applied" in refused(case, folder, tree)
    assert "half taken out" in refused(case, folder, tree, "-R")


def test_converted_line_ends(case, tree):
    folder = case.unpacked()
    for path in ("pkg/a.py", "pkg/b.py", "pkg/old.py"):
        (folder / path).write_bytes((folder / path).read_bytes().replace(b"\n", b"\r\n"))
    message = refused(case, folder, tree)
    assert "`pkg/a.py` and 2 more files" in message and "other line ends" in message and "autocrlf" in message


def test_crlf_taken_away(case, tree):
    folder = case.unpacked()
    (folder / "pkg/crlf.py").write_bytes(b"D = 1\nE = 2\n")
    assert "other line ends" in refused(case, folder, tree)


def test_edited_file(case, tree):
    folder = case.unpacked()
    (folder / "pkg/a.py").write_bytes(b"A = 1\nB = 2\n\n")
    assert "`pkg/a.py`" in refused(case, folder, tree)
    (folder / "pkg/other.txt").write_bytes(b"anything")
    (folder / "pkg/a.py").write_bytes(b"A = 1\nB = 2\n")
    case.ok("apply", "--tag", "v1.0.0", "--to", str(folder))


def test_missing_files_and_folders(case, tree):
    folder = case.unpacked()
    (folder / "pkg/b.py").unlink()
    assert "has no `pkg/b.py`" in refused(case, folder, tree)
    (folder / "empty").mkdir()
    refused(case, folder / "empty", tree)
    assert "is not a folder" in case.refused("apply", "--tag", "v1.0.0", "--to", str(folder / "nope"))
    assert "is not a folder" in case.refused("apply", "--tag", "v1.0.0", "--to", str(folder / "pkg/a.py"))


def test_new_file_in_the_way(case, tree):
    folder = case.unpacked()
    (folder / "pkg/deep").mkdir()
    (folder / "pkg/deep/new.py").write_text("mine")
    assert "`pkg/deep/new.py`" in refused(case, folder, tree)
    (folder / "pkg/deep/new.py").unlink()
    (folder / "pkg/deep").rmdir()
    (folder / "pkg/deep").write_text("a file where a folder has to be")
    refused(case, folder, tree)


def test_inside_somebody_elses_repository(case, tree):
    outer = case.root / "outer"
    outer.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=outer, env=case.env, check=True)
    (outer / ".gitattributes").write_text("* text eol=crlf\n")
    folder = case.unpacked(where="outer/vendor/lib")
    case.ok("apply", "--tag", "v1.0.0", "--to", str(folder))
    assert tree(folder) == PATCHED
    assert not subprocess.check_output(["git", "ls-files"], cwd=outer, env=case.env)


def test_links(case, tree):
    folder = case.unpacked()
    elsewhere = case.root / "elsewhere.py"
    elsewhere.write_text("A = 1\nB = 2\n")
    (folder / "pkg/a.py").unlink()
    (folder / "pkg/a.py").symlink_to(elsewhere)
    assert "is a link" in refused(case, folder, tree)
    assert elsewhere.read_text() == "A = 1\nB = 2\n"
    (folder / "pkg").rename(case.root / "real")
    (folder / "pkg").symlink_to(case.root / "real")
    assert "is a link" in refused(case, folder, tree)


def test_hard_links_of_a_package_cache(case):
    folder, cached = case.unpacked(), case.root / "cached.py"
    os.link(folder / "pkg/a.py", cached)
    case.ok("apply", "--tag", "v1.0.0", "--to", str(folder))
    assert cached.read_bytes() == b"A = 1\nB = 2\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes anywhere")
def test_read_only_folder(case, tree):
    folder = case.unpacked()
    (folder / "pkg").chmod(0o555)
    try:
        assert "permission denied" in refused(case, folder, tree).lower()
    finally:
        (folder / "pkg").chmod(0o755)


def test_a_folder_that_cannot_be_written(case, tree, monkeypatch):
    """The same for root, whom no mode stops: the first write fails."""
    folder = case.unpacked()

    def fail(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "x")

    monkeypatch.setattr("rebasekit.patches.prepare.write_synced", fail)
    assert "nothing was changed" in refused(case, folder, tree)
    assert not list(folder.glob(".rebasekit*"))


def test_a_hunk_without_a_place(flow, tree):
    bad = patch_toml('id = "x"\nfile = "pkg/a.py"\nplace = "after"\nat = "Z = 1"\nlines = "A += 1"')
    case = flow(UPSTREAM, {"series.toml": series("v1.0.0", patches=["p"]), "p/patch.toml": bad})
    folder = case.unpacked()
    assert "1 hunk has no place on v1.0.0: `p/x`" in refused(case, folder, tree)


def test_an_empty_series(flow):
    case = flow(UPSTREAM)
    result = case.cmd("apply", "--tag", "v1.0.0", "--to", str(case.unpacked()))
    assert (result.exit, result.stdout) == (0, "") and "changes no file" in result.stderr


def test_killed_between_two_files(case, tree):
    """Whatever was moved when it died, the next run ends it: the folder is patched, whole."""
    folder = case.unpacked()
    pristine = tree(folder)
    argv = ["apply", "--tag", "v1.0.0", "--to", str(folder)]
    seen = set()
    for moment in range(1, 9):
        child = os.fork()
        if child == 0:
            die_at(moment)
            os._exit(case.cmd(*argv).exit)
        seen.add(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        again = case.cmd(*argv)
        assert tree(folder) == PATCHED and not list(folder.glob(".rebasekit*"))
        assert again.exit == 0 or "already applied" in again.stderr
        case.ok(*argv, "-R")
        assert tree(folder) == pristine
    assert seen == {9, 0}


def die_at(moment):
    """End this process, without any clean-up, in place of its so many-th rename."""
    count, real = 0, Path.replace

    def replace(self, target):
        nonlocal count
        count += 1
        if count == moment:
            os._exit(9)
        return real(self, target)

    Path.replace = replace


@pytest.mark.parametrize("where", ["pkg", "env", "env/lib", "checkout"])
def test_the_wrong_folder_is_told_with_the_right_one(case, tree, where):
    """The package itself, an environment or a folder of it, a checkout whose package lies below a prefix."""
    inside = {"env": "lib/python3.11/site-packages", "env/lib": "python3.11/site-packages", "checkout": "python dir"}
    folder = case.unpacked()
    right = folder
    if where == "pkg":
        given = folder / "pkg"
    else:
        given = folder.parent / where
        right = given / inside[where]
        right.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(right)
        (given / "another" / "pkg").mkdir(parents=True)
        (given / "another" / "pkg" / "b.py").write_bytes((right / "pkg" / "b.py").read_bytes())  # not all of it
    if where == "env/lib":  # too far away to guess
        assert "rebasekit apply --help" in refused(case, given, tree)
        return
    message = refused(case, given, tree)
    assert "it does not hold v1.0.0" in message
    hint = message.partition("hint: ")[2].strip()
    assert shlex.split(hint) == ["rebasekit", "apply", "--tag", "v1.0.0", "--to", str(right)]
    case.ok(*shlex.split(hint)[1:])
    assert tree(right) == PATCHED
    back = refused(case, given, tree, "-R").partition("hint: ")[2].strip()
    assert shlex.split(back)[-2:] == [str(right), "--reverse"]
