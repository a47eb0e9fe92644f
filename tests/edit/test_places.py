"""Statement places, to the byte."""

from __future__ import annotations

import pytest
from edit_grammar import applied, placed

from rebasekit.edit.blocks import Unplaceable
from rebasekit.edit.source import Source
from rebasekit.model.hunk import Form, Place

BASE = """\
class A:
    \"\"\"Doc.\"\"\"

    # about x
    x = 1  # one

    @deco
    # why
    @  other(
        1)
    def f(self):
        if a:
            b()  # b
            # after b
        elif c:
            d()
        else:
            e()
        return (
            1
        )  # end
"""


def diff(old: str, new: str) -> tuple[str, str]:
    """What was taken out and what was put in, as whole lines; everything else is the same."""
    a, b = old.splitlines(keepends=True), new.splitlines(keepends=True)
    first = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    last = next(
        (i for i, (x, y) in enumerate(zip(a[first:][::-1], b[first:][::-1], strict=False)) if x != y),
        min(len(a), len(b)) - first,
    )
    return "".join(a[first : len(a) - last]), "".join(b[first : len(b) - last])


@pytest.mark.parametrize(
    ("place", "at", "scope", "before", "ours"),
    [
        ("before", "x = 1", "A", "    # about x\n", "    x = 1"),
        ("after", "x = 1", "A", "x = 1  # one\n", "\n"),
        ("before", "def f(...): ...", "A", "  # one\n\n", "    @deco"),
        ("after", "def f(...): ...", "A", ")  # end\n", ""),
        ("before", "if a: ...", "A.f", "def f(self):\n", "        if a"),
        ("after", "if a: ...", "A.f", "e()\n", "        return"),
        ("before", "b()", "A.f", "if a:\n", "            b()"),
        ("after", "b()", "A.f", "b()  # b\n", "            # after b"),
        ("after", "return ...", "A.f", ")  # end\n", ""),
        ("first", "", "A", 'Doc."""\n', "\n    # about"),
        ("first", "", "A.f", "def f(self):\n", "        if a"),
        ("last", "", "A.f", ")  # end\n", ""),
        ("last", "", "A", ")  # end\n", ""),
        ("last", "", "", ")  # end\n", ""),
        ("first", "if a: ...", "A.f", "if a:\n", "            b()"),
        ("last", "if a: ...", "A.f", "b()  # b\n", "            # after b"),
        ("last", "elif c: ...", "A.f", "d()\n", "        else"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_where_lines_go(place: str, at: str, scope: str, before: str, ours: str, newline: str) -> None:
    text = BASE.replace("\n", newline)
    new = placed(text, place, "ours(\n    1)\n", at, scope)
    gone, put = diff(text, new)
    assert gone == ""
    assert put.split() == ["ours(", "1)"]
    assert "\r" in put or newline == "\n"
    assert new.split(put)[0].endswith(before.replace("\n", newline))
    assert new.split(put)[1].startswith(ours.replace("\n", newline))


@pytest.mark.parametrize(
    ("clause", "at", "behind"),
    [
        ("elif ours:\n    1\n", "if a: ...", "# b\n"),
        ("elif ours:\n    1\n", "elif c: ...", "d()\n"),
    ],
)
def test_clauses_go_behind_a_body(clause: str, at: str, behind: str) -> None:
    new = placed(BASE, "after", clause, at, "A.f")
    assert new.split("        elif ours:\n            1\n")[0].endswith(behind)


def test_clauses_go_where_the_grammar_has_them() -> None:
    text = "try:\n    a\nexcept A:\n    b\nfinally:\n    c\n"
    assert placed(text, "after", "except B:\n    d\n", "try: ...\nexcept A: ...\nfinally: ...") == text.replace(
        "except A", "except B:\n    d\nexcept A"
    )
    assert placed(text, "after", "else:\n    d\n", "try: ...\nexcept A: ...\nfinally: ...") == text.replace(
        "finally", "else:\n    d\nfinally"
    )
    assert placed("for x in y:\n    a\n", "after", "else:\n    b\n", "for $A in $B: ...").endswith("else:\n    b\n")
    chain = "if a:\n    b\nelif c:\n    d\n"
    assert placed(chain, "after", "else:\n    e\n", "if a: ...") == chain + "else:\n    e\n"
    assert placed("try:\n    a\nexcept A:\n    b\n", "after", "finally:\n    c\n", "try: ...\nexcept A: ...").endswith(
        "b\nfinally:\n    c\n"
    )
    match = "match m:\n  case (\n    1):\n    a\n"
    assert placed(match, "after", "case 2:\n  b\n", "match m:\n  case 1: ...") == match + "  case 2:\n    b\n"


def test_replace_and_delete() -> None:
    assert diff(BASE, placed(BASE, "replace", "y = 2\nz = 3\n", "x = 1", "A")) == (
        "    x = 1  # one\n",
        "    y = 2\n    z = 3\n",
    )
    assert diff(BASE, placed(BASE, "delete", "", "return ...", "A.f"))[1] == ""
    assert diff(BASE, placed(BASE, "delete", "", "def f(...): ...", "A"))[0].startswith("    @deco")
    assert diff(BASE, placed(BASE, "replace", "elif ours:\n    1\n", "elif c: ...", "A.f")) == (
        "        elif c:\n            d()\n",
        "        elif ours:\n            1\n",
    )
    assert diff(BASE, placed(BASE, "delete", "", "elif c: ...", "A.f")) == ("        elif c:\n            d()\n", "")


def test_every_match_is_changed() -> None:
    assert placed("a()\nb()\na()\n", "before", "c()", "a()", count=2) == "c()\na()\nb()\nc()\na()\n"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("place", ["after", "last", "replace"])
def test_a_file_without_a_final_line_end_keeps_none(place: str, newline: str) -> None:
    text = f"if x:{newline}    a()"
    new = placed(text, place, "b()\n", "if x: ..." if place == "last" else "a()")
    assert new == (f"if x:{newline}    b()" if place == "replace" else f"{text}{newline}    b()")


def test_tabs_and_form_feeds() -> None:
    assert placed("if x:\n\ta()\n", "after", "if y:\n    b()\n", "a()") == "if x:\n\ta()\n\tif y:\n\t    b()\n"
    assert placed("a()\n\fb()\n", "before", "c()\n", "b()") == "a()\nc()\n\fb()\n"


def test_empty_files() -> None:
    assert placed("", "last", "x = 1\n") == "x = 1\n"
    assert placed("# only\n", "first", "x = 1\n") == "# only\nx = 1\n"


def test_non_ascii() -> None:
    assert placed("größe = 'ü☃'  # ü\n", "after", "ü = 1", "größe = ...") == "größe = 'ü☃'  # ü\nü = 1\n"


@pytest.mark.parametrize(
    ("text", "place", "at", "word"),
    [
        ("a(); b()\n", "before", "b()", "shares line 1"),
        ("a(); b()\n", "after", "a()", "shares line 1"),
        ("a(); b()\n", "replace", "a()", "shares line 1"),
        ("a();\n", "after", "a()", "shares line 1"),
        ("if x: a()\n", "before", "a()", "shares line 1"),
        ("if x: a()\n", "after", "a()", "shares line 1"),
        ("if x: a()\n", "delete", "a()", "shares line 1"),
        ("if x: a()\n", "last", "if x: ...", "shares line 1"),
        ("class A: x = 1\n", "first", "class A: ...", "shares line 1"),
        ("a() \\\n\nb()\n", "after", "a()", "backslash"),
        ("match m:\n  case 1:\n    a()\n", "first", "match m:\n  case 1: ...", "no body"),
        ("a()\n", "last", "a()", "no body"),
        ("if x:\n  a()\nelif y:\n  b()\n", "before", "elif y: ...", "a statement cannot"),
        ("if x:\n  a()\nelif y:\n  b()\n", "after", "elif y: ...", "a statement cannot"),
        ("if x:\n  a()\nelif y:\n  b()\n", "replace", "elif y: ...", "only clauses"),
        ("from __future__ import annotations\n", "before", "from __future__ import $A", "__future__"),
        ("'doc'\nfrom __future__ import annotations\n", "after", "'doc'", "__future__"),
    ],
)
def test_unplaceable(text: str, place: str, at: str, word: str) -> None:
    with pytest.raises(Unplaceable, match=word):
        placed(text, place, "" if place == "delete" else "ours()", at)


@pytest.mark.parametrize(
    ("place", "at", "word"),
    [("before", "a()", "a clause cannot"), ("after", "a()", "no clauses"), ("after", "def f(...): ...", "no clauses")],
)
def test_clauses_that_belong_to_nothing(place: str, at: str, word: str) -> None:
    with pytest.raises(Unplaceable, match=word):
        placed("a()\ndef f():\n    pass\n", place, "elif x:\n    1\n", at)


def test_an_anchor_is_needed() -> None:
    with pytest.raises(Unplaceable, match="needs an anchor"):
        placed("a()\n", "before", "b()")


def test_first_in_a_module_stands_behind_future_imports() -> None:
    text = "#!/bin/python\n'''doc'''\n\nfrom __future__ import annotations  # yes\nimport os\n"
    assert placed(text, "first", "x = 1\n") == text.replace("# yes\n", "# yes\nx = 1\n")
    assert placed(text, "first", "from __future__ import division\n").index("division") < text.index("annotations")


def test_kept_line_ends() -> None:
    form = Form("a.py", "", Place.AFTER, at="a()", lines="  b()\r\n", keep_newlines=True)
    assert applied([form], Source("a()\n")) == "a()\n  b()\r\n"
