# ruff: noqa: E501 (TOML lines as they are written)
"""Edits by hand: what they write, what they leave alone, what they refuse."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rebasekit.errors import PatchsetError, StateError
from rebasekit.model.hunk import Form, Hunk, Patch, Pin, Place
from rebasekit.patches import Editor, load_patch, load_series

TEXT = """\
# about this file

title   = "a patch"   # short
why     = "because"
removal = "when upstream has it"

# ---- first part ----

# about one
[[hunk]]
id       = "one"
file     = "a.py"   # the old one
scope    = "f"
place    = "before"
at       = "return $X"
lines    = "x = 1"
uses     = [
    "p.q",  # needed
]
pin      = { tag = "v1", scope = "aa" }   # reviewed
# trailing remark

# ---- second part ----

[[hunk]]
id = "two"
file = "b.py"
place = "last"
body = "two.py"
decision = "here"

[[hunk.variant]]
tags = ">=v2"
file = "c.py"

# about three
[[hunk]]
id = "three"
file = "d.py"
place = "last"
body = "three.py"
# the end
"""
FILES = {"patchset/x/two.py": "two = 2\n", "patchset/x/three.py": "three = 3\n"}


def edited(make: Callable[..., Path], change: Callable[[Editor, Patch], None], text: str = TEXT) -> list[str]:
    """Apply a change and commit; the lines of `patch.toml` that went (`-`) and came (`+`)."""
    patchset = make(text, files=FILES)
    with Editor(patchset.parent) as edit:
        change(edit, edit.load("x"))
        edit.commit()
    new = (patchset / "x/patch.toml").read_text()
    diff = difflib.ndiff(text.splitlines(keepends=True), new.splitlines(keepends=True))
    return [line.rstrip("\n") for line in diff if line[0] in "+-"]


def test_set_pin_in_place(make) -> None:
    pin = Pin("v2", "bb", "cc", 1, "z.py", "g")
    assert edited(make, lambda e, p: e.set_pin(p.hunks[0], 0, pin)) == [
        '- pin      = { tag = "v1", scope = "aa" }   # reviewed',
        '+ pin      = { tag = "v2", scope = "bb", anchor = "cc", depth = 1, file = "z.py", scope_name = "g" }   # reviewed',
    ]


def test_set_and_remove_pins(make) -> None:
    def change(edit: Editor, patch: Patch) -> None:
        edit.set_pin(patch.hunks[0], 0, None)
        edit.set_pin(patch.hunks[1], 0, Pin("v1", "aa"))
        edit.set_pin(patch.hunks[1], 1, Pin("v2", "bb", depth=0))

    assert edited(make, change) == [
        '- pin      = { tag = "v1", scope = "aa" }   # reviewed',
        '+ pin = { tag = "v1", scope = "aa" }',
        '+ pin  = { tag = "v2", scope = "bb", depth = 0 }',
    ]


@pytest.mark.parametrize("pin", ['pin.tag = "v1"\npin.scope = "aa"\n', '[hunk.pin]\ntag = "v1"\nscope = "aa"\n'])
def test_a_pin_written_otherwise(make, header: str, hunk: str, pin: str) -> None:
    text = f"{header}{hunk}{pin}\n# about the next\n{hunk.strip().replace('one', 'two')}\n"
    patchset = make(text)
    with Editor(patchset.parent) as edit:
        edit.set_pin(edit.load("x").hunks[0], 0, Pin("v2", "bb"))
        edit.commit()
    new = (patchset / "x/patch.toml").read_text()
    assert new == text.replace(pin, 'pin = { tag = "v2", scope = "bb" }\n').replace("pin = {", "pin = {")


def test_decisions(make) -> None:
    def change(edit: Editor, patch: Patch) -> None:
        edit.set_decision(patch.hunks[0], 'not "there"')
        edit.set_decision(patch.hunks[1], "")
        edit.set_decision(patch.hunks[2], "two\nlines\n")

    assert edited(make, change) == [
        "+ decision = 'not \"there\"'",
        '- decision = "here"',
        "+ decision = '''",
        "+ two",
        "+ lines",
        "+ '''",
    ]


def test_replace_form_and_its_body(make, tmp_path: Path) -> None:
    def change(edit: Editor, patch: Patch) -> None:
        form = patch.hunks[1].forms[0]
        edit.replace_form(patch.hunks[1], 0, replace(form, scope="g", lines="two = 22\n", uses=("a.b",)))

    assert edited(make, change) == ['+ scope = "g"', '+ uses = ["a.b"]']
    assert (tmp_path / "patchset/x/two.py").read_text() == "two = 22\n"
    forms = load_patch(tmp_path / "patchset/x").hunks[1].forms
    assert forms[1].scope == "g" and forms[1].lines == "two = 22\n" and forms[1].file == "c.py"


def test_replace_form_moves_lines_from_a_file_into_the_patch(make, tmp_path: Path) -> None:
    def change(edit: Editor, patch: Patch) -> None:
        edit.replace_form(patch.hunks[2], 0, replace(patch.hunks[2].forms[0], body=None))

    assert edited(make, change) == ['- body = "three.py"', "+ lines = '''", "+ three = 3", "+ '''"]
    assert not (tmp_path / "patchset/x/three.py").exists()


def test_a_variant_that_stands_on_its_own(make, tmp_path: Path) -> None:
    form = Form("c.py", "h", Place.DELETE, at="x = 1", tags=">=v2,<v3")
    assert edited(make, lambda e, p: e.replace_form(p.hunks[1], 1, form)) == [
        '- tags = ">=v2"',
        '+ tags = ">=v2,<v3"',
        '+ scope = "h"',
        '+ place = "delete"',
        '+ at = "x = 1"',
    ]


def test_add_variant(make, tmp_path: Path) -> None:
    def change(edit: Editor, patch: Patch) -> None:
        form = replace(patch.hunks[1].forms[0], file="e.py", tags=">=v0.5,<v2", body="two_old.py", lines="two = 0\n")
        edit.add_variant(patch.hunks[1], form)
        edit.add_variant(
            patch.hunks[0], replace(patch.hunks[0].forms[0], at="", place=Place.LAST, tags="==v9", pin=None)
        )

    first = ["+ [[hunk.variant]]", '+ tags  = "==v9"', '+ place = "last"', '+ at    = ""', "+ "]
    second = ["+ [[hunk.variant]]", '+ tags = ">=v0.5,<v2"', '+ file = "e.py"', '+ body = "two_old.py"', "+ "]
    assert sorted(edited(make, change)) == sorted(first + second)
    text = (tmp_path / "patchset/x/patch.toml").read_text()
    assert 'reviewed\n# trailing remark\n\n[[hunk.variant]]\ntags  = "==v9"' in text
    assert 'file = "c.py"\n\n[[hunk.variant]]\ntags = ">=v0.5,<v2"' in text and "\n\n\n" not in text


@pytest.mark.parametrize(
    ("number", "gone"),
    [(0, TEXT[TEXT.index("# about one") : TEXT.index("# ---- second")]),
     (1, TEXT[TEXT.index('[[hunk]]\nid = "two"') : TEXT.index("# about three")]),
     (2, TEXT[TEXT.index("\n# about three") :])],
)  # fmt: skip
def test_remove_hunk(make, tmp_path: Path, number: int, gone: str) -> None:
    edited(make, lambda e, p: e.remove_hunk(p.hunks[number]))
    assert (tmp_path / "patchset/x/patch.toml").read_text() == TEXT.replace(gone, "")
    assert (tmp_path / "patchset/x/two.py").exists() == (number != 1)


def test_replace_patch_changes_only_what_differs(make, tmp_path: Path) -> None:
    def change(edit: Editor, patch: Patch) -> None:
        edit.replace_patch(patch)
        assert edit.files.staged["patchset/x/patch.toml"] == TEXT.encode()
        one, two, three = patch.hunks
        new = Hunk("x", "four", (Form("n.py", "", Place.NEW_FILE, lines="\n"),))
        three = replace(three, why="so")
        edit.replace_patch(replace(patch, origin="somewhere", hunks=(one, new, two, three)))

    assert edited(make, change) == [
        '+ origin  = "somewhere"',
        "+ ",
        "+ [[hunk]]",
        '+ id    = "four"',
        '+ file  = "n.py"',
        '+ place = "new-file"',
        "+ lines = '''",
        "+ ",
        "+ '''",
        '+ why = "so"',
    ]
    assert '# trailing remark\n\n[[hunk]]\nid    = "four"' in (tmp_path / "patchset/x/patch.toml").read_text()


def test_replace_patch_reorders_with_comments(make, tmp_path: Path) -> None:
    edited(make, lambda e, p: e.replace_patch(replace(p, hunks=p.hunks[::-1])))
    text = (tmp_path / "patchset/x/patch.toml").read_text()
    order = [
        "# ---- first part",
        "# about three",
        '"three"',
        "# the end",
        "# ---- second",
        '"two"',
        "# about one",
        '"one"',
    ]
    assert [text.index(each) for each in order] == sorted(text.index(each) for each in order)
    assert sorted(text.splitlines()) == sorted(TEXT.splitlines())


def test_replace_patch_drops_variants_and_hunks(make, tmp_path: Path) -> None:
    def change(edit: Editor, patch: Patch) -> None:
        two = replace(patch.hunks[1], forms=patch.hunks[1].forms[:1])
        edit.replace_patch(replace(patch, hunks=(two,)))

    edited(make, change)
    assert not (tmp_path / "patchset/x/three.py").exists()
    assert "# ---- second part ----" in (tmp_path / "patchset/x/patch.toml").read_text()


PATCH = Patch(
    "y",
    "new",
    "two\nlines",
    "never",
    origin="o",
    depends=("x",),
    hunks=(
        Hunk("y", "a", (Form("a.py", "f", Place.BEFORE, at='if $X == "a": ...', count=2, lines="x = 1\ny = 2\n"),), "d", "w"),
        Hunk("y", "k", (Form("k.py", "", Place.NEW_FILE, lines="k\n", body="../../kernels/k.py", mode="executable"),)),
        Hunk("y", "b", (Form("b.py", "", Place.LAST, lines="b\n", body="b.py", pin=Pin("v1", "s", "a", 0)),
                        Form("b.py", "", Place.LAST, lines="c\n", body="c.py", tags=">=v2"))),
    ),
)  # fmt: skip
PRETTY = """\
title     = "new"
why       = '''
two
lines'''
origin    = "o"
forwarded = "no"
removal   = "never"
depends   = ["x"]

