"""`accept`: pins move after a person looked, and older releases keep theirs."""

from __future__ import annotations

import re

import pytest
from harness import patch_toml, series

A = """
def one(x):
    y = x + 1
    return y


def two(x):
    z = x + 2
    return z
"""
GUARDED = A.replace("    y = x + 1\n", "    if x:\n        y = x + 1\n")  # the depth differs: a person has to look
ONE = 'id = "one"\nfile = "pkg/a.py"\nscope = "one"\nplace = "after"\nat = "y = x + 1"\nlines = "y += 5"   # keep me'
TWO = 'id = "two"\nfile = "pkg/a.py"\nscope = "two"\nplace = "before"\nat = "return z"\nlines = "z *= 3"'


def project(flow, *versions, hunks=(ONE, TWO), paths=()):
    tags = {
        f"v1.{n}.0": {"pkg/__init__.py": "", **(v if isinstance(v, dict) else {"pkg/a.py": v})}
        for n, v in enumerate(versions)
    }
    return flow(tags, {"series.toml": series("v1.0.0", patches=["p"]), "p/patch.toml": patch_toml(*hunks)})


def pins(case):
    return re.findall(r'tag = "(v[0-9.]+)"', case.flat())


def test_the_pin_moves(flow):
    case = project(flow, A, A.replace("x + 2", "x + 22"))
    assert case.run("rebase", "v1.1.0").placements == {"p/one": "carried", "p/two": "shifted"}
    assert case.ok("accept", "p/two", "--why", "only a number") == "p/two pinned to v1.1.0 (its form)\n"
    text = case.flat()
    assert 'decision = "only a number"' in text and "# keep me" in text and pins(case) == ["v1.1.0"]
    assert case.run("rebase", "v1.1.0").placements == {"p/one": "carried", "p/two": "carried"}
    assert case.placements("v1.0.0")["p/two"] in ("carried", "shifted")


def test_older_releases_keep_theirs(flow):
    case = project(flow, A, GUARDED, GUARDED.replace("z = x", "z  = x"))
    first = case.run("rebase", "v1.1.0")
    assert first.exit != 0
    case.run("rebase", "v1.2.0")
    older = case.run("rebase", "v1.0.0")
    assert older.exit == 0
    assert case.ok("accept", "one", "--tag", "v1.1.0", "--why", "the guard is meant").startswith(
        "p/one pinned to v1.1.0 (a form for >=v1.1.0)"
    )
    text = case.flat()
    assert 'tags = ">=v1.1.0"' in text and "lines" not in text[text.index("[[hunk.variant]]") :].split("[[hunk]]")[0]
    assert case.run("rebase", "v1.1.0").exit == 0
    assert case.run("rebase", "v1.0.0").json["hunks"] == older.json["hunks"]
    assert case.run("rebase", "v1.2.0").exit == 0
    assert b"        y = x + 1\n        y += 5\n" in case.exported("v1.1.0")["pkg/a.py"]


def test_a_variant_between_variants(flow):
    deeper = GUARDED.replace("    if x:\n        y = x + 1\n", "    if x:\n        if x > 1:\n            y = x + 1\n")
    case = project(flow, A, GUARDED, deeper)
    for tag in ("v1.1.0", "v1.2.0"):
        assert case.run("rebase", tag).exit != 0
    case.ok("accept", "one", "--tag", "v1.2.0", "--why", "deep is meant")
    assert (
        case.ok("accept", "one", "--tag", "v1.1.0", "--why", "so is this")
        == "p/one pinned to v1.1.0 (a form for >=v1.1.0,<v1.2.0)\n"
    )
    assert [case.run("rebase", tag).exit for tag in ("v1.0.0", "v1.1.0", "v1.2.0")] == [0, 0, 0]
    case.tag("v1.1.5", {"pkg/__init__.py": "", "pkg/a.py": GUARDED.replace("def two", "def two_")})
    case.ok("accept", "one", "--tag", "v1.1.0", "--why", "again")
    assert case.flat().count("[[hunk.variant]]") == 2


