"""`edit`, change files by hand, `refresh`: the patch says what the tree says, and nothing else in it changes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from harness import patch_toml, series

A = """
import os


def one(x):
    y = x + 1
    return y


def two(x):
    z = x + 2
    return z


class Three:
    limit = 3

    def run(self, items):
        total = 0
        for item in items:
            total += item
        return total
"""
UPSTREAM = {
    "pkg/__init__.py": "",
    "pkg/a.py": A,
    "pkg/b.py": "B = 1\nC = 2\nD = 3\n",
    "pkg/notes.txt": "first\nsecond\nthird\nfourth\n",
    "pkg/crlf.py": b"def f():\r\n    a = 1\r\n    return a\r\n",
    "pkg/run.sh": "#!/bin/sh\necho hi\n",
}
PATCH = (
    '# the patch of the tests\ntitle = "p"   # a comment\nwhy = "w"\nremoval = "r"\n'
    + """
# about the first
[[hunk]]
id = "first"
file = "pkg/a.py"
scope = "one"
place = "after"
at = "y = $X"
body = "first.py"
why = "one more"          # keep me
decision = "behind the assignment"
uses = ["os.path"]

[[hunk]]
id = "second"
file = "pkg/a.py"
scope = "two"
place = "before"
at = "return z"
lines = "z *= 3"
decision = "before it is returned"

