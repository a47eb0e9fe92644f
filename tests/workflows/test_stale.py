"""Worktrees that were opened before the series changed: what a person did in them is told from what others did."""

from __future__ import annotations

from pathlib import Path

from harness import Tree, patch_toml, series

A = "".join(f"A{n} = {n}\n" for n in range(20)) + "\n\ndef run(x):\n    y = x\n    return y\n"
B = "def one():\n    return 1\n"
UPSTREAM = {"pkg/a.py": A, "pkg/b.py": B, "pkg/notes.txt": "a\nb\nc\n"}
FIRST = 'id = "{id}"\nfile = "pkg/a.py"\nscope = ""\nplace = "replace"\nat = "{at}"\nlines = "{lines}"'


def patchset() -> Tree:
    one = FIRST.format(id="low", at="A2 = 2", lines="A2 = 200")
    two = FIRST.format(id="high", at="A17 = 17", lines="A17 = 1700")
    return {
        "series.toml": series("v1.0.0", patches=["low", "high"]),
        "low/patch.toml": patch_toml(one),
        "high/patch.toml": patch_toml(two),
    }


def change(folder: Path, old: str, new: str, path: str = "pkg/a.py") -> None:
    file = folder / path
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_what_another_patch_no_longer_says_does_not_come_back(flow):
    case = flow(UPSTREAM, patchset())
    low, high = case.edit("low"), case.edit("high")
    change(low, "A2 = 200", "A2 = 2")
    change(low, "A4 = 4", "A4 = 400")
    assert case.ok("refresh", inside=low) == "removed low/low (pkg/a.py)\nadded low/a-replace (pkg/a.py)\n"
    change(high, "A10 = 10", "A10 = 1000")
    result = case.cmd("refresh", inside=high)
    assert (result.exit, result.stdout) == (0, "added high/a-replace (pkg/a.py)\n"), result.stderr
    assert "`pkg/a.py` was brought up to date" in result.stderr
    assert case.toml("low").count("[[hunk]]") == 1
    assert "A2" not in case.toml("high")
    wanted = A.replace("A4 = 4\n", "A4 = 400\n").replace("A10 = 10", "A10 = 1000").replace("A17 = 17", "A17 = 1700")
    assert case.exported()["pkg/a.py"].decode() == wanted
    # the worktree now has the other patch's change, so that the next refresh is about nothing
    assert (high / "pkg/a.py").read_text() == wanted
    assert case.ok("refresh", inside=high) == ""


def test_a_change_that_is_taken_back_after_a_refresh_is_taken_back(flow):
    case = flow(UPSTREAM, patchset())
    high = case.edit("high")
    change(high, "A10 = 10", "A10 = 1000")
    case.ok("refresh", inside=high)
    change(high, "A10 = 1000", "A10 = 10")
    assert case.ok("refresh", inside=high) == "removed high/a-replace (pkg/a.py)\n"
    assert case.exported()["pkg/a.py"].decode() == A.replace("A2 = 2", "A2 = 200").replace("A17 = 17", "A17 = 1700")


def test_what_is_in_the_worktree_stays_when_the_project_goes_back(flow):
    case = flow(UPSTREAM, patchset())
    low, high = case.edit("low"), case.edit("high")
    change(high, "A10 = 10", "A10 = 1000")
    before = case.toml("high")
    case.ok("refresh", inside=high)
    (case.project / "patchset/high/patch.toml").write_text(before)
    assert case.ok("refresh", inside=high) == "added high/a-replace (pkg/a.py)\n"
    change(low, "A2 = 200", "A2 = 201")
    case.ok("refresh", inside=low)
    (case.project / "patchset/high/patch.toml").write_text(before)
    assert case.ok("refresh", inside=high) == "added high/a-replace (pkg/a.py)\n"
    text = (high / "pkg/a.py").read_text()
    assert "A10 = 1000" in text and "A2 = 201" in text


def test_both_changed_the_same_lines(flow):
    case = flow(UPSTREAM, patchset())
    low, high = case.edit("low"), case.edit("high")
    change(low, "A2 = 200", "A2 = 201")
    case.ok("refresh", inside=low)
    change(high, "A2 = 200", "A2 = 202")
    told = case.refused("refresh", inside=high)
    assert "the series changed the same lines of `pkg/a.py` since this worktree was opened" in told
    assert "A2 = 202" in (high / "pkg/a.py").read_text()
    change(high, "A2 = 202", "A2 = 200")
    assert case.cmd("refresh", inside=high).exit == 0


def test_files_that_come_and_go(flow):
    case = flow(UPSTREAM, patchset())
    low, high = case.edit("low"), case.edit("high")
    (low / "pkg/new.py").write_text("N = 1\n")
    (low / "pkg/b.py").unlink()
    change(low, "b\n", "B\n", "pkg/notes.txt")
    case.ok("refresh", inside=low)
    assert case.ok("refresh", inside=high) == "", "nothing was changed here"
    assert (high / "pkg/new.py").read_text() == "N = 1\n"
    assert not (high / "pkg/b.py").exists()
    change(high, "c\n", "c\nd\n", "pkg/notes.txt")
    case.ok("refresh", inside=high)
    assert case.exported()["pkg/notes.txt"] == b"a\nB\nc\nd\n"
    assert "new.py" not in case.toml("high")
    (low / "pkg/new.py").unlink()
    case.ok("refresh", inside=low)
    (high / "pkg/new.py").write_text("N = 2\n")
    assert "pkg/new.py" in case.refused("refresh", inside=high)


def test_dry_run_changes_no_file(flow):
    case = flow(UPSTREAM, patchset())
    low, high = case.edit("low"), case.edit("high")
    change(low, "A2 = 200", "A2 = 201")
    case.ok("refresh", inside=low)
    before = (high / "pkg/a.py").read_text()
    case.ok("refresh", "--dry-run", inside=high)
    assert (high / "pkg/a.py").read_text() == before


def test_two_hunks_of_a_file_are_resolved_side_by_side(flow):
    base = "def one(x):\n    y = x\n    return y\n\n\ndef two(x):\n    z = x\n    return z\n"
    new = base.replace("    y = x\n", "    y = x\n    y += 1\n").replace("    z = x\n", "    z = x\n    z += 1\n")
    hunk = 'id = "{0}"\nfile = "pkg/a.py"\nscope = "{0}"\nplace = "after"\nat = "{1} = x"\nlines = "{1} *= 2"\n'
    hunk += 'decision = "d"'
    case = flow(
        {"v1.0.0": {"pkg/a.py": base}, "v1.1.0": {"pkg/a.py": new}},
        {
            "series.toml": series("v1.0.0", patches=["p"]),
            "p/patch.toml": patch_toml(hunk.format("one", "y"), hunk.format("two", "z")),
        },
    )
    assert case.placements("v1.1.0") == {"p/one": "conflict", "p/two": "conflict"}
    files = [Path(case.ok("resolve", name, "--tag", "v1.1.0").strip()) for name in ("p/one", "p/two")]
    for file in files:
        lines = file.read_text().splitlines(keepends=True)
        file.write_text("".join(line for line in lines if line[:7] not in ("<" * 7, "|" * 7, "=" * 7, ">" * 7)))
    case.ok("resolve", "p/one", "--continue")
    case.ok("resolve", "p/two", "--continue")
    assert case.exported("v1.1.0")["pkg/a.py"].decode() == (
        new.replace("    y = x\n", "    y = x\n    y *= 2\n").replace("    z = x\n", "    z = x\n    z *= 2\n")
    )
