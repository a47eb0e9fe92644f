"""`rename`, `reorder`, `fold` and `delete`: quilt's and StGit's verbs, with the proof that no release changes."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from harness import Case, patch_toml, series

from rebasekit.model.tag import Tag
from rebasekit.patches.load import load
from rebasekit.patches.mapfile import load_map

A = "def one():\n    x = 1\n    return x\n\n\ndef two():\n    y = 2\n    return y\n"


def hunk(ident: str, scope: str, at: str, lines: str) -> str:
    where = f'id = "{ident}"\nfile = "pkg/a.py"\nscope = "{scope}"\n'
    return f'{where}place = "after"\nat = "{at}"\nlines = "{lines}"\n'


@pytest.fixture
def project(tmp_path):
    case = Case(
        tmp_path,
        {"v1.0.0": {"pkg/a.py": A}, "v1.1.0": {"pkg/a.py": "# moved down\n" + A}},
        {
            "series.toml": series("v1.0.0", patches=["first", "second", "third"]),
            "first/patch.toml": "# ours\n" + patch_toml(hunk("one", "one", "x = 1", "x += 1"), title="first"),
            "second/patch.toml": patch_toml(hunk("one", "two", "y = 2", "y += 1"), title="second", why="because"),
            "third/patch.toml": patch_toml(hunk("again", "one", "x += 1", "x += 5"), title="third").replace(
                'removal = "never"', 'removal = "never"\ndepends = ["first"]'
            ),
        },
    )  # fmt: skip
    for tag in ("v1.0.0", "v1.1.0"):
        assert case.run("rebase", tag).exit == 0
    return case


def names(case: Case) -> list[str]:
    return [h.name for h in load(case.project / "patchset").series.hunks()]


def patched(case: Case) -> list[bytes]:
    """What the file becomes on each release."""
    found = []
    for tag in ("v1.0.0", "v1.1.0"):
        assert case.run("rebase", tag, json=False).exit == 0
        folder = case.root / "out" / tag
        (folder / "pkg").mkdir(parents=True, exist_ok=True)
        (folder / "pkg" / "a.py").write_bytes(case.pristine(tag)["pkg/a.py"])
        assert case.run("apply", "--tag", tag, "--to", str(folder)).exit == 0
        found.append((folder / "pkg" / "a.py").read_bytes())
    return found


def refused(case: Case, *argv: str, exit_code: int, says: str) -> None:
    before = case.snapshot()
    result = case.run(*argv)
    assert (result.exit, case.snapshot()) == (exit_code, before), result.stderr
    assert says in result.stderr


def test_rename_follows_everywhere(project):
    project.write({"patchset/first/README": "about it\n"})
    result = project.run("rename", "first", "start")
    assert result.exit == 0, result.stderr
    assert "the same bytes on v1.0.0, v1.1.0" in result.stdout
    assert names(project) == ["start/one", "second/one", "third/again"]
    home = project.project / "patchset"
    assert not (home / "first").exists()
    assert (home / "start" / "README").read_text() == "about it\n"
    assert (home / "start" / "patch.toml").read_text().startswith("# ours\n")
    assert tomllib.loads((home / "third" / "patch.toml").read_text())["depends"] == ["start"]
    kept = load_map(project.project, Tag("v1.1.0"))
    assert kept is not None and [f"{e.patch}/{e.id}" for e in kept.hunks] == names(project)
    before = (project.project / "upstream-map" / "v1.1.0.toml").read_bytes()
    assert project.run("rebase", "v1.1.0").exit == 0
    assert (project.project / "upstream-map" / "v1.1.0.toml").read_bytes() == before  # the map was right already


def test_reorder(project):
    before = patched(project)
    assert project.run("reorder", "second", "--before", "first").exit == 0
    assert names(project) == ["second/one", "first/one", "third/again"]
    assert project.run("reorder", "second", "--after", "first").exit == 0
    assert names(project) == ["first/one", "second/one", "third/again"]
    assert project.run("reorder", "second", "--last").exit == 0
    assert names(project) == ["first/one", "third/again", "second/one"]
    assert patched(project) == before


def test_fold_keeps_ids_apart_and_reasons(project):
    result = project.run("fold", "second", "--into", "first")
    assert result.exit == 0, result.stderr
    assert "second/one is now first/second-one" in result.stdout
    assert names(project) == ["first/one", "first/second-one", "third/again"]
    folded = load(project.project / "patchset").series.hunks()[1]
    assert folded.why == "because"
    assert not (project.project / "patchset" / "second").exists()
    assert project.run("rebase", "v1.1.0").exit == 0


def test_fold_into_what_depends_on_it(project):
    assert project.run("fold", "first", "--into", "third").exit == 0
    assert names(project) == ["second/one", "third/one", "third/again"]
    assert load(project.project / "patchset").series.patches[-1].depends == ()


def test_fold_keeps_body_files_apart(tmp_path):
    def patch(name: str, scope: str) -> str:
        return patch_toml(f'id = "{name}"\nfile = "pkg/a.py"\nscope = "{scope}"\nplace = "first"\nbody = "ours.py"\n')

    case = Case(
        tmp_path,
        {"v1.0.0": {"pkg/a.py": A}},
        {
            "p/patch.toml": patch("a", "one"), "p/ours.py": "a = 1\n",
            "q/patch.toml": patch("b", "two"), "q/ours.py": "b = 2\n",
        },
    )  # fmt: skip
    assert case.run("fold", "q", "--into", "p").exit == 0
    home = case.project / "patchset" / "p"
    assert {path.name: path.read_text() for path in home.glob("*.py")} == {"ours.py": "a = 1\n", "q-ours.py": "b = 2\n"}


def test_delete(project):
    assert project.run("delete", "second").exit == 0
    assert names(project) == ["first/one", "third/again"]
    assert not (project.project / "patchset" / "second").exists()
    assert project.run("rebase", "v1.1.0").exit == 0


def test_what_would_change_a_release_is_refused(project):
    project.write({"patchset/third/patch.toml": patch_toml(hunk("again", "one", "x = 1", "x += 5"), title="third")})
    refused(project, "reorder", "third", "--before", "first", exit_code=4, says="would become another text")


@pytest.mark.parametrize(
    ("argv", "exit_code", "says"),
    [
        (("delete", "first"), 4, "`third` depends on `first`"),
        (("delete", "none"), 2, "there is no patch `none`"),
        (("reorder", "third", "--before", "first"), 2, "`third` depends on `first`, which would come after it"),
        (("reorder", "first", "--before", "first"), 2, "before or after itself"),
        (("reorder", "first"), 2, "required"),
        (("rename", "first", "second"), 2, "there is a patch `second` already"),
        (("rename", "first", "../x"), 2, "../x"),
        (("fold", "first", "--into", "first"), 2, "into itself"),
    ],
)
def test_refused(project, argv, exit_code, says):
    refused(project, *argv, exit_code=exit_code, says=says)


def test_delete_what_a_later_hunk_stands_on(project):
    path = project.project / "patchset" / "third" / "patch.toml"
    path.write_text(path.read_text().replace('depends = ["first"]\n', ""))
    refused(project, "delete", "first", exit_code=4, says="`third/again` has no place without `first`")


def test_remembered_resolutions_follow_a_rename(project):
    from rebasekit.patches.resolutions import load_resolutions

    project.tag("v1.2.0", {"pkg/a.py": A.replace("x = 1", "x = 3")})
    assert project.run("rebase", "v1.2.0").exit == 3
    lost = next(name for name, word in project.run("rebase", "v1.2.0").placements.items() if word != "carried")
    folder = project.run("resolve", lost, "--tag", "v1.2.0").stdout.split()[-1]
    path = Path(folder) if Path(folder).is_file() else Path(folder, "pkg", "a.py")
    path.write_text(A.replace("x = 1\n", "x = 3\n    x += 1\n"))
    done = project.run("resolve", lost, "--tag", "v1.2.0", "--continue", "--why", "the value moved on")
    assert done.exit == 0, done.stderr
    kept = load_resolutions(project.project)
    assert kept
    assert project.run("rename", lost.partition("/")[0], "renamed").exit == 0
    assert {each.hunk for each in load_resolutions(project.project).values()} == {f"renamed/{lost.partition('/')[2]}"}