[[hunk]]
id = "script"
file = "pkg/a.py"
scope = "Three.run"
place = "edit"
decision = "kept"
body = "script.edit"
"""
)
SCRIPT = "@@ 2,1 @@\n+        total = 100\n@@ 4,1 @@\n+            total += item * 2\n"


def patchset(**more):
    return {
        "series.toml": series("v1.0.0", patches=["p", *more]),
        "p/patch.toml": PATCH,
        "p/first.py": "y += 5\ny -= 1\n",
        "p/script.edit": SCRIPT,
        **{f"{name}/patch.toml": text for name, text in more.items()},
    }


@pytest.fixture
def case(flow):
    return flow({"v1.0.0": UPSTREAM, "v1.1.0": {**UPSTREAM, "pkg/a.py": A.replace("x + 1", "x + 10")}}, patchset())


def swap(folder, path, old, new):
    file = folder / path
    data = file.read_bytes()
    assert data.count(old.encode()) == 1, data.decode()
    file.write_bytes(data.replace(old.encode(), new.encode()))


def refreshed(case, folder, *argv):
    """Refresh; the patch then gives the worktree, and a second refresh finds nothing to do."""
    out = case.ok("refresh", *argv, inside=folder)
    assert case.exported() == wanted(folder)
    again = case.cmd("refresh", inside=folder)
    assert (again.exit, again.stdout) == (0, "") and "nothing has changed" in again.stderr
    return out.splitlines()


def wanted(folder):
    from harness import as_bytes, read_tree

    return {p: as_bytes(d) for p, d in read_tree(folder).items() if not p.startswith(".git/")}


def test_nothing_changed(case):
    folder = case.edit()
    before = case.snapshot()
    result = case.cmd("refresh", "p")
    assert (result.exit, result.stdout) == (0, "")
    assert "nothing has changed" in result.stderr
    assert case.snapshot() == before
    assert (folder / "pkg/a.py").read_text().count("y += 5") == 1


def test_a_changed_body_updates_that_hunk_only(case):
    folder = case.edit()
    before = case.toml()
    swap(folder, "pkg/a.py", "    y += 5\n", "    y += 6  # six\n")
    assert refreshed(case, folder) == ["changed p/first (pkg/a.py)"]
    assert case.toml() == before, "the body file changed, and nothing else"
    assert (case.project / "patchset/p/first.py").read_text() == "y += 6  # six\ny -= 1\n"


def test_lines_in_the_patch_itself(case):
    folder = case.edit()
    before = case.toml()
    swap(folder, "pkg/a.py", "    z *= 3\n", "    z *= 4\n    z += 1\n")
    assert refreshed(case, folder) == ["changed p/second (pkg/a.py)"]
    after = case.toml()
    assert re.sub(r"(?s)lines = '''.*?'''", 'lines = "z *= 3"', after) == before
    assert "z *= 4\nz += 1\n" in after


@pytest.mark.parametrize("where", ["end", "start", "inside"])
def test_lines_added_to_ours(case, where):
    folder = case.edit()
    before = case.toml()
    old, new = {
        "end": ("    y -= 1\n", "    y -= 1\n    y -= 2\n"),
        "start": ("    y += 5\n", "    y += 4\n    y += 5\n"),
        "inside": ("    y -= 1\n", "    y *= 1\n    y -= 1\n"),
    }[where]
    swap(folder, "pkg/a.py", old, new)
    assert refreshed(case, folder) == ["changed p/first (pkg/a.py)"]
    assert case.toml() == before


def test_a_new_change_is_a_new_hunk(case):
    folder = case.edit()
    before = case.toml()
    swap(folder, "pkg/a.py", "import os\n", "import os\nimport sys\n")
    swap(folder, "pkg/a.py", "limit = 3", "limit = 4")
    swap(folder, "pkg/b.py", "C = 2\n", "")
    lines = refreshed(case, folder)
    assert sorted(line.split(" ")[0] for line in lines) == ["added"] * 3
    after = case.toml()
    assert after.startswith(before[: before.index("[[hunk]]")])
    assert 'decision = "behind the assignment"' in after and "# keep me" in after and "# about the first" in after
    assert after.count("pin") == 3, "what was reviewed just now is pinned"
    assert [*re.findall(r'^id\s*= "(.*)"', after, re.M)][:3] == ["first", "second", "script"]


def test_deleting_our_lines_removes_the_hunk(case):
    folder = case.edit()
    swap(folder, "pkg/a.py", "    y += 5\n    y -= 1\n", "")
    assert refreshed(case, folder) == ["removed p/first (pkg/a.py)"]
    assert 'id = "first"' not in case.toml() and 'id = "second"' in case.toml()
    assert not (case.project / "patchset/p/first.py").exists()


def test_everything_taken_back(case):
    folder = case.edit()
    for path, data in case.pristine("v1.0.0").items():
        (folder / path).write_bytes(data)
    lines = refreshed(case, folder)
    assert [line.split(" ")[0] for line in lines] == ["removed"] * 3
    assert case.exported() == case.pristine("v1.0.0")


def test_inside_an_edit_hunk(case):
    folder = case.edit()
    before = case.toml()
    swap(folder, "pkg/a.py", "total = 100", "total = 200")
    assert refreshed(case, folder) == ["changed p/script (pkg/a.py)"]
    assert case.toml() == before
    assert "+        total = 200\n" in (case.project / "patchset/p/script.edit").read_text()
    swap(folder, "pkg/a.py", "total = 200", "total = 0")
    assert refreshed(case, folder) == ["changed p/script (pkg/a.py)"]


def test_an_edit_beside_an_edit_hunk(case):
    folder = case.edit()
    swap(folder, "pkg/a.py", "        return total\n", "        return total + 1\n")
    lines = refreshed(case, folder)
    assert [line.split(" ")[0] for line in lines] in (["added"], ["changed"])
    assert 'decision = "kept"' in case.toml()


def test_both_sides_of_a_hunk_at_once(case):
    folder = case.edit()
    swap(folder, "pkg/a.py", "    y = x + 1\n    y += 5\n", "    y = x + 7\n    y += 8\n")
    lines = refreshed(case, folder)
    assert "changed p/first (pkg/a.py)" in lines or any("first" in line for line in lines)
    assert 'decision = "behind the assignment"' in case.toml()


def test_new_and_deleted_files(case):
    folder = case.edit()
    (folder / "pkg/new.py").write_text("N = 1\n")
    (folder / "pkg/deep/er").mkdir(parents=True)
    (folder / "pkg/deep/er/__init__.py").write_text("")
    (folder / "pkg/tool.py").write_text("#!/usr/bin/env python\n")
    (folder / "pkg/tool.py").chmod(0o755)
    (folder / "pkg/b.py").unlink()
    lines = refreshed(case, folder)
    assert len(lines) == 4 and all(line.startswith("added ") for line in lines)
    assert "executable" in case.toml()
    (folder / "pkg/new.py").write_text("N = 2\r\n")
    (folder / "pkg/tool.py").chmod(0o644)
    (folder / "pkg/b.py").write_bytes(case.pristine("v1.0.0")["pkg/b.py"])
    (folder / "pkg/deep/er/__init__.py").unlink()
    lines = refreshed(case, folder)
    assert sorted(line.split(" ")[0] for line in lines) == ["changed", "changed", "removed", "removed"]
    assert "executable" not in case.toml()


def test_a_deleted_file_comes_back_changed(case):
    folder = case.edit()
    (folder / "pkg/b.py").unlink()
    refreshed(case, folder)
    (folder / "pkg/b.py").write_text("B = 1\nC = 2\nD = 4\n")
    refreshed(case, folder)


def test_a_deleted_statement_comes_back(case):
    folder = case.edit()
    swap(folder, "pkg/b.py", "C = 2\n", "")
    assert refreshed(case, folder) == ["added p/b-delete (pkg/b.py)"]
    swap(folder, "pkg/b.py", "B = 1\n", "B = 1\nC = 2\n")
    assert refreshed(case, folder) == ["removed p/b-delete (pkg/b.py)"]


def test_a_replaced_statement_becomes_upstreams_again(case):
    folder = case.edit()
    swap(folder, "pkg/b.py", "C = 2\n", "C = 5\n")
    assert refreshed(case, folder) == ["added p/b-replace (pkg/b.py)"]
    swap(folder, "pkg/b.py", "C = 5\n", "C = 2\n")
    assert refreshed(case, folder) == ["removed p/b-replace (pkg/b.py)"]


def test_files_that_are_not_python(case):
    folder = case.edit()
    swap(folder, "pkg/notes.txt", "second\n", "2nd\n2b\n")
    assert refreshed(case, folder) == ["added p/notes-text (pkg/notes.txt)"]
    swap(folder, "pkg/notes.txt", "2b\n", "2c\n")
    assert refreshed(case, folder) == ["changed p/notes-text (pkg/notes.txt)"]
    swap(folder, "pkg/notes.txt", "fourth\n", "fourth")
    assert refreshed(case, folder) == ["added p/notes-text-2 (pkg/notes.txt)"]


def test_crlf_files_keep_theirs(case):
    folder = case.edit()
    swap(folder, "pkg/crlf.py", "    a = 1\r\n", "    a = 1\r\n    a += 1\r\n")
    refreshed(case, folder)
    swap(folder, "pkg/crlf.py", "    a += 1\r\n", "    a += 2\r\n    a += 3\r\n")
    assert refreshed(case, folder)[0].startswith("changed ")


def test_arguments_parameters_and_bases(case):
    folder = case.edit()
    swap(folder, "pkg/a.py", "def two(x):", "def two(x, k=None):")
    swap(folder, "pkg/a.py", "class Three:", "class Three(dict):")
    refreshed(case, folder)
    ids = re.findall(r'^id\s*= "(.*)"', case.toml(), re.M)
    swap(folder, "pkg/a.py", "k=None", "k=1")
    swap(folder, "pkg/a.py", "Three(dict)", "Three(list)")
    lines = refreshed(case, folder)
    assert [line.split(" ")[0] for line in lines] == ["changed", "changed"]
    assert re.findall(r'^id\s*= "(.*)"', case.toml(), re.M) == ids


def test_blank_lines(case):
    folder = case.edit()
    swap(folder, "pkg/a.py", "    z = x + 2\n", "    z = x + 2\n\n")
    refreshed(case, folder)
    swap(folder, "pkg/a.py", "    y += 5\n", "    y += 5\n\n")
    assert refreshed(case, folder) == ["changed p/first (pkg/a.py)"]


def test_dry_run(case):
    folder = case.edit()
    swap(folder, "pkg/a.py", "y += 5", "y += 6")
    before = case.snapshot()
    result = case.cmd("refresh", "p", "--dry-run")
    assert (result.exit, result.stdout) == (0, "changed p/first (pkg/a.py)\n")
    assert case.snapshot() == before


def test_inside_the_worktree_and_committed(case):
    folder = case.edit()
    swap(folder, "pkg/a.py", "y += 5", "y += 6")
    subprocess.run(["git", "commit", "-q", "-a", "-m", "mine"], cwd=folder, env=case.env, check=True)
    assert case.ok("refresh", inside=folder / "pkg") == "changed p/first (pkg/a.py)\n"
    assert case.exported() == wanted(folder)


def test_a_worktree_of_ones_own_place(case):
    folder = case.edit("p", "--to", str(case.root / "mine"))
    assert folder == case.root / "mine"
    swap(folder, "pkg/a.py", "y += 5", "y += 6")
    assert case.ok("refresh", "p") == "changed p/first (pkg/a.py)\n"
    (case.root / "full").mkdir()
    (case.root / "full" / "x").write_text("x")
    assert "is not empty" in case.refused("edit", "p", "--to", str(case.root / "full"))


def test_rubbish_is_not_carried(case):
    folder = case.edit()
    for name in ("pkg/__pycache__/a.cpython-311.pyc", "pkg/a.py~", "pkg/a.py.orig", "pkg/.a.py.swp", "pkg/#a.py#",
                 "pkg/.#a.py", "pkg/a.py.rej", ".pytest_cache/x", ".vscode/settings.json",
                 "pkg/.ipynb_checkpoints/a.py", "pkg/a.py.bak"):  # fmt: skip
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    result = case.cmd("refresh", "p")
    assert (result.exit, result.stdout) == (0, ""), result.stderr


def test_upstreams_own_rubbish_is_compared(flow):
    case = flow({**UPSTREAM, "pkg/a.py.orig": "x\n", "pkg/.hidden/y.py": "y = 1\n", ".top": "t\n"}, patchset())
    folder = case.edit()
    assert case.ok("refresh", "p") == ""
    swap(folder, "pkg/.hidden/y.py", "1", "2")
    swap(folder, ".top", "t", "u")
    (folder / "pkg/a.py.orig").unlink()
    assert len(refreshed(case, folder)) == 3


def test_what_cannot_be_carried_is_refused_by_name(case):
    folder = case.edit()
    (folder / "pkg/run.sh").chmod(0o644)
    assert "the mode of `pkg/run.sh`" in case.refused("refresh", "p")
    (folder / "pkg/run.sh").chmod(0o755)
    (folder / "pkg/l").symlink_to("a.py")
    assert "`pkg/l` is a link" in case.refused("refresh", "p")
    (folder / "pkg/l").unlink()
    (folder / "lib").symlink_to("pkg")
    assert "`lib` is a link" in case.refused("refresh", "p")
    (folder / "lib").unlink()
    (folder / "pkg/x.bin").write_bytes(b"\xff\x00")
    assert "`pkg/x.bin`" in case.refused("refresh", "p")
    (folder / "pkg/x.bin").unlink()
    swap(folder, "pkg/a.py", "y += 5", "y += (5")
    assert "`pkg/a.py` cannot be read as Python any more" in case.refused("refresh", "p")


def test_a_new_patch(case):
    argv = ("--new", "--title", "the fourth", "--why", "because", "--removal", "never")
    folder = case.edit("q", *argv)
    assert "total = 100" in (folder / "pkg/a.py").read_text(), "on top of the series"
    swap(folder, "pkg/b.py", "D = 3\n", "D = 3\nE = 4\n")
    swap(folder, "pkg/a.py", "limit = 3", "limit = 9")
    lines = refreshed(case, folder)
    assert [line.split(" ")[0] for line in lines] == ["added", "added"]
    text = case.toml("q")
    assert all(word in text for word in ('"the fourth"', '"because"', '"never"'))
    assert "reason and an end" in case.refused("edit", "z", "--new")
    assert "already" in case.refused("edit", "q", *argv)
    assert "is not a name" in case.refused("edit", "../q", *argv)
    assert "no patch `zz`" in case.refused("edit", "zz")


def test_a_new_patch_on_lines_of_the_one_below(case):
    folder = case.edit("q", "--new", "--why", "w", "--removal", "r")
    swap(folder, "pkg/a.py", "    y -= 1\n", "    y -= 1\n    y -= 3\n")
    refreshed(case, folder)
    assert case.placements("v1.0.0")["p/first"] == "carried"


UPPER = patch_toml(
    'id = "on-two"\nfile = "pkg/a.py"\nscope = "two"\nplace = "after"\nat = "z = x + 2"\nlines = "z -= 1"',
    'id = "limit"\nfile = "pkg/a.py"\nscope = "Three"\nplace = "replace"\nat = "limit = 3"\nlines = "limit = 30"',
)


def test_the_patch_above_goes_on_working(flow):
    case = flow(UPSTREAM, patchset(upper=UPPER))
    folder = case.edit("p")
    assert "z -= 1" not in (folder / "pkg/a.py").read_text()
    swap(folder, "pkg/a.py", "z *= 3", "z *= 33")
    swap(folder, "pkg/b.py", "B = 1", "B = 2")
    case.ok("refresh", "p")
    text = case.exported()["pkg/a.py"].decode()
    assert "z -= 1" in text and "z *= 33" in text and "limit = 30" in text
    upper = case.edit("upper")
    swap(upper, "pkg/a.py", "z -= 1", "z -= 2")
    assert refreshed(case, upper) == ["changed upper/on-two (pkg/a.py)"]


def test_the_patch_above_loses_its_place(flow):
    case = flow(UPSTREAM, patchset(upper=UPPER))
    folder = case.edit("p")
    swap(folder, "pkg/a.py", "limit = 3", "limit = 4")
    result = case.cmd("refresh", "p")
    assert result.exit == 3
    assert result.stdout.splitlines()[1].startswith("lost upper/limit (pkg/a.py): it changes the same text as `p/")
    assert "rebasekit resolve upper/limit --tag v1.0.0" in result.stderr
    assert case.placements("v1.0.0")["upper/on-two"] == "carried"


def test_on_a_later_release(case):
    folder = case.edit("p", "--tag", "v1.1.0")
    swap(folder, "pkg/a.py", "y += 5", "y += 6")
    (folder / "pkg/new.py").write_text("N = 1\n")
    lines = case.ok("refresh", inside=folder).splitlines()
    assert lines == ["changed p/first (pkg/a.py)", "added p/new-new (pkg/new.py)"]
    assert case.exported("v1.1.0") == wanted(folder)
    assert b"y += 6" in case.exported("v1.0.0")["pkg/a.py"]


def test_the_form_of_that_release(flow):
    files = patchset()
    files["p/patch.toml"] = PATCH.replace(
        '[[hunk]]\nid = "second"', '[[hunk.variant]]\ntags = ">=v1.1.0"\nlines = "y += 50"\n\n[[hunk]]\nid = "second"'
    )
    case = flow({"v1.0.0": UPSTREAM, "v1.1.0": UPSTREAM}, files)
    folder = case.edit("p", "--tag", "v1.1.0")
    swap(folder, "pkg/a.py", "y += 50", "y += 60")
    assert case.ok("refresh", inside=folder) == "changed p/first (pkg/a.py)\n"
    assert b"y += 60" in case.exported("v1.1.0")["pkg/a.py"]
    assert b"y += 5\n" in case.exported("v1.0.0")["pkg/a.py"]
    swap(folder, "pkg/a.py", "    y += 60\n", "")
    case.ok("refresh", inside=folder)
    assert case.exported("v1.1.0") == wanted(folder)
    assert b"y += 5\n" in case.exported("v1.0.0")["pkg/a.py"], "older releases keep theirs"


def test_lines_that_two_forms_share(flow):
    files = patchset()
    files["p/patch.toml"] = PATCH.replace(
        '[[hunk]]\nid = "second"', '[[hunk.variant]]\ntags = ">=v1.1.0"\nat = "y = x + 10"\n\n[[hunk]]\nid = "second"'
    )
    case = flow({"v1.0.0": UPSTREAM, "v1.1.0": {**UPSTREAM, "pkg/a.py": A.replace("x + 1", "x + 10")}}, files)
    folder = case.edit("p")
    before = case.toml()
    swap(folder, "pkg/a.py", "y += 5", "y += 6")
    case.ok("refresh", inside=folder)
    assert case.toml() == before
    assert all(b"y += 6" in case.exported(tag)["pkg/a.py"] for tag in ("v1.0.0", "v1.1.0"))


def test_several_matches_of_one_anchor(flow):
    files = {
        "series.toml": series("v1.0.0", patches=["p"]),
        "p/patch.toml": patch_toml(
            'id = "all"\nfile = "pkg/m.py"\nscope = "f"\nplace = "after"\nat = "g()"\ncount = 2\nlines = "h()"'
        ),
    }
    case = flow({"pkg/m.py": "def f(x):\n    if x:\n        g()\n    else:\n        g()\n"}, files)
    folder = case.edit()
    text = (folder / "pkg/m.py").read_text()
    (folder / "pkg/m.py").write_text(text.replace("h()", "h(1)"))
    assert refreshed(case, folder) == ["changed p/all (pkg/m.py)"]
    (folder / "pkg/m.py").write_text(text.replace("h()", "h(2)", 1).replace("        h()", "        h(1)"))
    refreshed(case, folder)


def test_no_worktree(case):
    assert "no open worktree" in case.refused("refresh", "p")
    assert "is no worktree" in case.refused("refresh")
    assert "no patch `zz`" in case.refused("refresh", "zz")
    folder = case.edit()
    case.edit("p", "--tag", "v1.1.0")
    assert "2 open worktrees" in case.refused("refresh", "p")
    subprocess.run(["rm", "-r", folder], check=True)
    case.ok("refresh", "p")


def test_edit_again_opens_the_same(case):
    folder = case.edit()
    swap(folder, "pkg/a.py", "y += 5", "y += 6")
    assert case.edit() == folder
    assert "y += 6" in (folder / "pkg/a.py").read_text()


def test_as_processes(case):
    """The same by the command line alone, with nothing of ours in the process."""
    out = case.spawn("edit", "p")
    assert out.exit == 0
    folder = out.stdout.strip()
    file = Path(folder) / "pkg/b.py"
    file.write_text(file.read_text() + "E = 5\n")
    case.project, before = Path(folder), case.project
    assert case.spawn("refresh").stdout.startswith("added p/")
    case.project = before
