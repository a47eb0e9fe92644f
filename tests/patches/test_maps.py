# ruff: noqa: E501 (data is easier to read on one line)
"""Maps, moves and resolutions: written, read back, and refused when wrong."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebasekit.errors import PatchsetError
from rebasekit.model.finding import Finding
from rebasekit.model.hunk import Form, Pin, Place
from rebasekit.model.placement import Outcome, Placement, Spot
from rebasekit.model.tag import Tag
from rebasekit.model.verdict import Verdict
from rebasekit.patches import (
    Location,
    Move,
    Resolution,
    Transaction,
    add_move,
    dump_map,
    dump_resolution,
    load_map,
    load_moves,
    load_resolution,
    load_resolutions,
    map_path,
    resolution_path,
)
from rebasekit.patches.mapped import mapped_tags
from rebasekit.patches.maps import map_of

TAG, BASE = Tag("v0.5.20"), Tag("v0.5.19")
FORM = Form(
    "pkg/a.py", "A.f", Place.BEFORE, at="return $X", lines="y = 1\n", body="y.py", tags=">=v1", pin=Pin("v1", "a")
)
FINDINGS = (
    Finding("unbound", "pkg/b.py", 12, "`is_npu` is not defined", "rebasekit show x/one"),
    Finding("api-gone", "pkg/b.py", 3, 'it\'s "gone"\nfor good', "", "x", "one"),
)
VERDICT = Verdict(
    TAG,
    BASE,
    (
        Placement("x", "one", Outcome.RELOCATED, FORM, "pkg/a.py", "A.f", "moved", Spot("pkg/b.py", "B.f", 7), (7, 8), 1,
                  method="move+merge", remembered="ab12", decision="due", findings=FINDINGS),
        Placement("x", "two", Outcome.MISSING, None, "pkg/c.py", ""),
    ),
    findings=(Finding("bypassed", "", 0, "the core", "n"), Finding("half", "", 0, "m", "n", "x", "two")),
    series_digest="cafe",
    timings={"place": 1.5},
)  # fmt: skip
TEXT = """\
# Written by rebasekit: where each hunk stands on this tag. A rebase to the tag writes it anew.
schema = 1
tag    = "v0.5.20"
base   = "v0.5.19"
series = "cafe"
tool   = "rebasekit 0.1.0"

[[hunk]]
patch      = "x"
id         = "one"
placement  = "relocated"
file       = "pkg/b.py"
scope      = "B.f"
line       = 7
lines      = 2
method     = "move+merge"
reason     = "moved"
remembered = "ab12"
churn      = "3 of 40 lines"
decision   = "due"

[[hunk.finding]]
kind    = "api-gone"
file    = "pkg/b.py"
line    = 3
message = '''
it's "gone"
for good'''
next    = ""

[[hunk.finding]]
kind    = "unbound"
file    = "pkg/b.py"
line    = 12
message = "`is_npu` is not defined"
next    = "rebasekit show x/one"

[[hunk]]
patch     = "x"
id        = "two"
placement = "missing"
file      = "pkg/c.py"
scope     = ""
line      = 0
lines     = 0

[[finding]]
kind    = "bypassed"
file    = ""
line    = 0
message = "the core"
next    = "n"

