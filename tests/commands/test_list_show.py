"""`list` and `show`: names, tables, JSON."""

from __future__ import annotations

MAP = """
schema = 1
tag = "v1.1.0"
base = "v1.0.0"
series = ""
tool = "rebasekit 0.1.0"

[[hunk]]
patch = "first"
id = "one"
placement = "shifted"
file = "pkg/a.py"
scope = "one"
line = 4
lines = 1
remembered = "k1"
"""


def test_list_shows_order_place_and_the_newest_release(project):
    result = project.run("list")
    assert result.exit == 0
    assert "nothing is known about any release yet" in result.stderr
    project.write({"upstream-map/v1.1.0.toml": MAP, "upstream-map/v1.0.0.toml": MAP.replace("v1.1.0", "v1.0.0")})
    result = project.run("list")
    assert (result.exit, result.stderr) == (0, "")
    rows = [line.split() for line in result.stdout.splitlines()]
    assert rows[0][-1] == "v1.1.0"
    assert ["one", "after", "pkg/a.py", "one", "shifted", "(remembered)"] in rows
    assert [row[0] for row in rows if row and row[0] in ("first", "second", "one", "two")] == [
        *("first", "one", "two"),
        *("second", "one"),
    ]
    assert "\x1b" not in result.stdout


def test_list_json_and_one_patch(project):
    project.write({"upstream-map/v1.1.0.toml": MAP})
    data = project.run("list", "--json", json=False)
    assert data.json["base"] == "v1.0.0"
    assert [patch["name"] for patch in data.json["patches"]] == ["first", "second"]
    first = data.json["patches"][0]["hunks"][0]
    assert (first["id"], first["place"], first["newest"]["placement"]) == ("one", "after", "shifted")
    only = project.run("list", "--json", "second", json=False)
    assert [patch["name"] for patch in only.json["patches"]] == ["second"]


def test_list_finds_the_project_from_below_and_by_option(project):
    assert project.run("-C", str(project.project / "patchset"), "list").exit == 0
    assert project.run("-C", str(project.project), "list").exit == 0
    result = project.run("-C", str(project.root), "list")
    assert result.exit == 2
    assert result.stderr.startswith("error: there is no `patchset/series.toml` in")


def test_list_says_everything_that_is_wrong(project):
    project.write({"patchset/first/patch.toml": 'title = "x"\nodd = 1\n'})
    result = project.run("list")
    assert result.exit == 2
    lines = result.stderr.splitlines()
    assert len([line for line in lines if line.startswith("error: patchset/first/patch.toml")]) >= 3


def test_show_a_hunk(project):
    project.write({"upstream-map/v1.1.0.toml": MAP})
    result = project.run("show", "first/one")
    assert result.exit == 0
    for words in (
        "why: one more",
        "decision: after the assignment",
        "      x += 1",
        "v1.1.0: shifted (remembered), pkg/a.py:4",
    ):
        assert words in result.stdout
    assert project.run("show", "first/two").stdout.startswith("first/two\n")


def test_show_a_patch(project):
    result = project.run("show", "first")
    assert result.stdout.startswith("first: the first\n  why: the test needs it\n")
    assert "first/one" in result.stdout
    assert "first/two" in result.stdout


def test_show_json(project):
    project.write({"upstream-map/v1.1.0.toml": MAP})
    data = project.run("show", "--json", "first/one", json=False).json
    (hunk,) = data["hunks"]
    assert hunk["forms"][0]["lines"].strip() == "x += 1"
    assert hunk["tags"]["v1.1.0"]["line"] == 4


def test_names(project):
    result = project.run("show", "one")
    assert (result.exit, result.stdout) == (2, "")
    assert (
        result.stderr == "error: `one` is the id of several hunks: `first/one`, `second/one`\nhint: use `first/one`\n"
    )
    assert project.run("show", "two").exit == 0  # an id that only one patch has
    result = project.run("show", "frist/two")
    assert result.exit == 2
    assert "the closest are `first/two`" in result.stderr
    assert project.run("show", "zzz").stderr.endswith("hint: rebasekit list\n")
    for argv, words in (
        (("edit", "frst"), "there is no patch `frst`, the closest are `first`\nhint: use `first`"),
        (("edit", "two"), "`two` is a hunk, not a patch\nhint: use `first`"),
        (("accept", "frist/two", "--why", "w"), "there is no hunk `frist/two`, the closest are `first/two`"),
        (
            ("resolve", "first"),
            "`first` is a patch, not a hunk; its hunks are `one`, `two`\nhint: rebasekit list first",
        ),
        (("export", "--tag", "v1.0.0", "--only", "secnd"), "the closest are `second`"),
        (("refresh", "secnd"), "the closest are `second`"),
    ):
        result = project.run(*argv, json=False)
        assert result.exit == 2 and words in result.stderr, result.stderr


def test_odd_text_does_not_reach_the_terminal(project):
    toml = (project.project / "patchset/first/patch.toml").read_text()
    project.write({"patchset/first/patch.toml": toml.replace("one more", "[red]one[/red]")})
    assert "[red]one[/red]" in project.run("show", "first/one").stdout
