"""`import` of many patches: a folder, a mailbox, a branch; each part may stand on the parts before it."""

from __future__ import annotations

import itertools
import random
import subprocess
from pathlib import Path

import pytest

A = "".join(f"A{n} = {n}\n" for n in range(12)) + "\n\ndef run(x):\n    y = x\n    return y\n"
BASE = {"pkg/a.py": A, "pkg/b.py": "B = 1\n", "pkg/notes.txt": "one\ntwo\nthree\n"}
FIRST = {
    **BASE,
    "pkg/a.py": A.replace("A3 = 3\n", "A3 = 30\nA31 = 31\n").replace("    y = x\n", "    y = x\n    y += 1\n"),
}
SECOND = {
    **FIRST,
    "pkg/a.py": FIRST["pkg/a.py"].replace("A8 = 8", "A8 = 80").replace("    y += 1\n", "    y += 1\n    y *= 2\n"),
    "pkg/new.py": "N = 1\n",
}
THIRD = {**SECOND, "pkg/new.py": "N = 1\nM = 2\n", "pkg/notes.txt": "one\n2\nthree\n"}
STEPS = (BASE, FIRST, SECOND, THIRD)


def encoded(tree):
    return {path: text.encode() for path, text in tree.items()}


def names(case):
    text = (case.project / "patchset/series.toml").read_text()
    return text.partition("patches = [")[2].partition("]")[0].replace('"', "").replace(" ", "").strip(",").split(",")


@pytest.fixture
def folder(tmp_path, diff):
    made = tmp_path / "patches"
    made.mkdir()
    for number, (old, new) in enumerate(itertools.pairwise(STEPS), 1):
        (made / f"{number:04}-Step.{number}.patch").write_bytes(diff(old, new))
    return made


def commits(case, trees) -> Path:
    """A checkout of the release with one commit for each further tree."""
    fork = case.checkout("v1.0.0").rename(case.root / "fork")
    for number, tree in enumerate(trees, 1):
        for path, text in tree.items():
            (fork / path).write_text(text)
        subprocess.run(["git", "add", "-A"], cwd=fork, env=case.env, check=True)
        message = f"step {number}: more\n\nBecause of {number}.\n"
        subprocess.run(["git", "commit", "-q", "-m", message], cwd=fork, env=case.env, check=True)
    return fork


def test_a_folder_in_the_order_of_its_names(flow, folder):
    case = flow(BASE)
    said = case.ok("import", str(folder), "--onto", "v1.0.0", "--why", "w", "--removal", "r")
    assert said.splitlines() == [
        "imported `step.1` with 2 hunks",
        "imported `step.2` with 3 hunks",
        "imported `step.3` with 2 hunks",
    ]
    assert names(case) == ["step.1", "step.2", "step.3"]
    assert case.exported() == encoded(THIRD)
    assert case.run("rebase", "v1.0.0").exit == 0
    for name in reversed(names(case)):
        case.ok("delete", name)
    assert case.ok("import", str(folder), "--onto", "v1.0.0", "--as", "one") == "imported `one` with 5 hunks\n"
    assert case.exported() == encoded(THIRD)


def test_quilt(flow, folder, diff):
    (folder / "0003-Step.3.patch").write_bytes(diff(SECOND, THIRD, "--no-prefix"))
    (folder / "series").write_text(
        "# the fork\n0001-Step.1.patch\n\n0002-Step.2.patch -p1 # two\n0003-Step.3.patch -p0\n"
    )
    (folder / "0004-not-listed.patch").write_text("rubbish\n")
    case = flow(BASE)
    case.ok("import", str(folder), "--onto", "v1.0.0")
    assert case.exported() == encoded(THIRD)
    for line, words in (
        ("0009-x.patch\n", "names `0009-x.patch`, which is not there"),
        ("0001-Step.1.patch -R\n", "an option that is not read: `-R`"),
        ("# nothing\n", "names no patch"),
    ):
        (folder / "series").write_text(line)
        assert words in case.refused("import", str(folder), "--onto", "v1.0.0")


def test_a_part_that_does_not_fit_leaves_nothing(flow, folder):
    case = flow(BASE)
    third = folder / "0003-Step.3.patch"
    third.write_text(third.read_text().replace("-two\n", "-zwei\n"))
    told = case.refused("import", str(folder), "--onto", "v1.0.0")
    assert "error: 0003-Step.3.patch: the diff does not fit: " in told
    assert "on top of the series: " in told and "`pkg/notes.txt`" in told
    assert "cannot have one title" in case.refused("import", str(folder), "--onto", "v1.0.0", "--title", "t")
    assert "no `series` file" in case.refused("import", str(case.project), "--onto", "v1.0.0")