def test_a_later_look_at_an_open_range(flow):
    deeper = GUARDED.replace("    if x:\n        y = x + 1\n", "    if x:\n        if x > 1:\n            y = x + 1\n")
    case = project(flow, A, GUARDED, deeper)
    for tag in ("v1.1.0", "v1.2.0"):
        case.run("rebase", tag)
        case.ok("accept", "one", "--tag", tag, "--why", "is meant")
    text = case.flat()
    assert 'tags = ">=v1.1.0,<v1.2.0"' in text and 'tags = ">=v1.2.0"' in text
    assert [case.run("rebase", tag).exit for tag in ("v1.0.0", "v1.1.0", "v1.2.0")] == [0, 0, 0]


def test_a_whole_patch(flow):
    case = project(flow, A, A.replace("x + 2", "x + 22"))
    case.run("rebase", "v1.1.0")
    assert len(case.ok("accept", "p", "--why", "looked").splitlines()) == 2
    assert pins(case) == ["v1.1.0", "v1.1.0"] and case.flat().count('"looked"') == 2


def test_a_hunk_that_followed_its_file(flow):
    case = project(flow, A, {"pkg/b.py": A.replace("x + 2", "x + 22")}, {"pkg/b.py": A.replace("x + 2", "x + 23")})
    assert set(case.placements("v1.1.0").values()) == {"relocated"}
    assert "a form for >=v1.1.0" in case.ok("accept", "p", "--why", "the file was renamed")
    assert set(case.placements("v1.1.0").values()) == {"carried"}
    assert case.placements("v1.2.0") == {"p/one": "carried", "p/two": "shifted"}
    assert set(case.placements("v1.0.0").values()) == {"carried"}


def test_two_methods_disagree_and_a_person_decides(flow):
    case = project(
        flow, A, A.replace("    z = x + 2\n    return z\n", "    z = x + 2; log(z)\n    z = -z\n    return  z\n")
    )
    first = case.run("rebase", "v1.1.0")
    if first.placements["p/two"] == "conflict":
        case.ok("accept", "two", "--tag", "v1.1.0", "--why", "right before it is returned")
    assert case.run("rebase", "v1.1.0").placements["p/two"] in ("carried", "shifted")


def test_no_place(flow):
    case = project(flow, A, A.replace("return z", "yield z"))
    assert case.run("rebase", "v1.1.0").exit == 3
    message = case.refused("accept", "p/two", "--tag", "v1.1.0", "--why", "x")
    assert "`p/two` has no place on v1.1.0" in message and "rebasekit resolve p/two --tag v1.1.0" in message
    case.refused("accept", "p", "--tag", "v1.1.0", "--why", "x")  # all or nothing


def test_usage(flow):
    case = project(flow, A, A)
    assert "`--why` is empty" in case.refused("accept", "p/two", "--why", " ")
    assert "no hunk `zz`" in case.refused("accept", "p/zz" if False else "zz", "--why", "x")
    case.refused("accept", "p/two", "--tag", "banana", "--why", "x")
    case.refused("accept", "p/two", "--tag", "v9.0.0", "--why", "x")


def test_not_meant(flow):
    case = project(flow, A, A, hunks=(ONE + '\ntags = "<v1.1.0"', TWO))
    case.run("rebase", "v1.1.0")
    assert "is not meant for v1.1.0" in case.refused("accept", "p/one", "--tag", "v1.1.0", "--why", "x")
    assert len(case.ok("accept", "p", "--tag", "v1.1.0", "--why", "x").splitlines()) == 1


@pytest.mark.parametrize("tag", ["v1.0.0", "v1.1.0"])
def test_on_our_own_lines(flow, tag):
    upper = 'id = "upper"\nfile = "pkg/a.py"\nscope = "one"\nplace = "after"\nat = "y += 5"\nlines = "y -= 1"'
    case = project(flow, A, A.replace("return y", "return  y"), hunks=(ONE, TWO, upper))
    case.run("rebase", tag)
    case.ok("accept", "p/upper", "--tag", tag, "--why", "looked")
    assert case.run("rebase", tag).placements["p/upper"] == "carried"
    assert [case.run("rebase", t).exit for t in ("v1.0.0", "v1.1.0")] == [0, 0]


