"""From changed lines to forms, which make the same bytes."""

from __future__ import annotations

import time
from random import Random

import edit_grammar as grammar
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebasekit.edit import derive, regions, script
from rebasekit.edit.scopes import module_scope
from rebasekit.edit.source import Source
from rebasekit.model.hunk import Form, Place


def derived(old: str, new: str) -> list[Form]:
    """The forms of a change; they make the new text, and so do the other two ways to say it."""
    source = Source(old)
    changes = script.between(source.lines, Source(new).lines)
    forms = derive.forms("a.py", source, changes)
    assert grammar.applied(forms, source) == new
    if changes:
        assert grammar.applied([derive.whole("a.py", source, changes)], source) == new
        assert grammar.applied([derive.single("a.py", source, changes)], source) == new
    return forms


@given(st.integers(0, 10**9), st.integers(1, 5), st.integers(1, 5))
@settings(max_examples=500, deadline=None)
def test_any_change_of_any_module(seed: int, size: int, count: int) -> None:
    old = grammar.module(seed, size)
    derived(old, grammar.changed(old, Random(seed), count))


def test_a_change_does_not_slide_into_another() -> None:
    """Found by the test above: a doubled line said as `before` went to where other lines had been put."""
    derived("a = 1; b = 2\n", "import ours\na = 1; b = 2\na = 1; b = 2\n")
    derived("x = 1\na = 1\n", "x = 1\n\t\na = 1\na = 1\n")


CALL = "x = f(\n    a,\n    k=1,\n)\n"
BRANCH = "if a:\n    b\nelse:\n    c\n"
FUNCTION = "def f(a, *, b):\n    c\n    d\n"


@pytest.mark.parametrize(
    ("old", "new", "place", "at", "lines", "to"),
    [
        ("a = 1\nb = 2\n", "a = 1\nours()\nb = 2\n", "before", "b = ...", "ours()\n", ""),
        ("a = 1\n", "a = 1\nours()\n", "after", "a = ...", "ours()\n", ""),
        ("def f():\n    b(1)\n    c()\n", "def f():\n    b(1)\n    c(2)\n", "replace", "c(...)", "c(2)\n", ""),
        ("a()\nb()\nc()\n", "a()\nc()\n", "delete", "b(...)", "", ""),
        ("import a\n\nx = 1\n", "import a\nimport ours\n\nx = 1\n", "import", "", "import ours\n", ""),
        (BRANCH, BRANCH.replace("else", "elif o:\n    d\nelse"), "after", "if a:\n    ...", "elif o:\n    d\n", ""),
        ("class A(B):\n    x = 1\n    y = 2\n", "class A(B, O):\n    x = 1\n    y = 2\n", "base", "", "O", ""),
        (FUNCTION, FUNCTION.replace("*,", '*, o=(1, "x"),'), "parameter", "", 'o=(1, "x")', "*"),
        (FUNCTION, FUNCTION.replace("b)", "b, o=1)"), "parameter", "", "o=1", ""),
        ("x = f(a, k=1)\n", 'x = f(a, k=1, o="2")\n', "replace", "x = ...", None, ""),
        (CALL, CALL.replace("\n)", "\n    o=[\n        1,\n    ],\n)"), "argument", "x = f(...)", "o=[\n    1,\n]", ""),
        (CALL, CALL.replace("    k", "    o=1,\n    k"), "argument", "x = f(...)", "o=1", "a"),
        (
            "x = [\n    'a',\n    'b',\n]\n",
            "x = [\n    'a',\n    \"o\",\n    'b',\n]\n",
            "element",
            "x = [...]",
            '"o"',
            "'a'",
        ),
        ("x = {\n    'a': 1\n}\n", "x = {\n    'a': 1,\n    'o': 2,\n}\n", "element", "x = {...}", "'o': 2", ""),
    ],
)
def test_said_by_structure(old: str, new: str, place: str, at: str, lines: str | None, to: str) -> None:
    (form,) = derived(old, new)
    assert (form.place.value, form.at, form.to) == (place, at, to)
    assert lines is None or form.lines == lines


@pytest.mark.parametrize(
    ("old", "new", "scope"),
    [
        ("def f():\n    a(1)\n    a(1)\n", "def f():\n    a(1)\n    a(2)\n", "f"),
        ("class A:\n  def f(self):\n    # 1\n    a\n", "class A:\n  def f(self):\n    # 2\n    a\n", "A.f"),
        ("a()\n", "# ours\n\x0ca()\r\nb()", ""),
        ("a()\r\nb()\r\n", "a()\r\n# x\nb()\r\n", ""),
        ("", "x = 1", ""),
        ("x = 1", "x = 1\n", ""),
    ],
)  # fmt: skip
def test_said_as_edits(old: str, new: str, scope: str) -> None:
    forms = derived(old, new)
    assert {(f.place, f.scope) for f in forms} <= {(Place.EDIT, scope), (Place.REPLACE, scope)}


def test_edits_of_crlf_files_are_kept_with_plain_line_ends() -> None:
    (form,) = derived("def f():\r\n    # a\r\n    b\r\n", "def f():\r\n    # c\r\n    b\r\n")
    assert form.lines == "@@ 2,1 @@\n+    # c\n"
    assert not form.keep_newlines


def test_nothing_changed() -> None:
    assert derived("x = 1\n", "x = 1\n") == []


def test_twins_that_nothing_tells_apart_are_edited_from_outside() -> None:
    old = "def f():\n    return 1\nx = 1\ndef f():\n    return 2\n"
    (form,) = derived(old, old.replace("return 2", "return 3"))
    assert (form.place, form.scope) == (Place.EDIT, "")


@given(st.integers(0, 10**9), st.integers(1, 5))
@settings(max_examples=300, deadline=None)
def test_reading_a_region_again_is_as_good_as_reading_the_file(seed: int, size: int) -> None:
    """A change that leaves no Python is never said by structure."""
    random = Random(seed)
    source = Source(grammar.module(seed, size))
    at = random.randint(1, len(source.lines))
    gone = random.randint(0, min(3, len(source.lines) - at + 1))
    new = random.choice(((), ("else:\n",), ("    x\n",), ("x\n", "  y\n"), ("def g():\n",), ("  )\n",), ("'''\n",)))
    change = script.Change(at, gone, new)
    region = regions.around(source, change)
    assert region.first <= at
    assert at + gone - 1 <= region.last
    if regions.reread(source, region, change) is not None:
        assert grammar.parses("".join(script.apply([change], source.lines)))


def test_a_block_without_its_header_is_no_python() -> None:
    """Found by the test above."""
    source = Source("class A:\n    def f():\n        x\n        y\n    z\n")
    change = script.Change(2, 1, ())
    assert regions.reread(source, regions.around(source, change), change) is None


def test_a_large_file_is_quick() -> None:
    body = "".join(f"    def f{n}(self, a):\n        x = g(a, {n})\n        return x + {n}\n\n" for n in range(1500))
    old = f"class A:\n{body}"
    lines = old.splitlines(keepends=True)
    for n in range(20):
        lines[200 * n + 2] = lines[200 * n + 2].replace("return", "yield")
    source = Source(old)
    _ = module_scope(source).children
    start = time.process_time()
    changes = tuple(script.Change(200 * n + 3, 1, (lines[200 * n + 2],)) for n in range(20))
    assert len(derive.forms("a.py", source, changes)) == 20
    assert time.process_time() - start < 1