def test_a_branch_gives_a_patch_for_each_commit(flow):
    case = flow(BASE)
    fork = commits(case, STEPS[1:])
    case.ok("import", f"{fork}#HEAD", "--onto", "v1.0.0")
    assert names(case) == ["step-1-more", "step-2-more", "step-3-more"]
    assert 'why       = "Because of 2."' in case.toml("step-2-more")
    assert case.exported() == encoded(THIRD)
    case.ok("export", "--tag", "v1.0.0", "--to", "out")
    assert "has no commit" in case.refused("import", f"{fork}#v1.0.0", "--onto", "v1.0.0")


def test_our_own_export_keeps_its_names(flow, folder, tmp_path):
    case = flow(BASE)
    case.ok("import", str(folder), "--onto", "v1.0.0", "--why", "w", "--removal", "r")
    case.ok("rename", "step.1", "other")
    case.ok("rename", "step.2", "second")
    case.ok("export", "--tag", "v1.0.0", "--to", str(tmp_path / "out"))
    for name in ("step.3", "second", "other"):
        case.ok("delete", name)
    case.ok("import", str(tmp_path / "out"), "--onto", "v1.0.0")
    assert names(case)[:2] == ["other", "second"]
    assert case.exported() == encoded(THIRD)


def test_a_mailbox_and_one_patch_of_it(flow):
    case = flow(BASE)
    fork = commits(case, STEPS[1:])
    argv = ["git", "format-patch", "--stdout", "--cover-letter", "v1.0.0"]
    box = subprocess.run(argv, cwd=fork, env=case.env, check=True, capture_output=True).stdout
    (case.root / "all.mbox").write_bytes(box)
    case.ok("import", str(case.root / "all.mbox"), "--onto", "v1.0.0")
    assert names(case) == ["step-1-more", "step-2-more", "step-3-more"]
    assert case.exported() == encoded(THIRD)
    for name in reversed(names(case)):
        case.ok("delete", name)
    case.ok("import", str(case.root / "all.mbox"), "--onto", "v1.0.0", "--as", "box")
    assert case.exported() == encoded(THIRD)
    case.ok("delete", "box")
    assert case.ok("import", f"{fork}#HEAD", "--onto", "v1.0.0", "--as", "one").startswith("imported `one` with")
    assert case.exported() == encoded(THIRD)


def test_one_file_is_named_by_its_file(flow, folder):
    case = flow(BASE)
    file = str(folder / "0001-Step.1.patch")
    assert case.ok("import", file, "--onto", "v1.0.0") == "imported `step.1` with 2 hunks\n"
    assert "there is a patch `step.1` already" in case.refused("import", file, "--onto", "v1.0.0")


@pytest.mark.parametrize("seed", range(6))
def test_any_chain_of_commits_comes_out_whole(flow, seed):
    """Each commit changes lines anywhere, those of earlier commits too, so that most stand on the ones before."""
    chance = random.Random(seed)
    text, trees = A, []
    for number in range(5):
        lines = text.splitlines(keepends=True)
        top = next(i for i, line in enumerate(lines) if line.startswith("def "))
        at = chance.randrange(top - 2)
        match chance.randrange(3):
            case 0:
                lines.insert(at, f"N{number} = {number}\n")
            case 1:
                lines[at] = f"C{number} = {number}\n"
            case _:
                lines.insert(len(lines) - 1, f"    y += {number + 2}\n")
        text = "".join(lines)
        trees.append({"pkg/a.py": text})
    case = flow({"v1.0.0": BASE, "v1.1.0": {**BASE, "pkg/a.py": A.replace("def run", "# more\n\n\ndef run")}})
    fork = commits(case, trees)
    result = case.cmd("import", f"{fork}#HEAD", "--onto", "v1.0.0", "--why", "w", "--removal", "r")
    if result.exit:  # a hunk cannot replace what another put there: that is said, and nothing is written
        assert "cannot be said as hunks" in result.stderr, result.stderr
        assert names(case) == [""]
        assert f"hint: rebasekit import {fork}#HEAD --onto v1.0.0 --as NAME" in result.stderr
        case.ok("import", f"{fork}#HEAD", "--onto", "v1.0.0", "--as", "whole")
    assert case.exported() == {**encoded(BASE), "pkg/a.py": text.encode()}