OLD_F = "def f(x):\n    a = 1\n    b = 2\n    c = 3\n    d = 4\n    return a\n"
NEW_F = OLD_F.replace("    a = 1\n", "    z = 0\n    a = 1\n")
LATER_F = NEW_F.replace("    z = 0\n", "    y = 0\n    z = 0\n")


def edited(flow, where: str, old: str, *news: str, path: str = "pkg/a.py"):
    """A project with one edit script on line `c`, and a release for each text."""
    tags = {f"v1.{number}.0": {path: text} for number, text in enumerate((old, *news))}
    lines = f'id = "h"\nfile = "{path}"\n{where}\nbody = "h.edit"\ndecision = "d"'
    at = 1 + old.replace("\r", "").splitlines().index("    c = 3")
    return flow(
        tags,
        {
            "series.toml": series("v1.0.0", patches=["p"]),
            "p/patch.toml": patch_toml(lines),
            "p/h.edit": f"@@ {at},1 @@\n+    c = 300\n",
        },
    )


@pytest.mark.parametrize(
    ("where", "path", "end"),
    [
        ('scope = "f"\nplace = "edit"', "pkg/a.py", "\n"),
        ('scope = "f"\nplace = "edit"', "pkg/a.py", "\r\n"),
        ('place = "edit"', "pkg/a.py", "\n"),
        ('place = "text"', "pkg/a.txt", "\n"),
    ],
)
def test_an_edit_is_said_anew_where_the_pin_goes(flow, where, path, end):
    texts = [text.replace("\n", end) for text in (OLD_F, NEW_F, LATER_F)]
    case = edited(flow, where, *texts, path=path)
    wanted = [text.replace("c = 3", "c = 300").encode() for text in texts]
    for number in range(3):
        assert case.placements(f"v1.{number}.0") == {"p/h": "shifted" if number else "carried"}
    for tag in ("v1.1.0", "v1.2.0"):
        case.ok("accept", "p/h", "--tag", tag, "--why", "w")
        for number in range(3):
            assert case.exported(f"v1.{number}.0")[path] == wanted[number], (tag, number)
    assert case.placements("v1.2.0") == {"p/h": "carried"}


def test_an_edit_compared_with_another_release_than_its_pin(flow):
    case = edited(flow, 'scope = "f"\nplace = "edit"', OLD_F, NEW_F, LATER_F)
    result = case.run("rebase", "v1.2.0", "--from", "v1.1.0")
    assert result.placements == {"p/h": "shifted"}
    assert result.hunk("p/h")["line"] == 6


def test_an_edit_that_meets_upstreams_is_not_accepted(flow):
    case = edited(flow, 'scope = "f"\nplace = "edit"', OLD_F, NEW_F.replace("c = 3", "c = 30"))
    assert case.placements("v1.1.0") == {"p/h": "conflict"}
    told = case.refused("accept", "p/h", "--tag", "v1.1.0", "--why", "w")
    assert "`p/h` has no place on v1.1.0: upstream changed the same lines" in told
    assert "hint: rebasekit resolve p/h --tag v1.1.0" in told


def test_a_scope_that_may_be_another_now(flow):
    """The name went to a new function that is much alike: a person says which of the two it is."""
    body = "    log(x)\n    y = x + 1\n    key = {}\n    total = y\n    return total\n"
    old = "def run(x):\n" + body.format(1)
    new = "def run(x):\n" + body.format(2) + "\n\ndef run_legacy(x):\n" + body.format(1)
    hunk = 'id = "h"\nfile = "pkg/a.py"\nscope = "run"\nplace = "before"\nat = "return total"\nlines = "total *= 2"'
    case = project(flow, old, new, hunks=(hunk,))
    report = case.run("rebase", "v1.1.0")
    assert report.placements == {"p/h": "ambiguous"}
    found = report.hunk("p/h")
    assert found["reason"] == "`run` may be another now: `run_legacy` has more of what it was"
    assert "total *= 2" in found["conflict"]["ours"] and "total *= 2" in found["conflict"]["alone"]
    case.ok("accept", "h", "--why", "the new one is meant")
    assert case.exported("v1.1.0")["pkg/a.py"].decode() == new.replace("    return", "    total *= 2\n    return", 1)
    assert case.placements("v1.1.0") == {"p/h": "carried"}
    assert case.placements("v1.0.0") == {"p/h": "carried"}