[[hunk]]
id       = "a"
file     = "a.py"
scope    = "f"
place    = "before"
at       = 'if $X == "a": ...'
count    = 2
lines    = '''
x = 1
y = 2
'''
why      = "w"
decision = "d"

[[hunk]]
id    = "k"
file  = "k.py"
place = "new-file"
body  = "../../kernels/k.py"
mode  = "executable"

[[hunk]]
id    = "b"
file  = "b.py"
place = "last"
body  = "b.py"
pin   = { tag = "v1", scope = "s", anchor = "a", depth = 0 }

[[hunk.variant]]
tags = ">=v2"
body = "c.py"
"""


def test_add_and_remove_a_patch(make, series: str, tmp_path: Path) -> None:
    patchset = make(TEXT, files=FILES)
    with Editor(tmp_path) as edit:
        edit.add_patch(PATCH, {"README.md": "about\n"})
        edit.commit()
    assert (patchset / "y/patch.toml").read_text() == PRETTY
    assert (patchset / "series.toml").read_text() == series.replace('["x"]', '["x", "y"]')
    assert (tmp_path / "kernels/k.py").read_text() == "k\n" and (patchset / "y/README.md").exists()
    assert load_series(patchset).patches[1] == PATCH
    with Editor(tmp_path) as edit:
        edit.remove_patch("y")
        edit.commit()
    assert not (patchset / "y").exists() and (tmp_path / "kernels/k.py").exists()
    assert (patchset / "series.toml").read_text() == series


@pytest.mark.parametrize(
    ("before", "after"),
    [('[\n  "x",   # first\n]', '[\n  "x",   # first\n  "y",\n]'), ("[]", '["y"]'), ('["x",]', '["x", "y"]')],
)
def test_the_series_keeps_its_list(make, series: str, tmp_path: Path, before: str, after: str) -> None:
    series = "# order matters\n" + series.replace('["x"]', f"{before} # the list")
    patchset = make(TEXT, series=series, files=FILES)
    with Editor(tmp_path) as edit:
        edit.add_patch(replace(PATCH, depends=()))
        edit.commit()
    new = (patchset / "series.toml").read_text()
    assert load_series(patchset).patches[-1].name == "y"
    assert new.replace(" ", "") == series.replace(before, after).replace(" ", "")


def test_add_before_another(make, series: str, tmp_path: Path) -> None:
    patchset = make(TEXT, files=FILES)
    with Editor(tmp_path) as edit:
        edit.add_patch(replace(PATCH, depends=()), before="x")
        edit.commit()
    assert (patchset / "series.toml").read_text() == series.replace('["x"]', '["y", "x"]')


def refused(make: Callable[..., Path], change: Callable[[Editor, Patch], None], match: str, text: str = TEXT) -> None:
    patchset = make(text, files=FILES)
    with Editor(patchset.parent) as edit:
        with pytest.raises(PatchsetError, match=match):
            change(edit, edit.load("x"))
        assert not edit.files.staged


def test_what_is_refused(make) -> None:
    def form(patch: Patch, number: int = 1) -> Form:
        return patch.hunks[number].forms[0]

    refused(make, lambda e, p: e.add_patch(replace(PATCH, name="x")), "exists")
    refused(make, lambda e, p: e.add_patch(replace(PATCH, why="")), "why: is missing|why: is empty|why")
    refused(make, lambda e, p: e.set_pin(p.hunks[0], 0, Pin("; rm", "x")), "is not a release tag")
    refused(make, lambda e, p: e.add_variant(p.hunks[1], replace(form(p), tags=">=v3")), "overlaps with variant")
    refused(make, lambda e, p: e.add_variant(p.hunks[1], form(p)), "tags: is missing")
    refused(make, lambda e, p: e.replace_form(p.hunks[1], 0, replace(form(p), body="../../x")), "outside the patch")
    refused(make, lambda e, p: e.replace_form(p.hunks[1], 0, replace(form(p), body="patch.toml")), "the patch itself")
    refused(make, lambda e, p: e.replace_form(p.hunks[1], 0, replace(form(p), body="three.py")), "as meant")
    refused(make, lambda e, p: e.replace_form(p.hunks[1], 0, replace(form(p), lines="a\r\n")), "CRLF")
    refused(make, lambda e, p: e.replace_form(p.hunks[1], 0, replace(form(p), lines="\ud800")), "half a character")
    refused(make, lambda e, p: e.remove_hunk(replace(p.hunks[0], id="zero")), "is not there")
    inline = TEXT[: TEXT.index("# ---- first")] + 'hunk = [{ id = "a", file = "a", place = "last", lines = "x" }]\n'
    refused(make, lambda e, p: e.set_decision(p.hunks[0], "x"), "only `\\[\\[hunk\\]\\]` can be edited", inline)


def test_two_edits_at_once_lose_nothing(make, tmp_path: Path) -> None:
    make(TEXT, files=FILES)
    first, second = Editor(tmp_path), Editor(tmp_path)
    first.set_decision(first.load("x").hunks[0], "first")
    second.set_decision(second.load("x").hunks[0], "second")
    first.commit()
    with pytest.raises(StateError, match="changed meanwhile"):
        second.commit()
    assert load_patch(tmp_path / "patchset/x").hunks[0].decision == "first"