[[finding]]
kind    = "half"
file    = ""
line    = 0
message = "m"
next    = "n"
patch   = "x"
hunk    = "two"
"""


def store(root: Path, path: str, text: str) -> None:
    with Transaction(root) as change:
        change.write(path, text)
        change.commit()


def test_a_map_is_written_and_read(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("rebasekit.__version__", "0.1.0")
    churn = {"x/one": "3 of 40 lines"}
    assert dump_map(VERDICT, churn) == TEXT
    shuffled = replace(VERDICT, findings=VERDICT.findings[::-1], timings={"place": 9.0})
    assert dump_map(shuffled, churn) == TEXT
    assert load_map(tmp_path, TAG) is None
    store(tmp_path, map_path(TAG), TEXT)
    assert load_map(tmp_path, TAG) == map_of(VERDICT, churn)


anything = st.text(st.characters(codec="utf-8"), max_size=30)
some_findings = st.lists(
    st.builds(Finding, st.just("unbound"), anything, st.integers(0, 99), anything, anything), max_size=3
).map(tuple)


@given(anything, anything, anything, some_findings, some_findings)
@settings(max_examples=60, deadline=None)
def test_any_map_reads_back(tmp_path_factory, reason: str, scope: str, method: str, own, others) -> None:
    root = tmp_path_factory.mktemp("root")
    placement = replace(VERDICT.placements[0], reason=reason, spot=Spot("f", scope, 1), method=method, findings=own)
    verdict = replace(VERDICT, placements=(placement,), findings=others)
    (root / "upstream-map").mkdir()
    (root / map_path(TAG)).write_bytes(dump_map(verdict).encode())
    assert load_map(root, TAG) == map_of(verdict)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("schema = 1", "schema = 2", r"v0\.5\.20\.toml: schema: must be between 1 and 1"),
        ('"v0.5.20"', '"v0.5.21"', r"toml: tag: `v0\.5\.21` is not the file's name"),
        ('"relocated"', '"lost"', r"hunk 1: placement: `lost` is none of"),
        ("line       = 7", "line = -7", r"hunk 1: line: must be between"),
        ('id         = "one"', "", r"hunk 1: id: is missing"),
        ('kind    = "api-gone"', "", r"hunk 1: finding 1: kind: is missing"),
        ("[[finding]]", "[[findings]]", r"findings: is not a known key; did you mean `finding`"),
    ],
)
def test_a_wrong_map(tmp_path: Path, old: str, new: str, message: str) -> None:
    store(tmp_path, map_path(TAG), TEXT.replace(old, new))
    with pytest.raises(PatchsetError, match=message):
        load_map(tmp_path, TAG)


def test_which_tags_have_a_map(tmp_path: Path) -> None:
    assert mapped_tags(tmp_path) == []
    (tmp_path / "upstream-map").mkdir()
    for name in ("v0.5.20.toml", "v0.5.9.toml", "moves.toml", "vnothing.toml", "v1.txt"):
        (tmp_path / "upstream-map" / name).write_text("")
    assert mapped_tags(tmp_path) == [Tag("v0.5.9"), Tag("v0.5.20")]


# ---- moves ----

MOVE = Move(Location("a/x.py", "A"), Location("b/y.py", "B"), ">=v1,<v2", "split in v1")
MOVES = "upstream-map/moves.toml"


def test_moves(tmp_path: Path) -> None:
    assert load_moves(tmp_path) == ()
    text = add_move("", MOVE)
    assert text == (
        '[[move]]\nfrom = { file = "a/x.py", scope = "A" }\nto   = { file = "b/y.py", scope = "B" }\n'
        'tags = ">=v1,<v2"\nwhy  = "split in v1"\n'
    )
    text = "# confirmed by hand\n\n" + text + "# the end\n"
    back = Move(MOVE.target, MOVE.source, ">=v2", "undone")
    whole = Move(Location("c.py"), Location("d.py"), None, "renamed")
    longer = add_move(add_move(text, back), whole)
    assert longer.startswith(text)
    store(tmp_path, MOVES, longer)
    assert load_moves(tmp_path) == (MOVE, back, whole)


@pytest.mark.parametrize(
    ("move", "message"),
    [
        (replace(MOVE, target=Location("c.py")), "move 2: from: is moved by move 1 too"),
        (Move(MOVE.target, MOVE.source, None, "w"), "move 2: to: is moved back by move 1"),
        (Move(MOVE.source, MOVE.source, ">v3", "w"), "move 2: to: is where it comes from"),
        (Move(Location("../a"), MOVE.target, ">v3", "w"), r"move 2: from: file: `\.\./a` has"),
        (Move(Location("a"), MOVE.target, "v3", "w"), "move 2: tags: `v3` is not a range"),
        (Move(Location("a"), MOVE.target, None, ""), "move 2: why: is empty"),
    ],
)
def test_moves_that_cannot_be(move: Move, message: str) -> None:
    with pytest.raises(PatchsetError, match=message):
        add_move(add_move("", MOVE), move)


# ---- resolutions ----

KEY = "0123456789abcdef"


def test_resolutions(tmp_path: Path) -> None:
    assert load_resolution(tmp_path, KEY) is None and load_resolutions(tmp_path) == {}
    text = dump_resolution(Resolution(KEY, "x/one", TAG, "looked at it", FORM))
    assert text == (
        'hunk = "x/one"\ntag  = "v0.5.20"\nwhy  = "looked at it"\n\n[form]\nfile  = "pkg/a.py"\nscope = "A.f"\n'
        "place = \"before\"\nat    = \"return $X\"\nlines = '''\ny = 1\n'''\n"
    )
    store(tmp_path, resolution_path(KEY), text)
    wanted = Resolution(KEY, "x/one", TAG, "looked at it", replace(FORM, body=None, tags=None, pin=None))
    assert load_resolution(tmp_path, KEY) == wanted and load_resolutions(tmp_path) == {KEY: wanted}


@pytest.mark.parametrize("place", list(Place))
def test_a_resolution_of_every_place(tmp_path: Path, place: Place) -> None:
    form = Form("a", "", place, lines="" if place is Place.DELETE else "x\r\n", keep_newlines=True)
    if place in (Place.BEFORE, Place.AFTER, Place.REPLACE, Place.DELETE, Place.ELEMENT, Place.ARGUMENT):
        form = replace(form, at="x", count=3)
    wanted = Resolution(KEY, "x/one", TAG, "w", form)
    store(tmp_path, resolution_path(KEY), dump_resolution(wanted))
    assert load_resolution(tmp_path, KEY) == wanted


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"x/one"', '"one"', "hunk: `one` is not `patch/hunk`"),
        ('tag  = "v0.5.20"', "", "tag: is missing"),
        ("[form]", "[shape]", "form: is missing"),
        ('why  = "looked at it"', "", "why: is missing"),
        ('at    = "return $X"', "", "form: at: is missing"),
        ("lines = '''\ny = 1\n'''", 'body = "../../patchset/x/a.py"', "form: body: has no place in a resolution"),
        ('at    = "return $X"', 'at = "x"\ntags = ">v1"', "form: tags: has no place in a resolution"),
    ],
)
def test_a_wrong_resolution(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = dump_resolution(Resolution(KEY, "x/one", TAG, "looked at it", FORM))
    store(tmp_path, resolution_path(KEY), text.replace(old, new))
    with pytest.raises(PatchsetError, match=message):
        load_resolution(tmp_path, KEY)


@pytest.mark.parametrize("key", ["../x", "", "ABC", "a" * 200, "\x1b" * 20])
def test_keys_that_are_no_digest(key: str) -> None:
    with pytest.raises(PatchsetError, match="is not a conflict's key"):
        resolution_path(key)


def test_a_map_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "upstream-map").mkdir()
    os.mkfifo(tmp_path / map_path(TAG))
    assert load_map(tmp_path, TAG) is None
