"""Bytes, lines and positions of a file."""

from __future__ import annotations

import ast
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebasekit.edit.scopes import children, module_scope
from rebasekit.edit.source import Source, Unreadable, decode, split_lines


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"x = 1",
        b"x = 1\r\ny = 2\r\n",
        b"x = 1\ry = 2\r",
        b"x = 1\r\ny = 2\nz = 3\r",
        b"\xef\xbb\xbfx = 1\n",
        b"def f():\n\treturn 1\n\x0cx = 1\n",
        "x = 'ü☃🙂'\n".encode(),
        b"# -*- coding: latin-1 -*-\nx = '\xfc'\n",
        b"#!/bin/python\n# vim: set fileencoding=cp1252 :\nx = '\x80'\n",
        "# coding: euc_jp\nx = '日本'\n".encode("euc_jp"),
        b"x = '" + b"a" * 4090 + "üü".encode() + b"'\n",
    ],
)
def test_bytes_survive(data: bytes) -> None:
    assert Source.of(data).encode() == data


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"x = (\n", "line 1"),
        (b"if x:\npass\n", "line 2"),
        (b"x = '\xff'\n", "not readable"),
        (b"x = '\0'\n", "null"),
        (b"# coding: nonsense\n", "nonsense"),
        (b"# coding: rot13\n", "rot13"),
        (b"\xef\xbb\xbf# coding: latin-1\n", "not readable"),
        (b"\xef\xbb\xbf\xef\xbb\xbfx = 1\n", "line 1"),
        (b"(" * 300 + b")" * 300, "too many nested"),
        (b"<<<<<<< ours\nx = 1\n=======\n", "line 1"),
    ],
)
def test_unreadable(data: bytes, word: str) -> None:
    with pytest.raises(Unreadable, match=word):
        Source.of(data)


def test_lines_of_ours_that_the_encoding_has_not() -> None:
    source = Source.of(b"# coding: latin-1\n")
    with pytest.raises(Unreadable, match="encoding"):
        source.with_text(source.text + "# ☃\n").encode()


def test_warnings_stay_silent(recwarn: pytest.WarningsRecorder) -> None:
    _ = Source("x = '\\d'\nassert (x, 1)\n").tree
    assert not recwarn.list


@given(st.text("a\n\r\f\v\x1c\x85\u2028", max_size=30))
def test_lines_are_pythons(text: str) -> None:
    lines = split_lines(text)
    assert "".join(lines) == text
    assert len(lines) == len(text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")) - (not text)
    starts = Source(text).starts
    assert [text[a:b] for a, b in pairwise(starts)] == lines


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_positions(newline: str, bom: bytes) -> None:
    text = newline.join(["größe = '☃'; y = f(ü, (b))", "\fif x:", "    'ü' + z", ""])
    source = Source.of(bom + text.encode())
    found = [source.text[source.start(n) : source.end(n)] for n in ast.walk(source.tree) if isinstance(n, ast.expr)]
    assert {"größe", "'☃'", "f(ü, (b))", "ü", "b", "'ü' + z", "z", "x"} <= set(found)
    assert [source.line_at(i) for i in (0, len(source.lines[0]) - 1, len(source.lines[0]), len(text))] == [1, 1, 2, 3]


def test_line_ends_of_a_file() -> None:
    ends = {"": "\n", "a\r\nb\r\nc\n": "\r\n", "a\nb\nc\r\n": "\n", "a\r\n": "\r\n"}
    assert {text: Source(text).newline for text in ends} == ends


@pytest.mark.parametrize(
    "head", ["@deco", "@  deco", "@(deco)", "@(\n    deco\n)", "@deco(\n    1\n)\n# why\n\n@b", "@a\n@ \\\n  b"]
)
def test_a_definition_begins_at_its_first_decorator(head: str) -> None:
    (scope,) = children(module_scope(Source(f"x = 1\n{head}\nasync def f():\n    pass\n")))
    assert (scope.first, scope.last) == (2, 4 + head.count("\n"))


def test_decode_tells_codec_and_mark() -> None:
    assert decode(b"\xef\xbb\xbfx") == ("x", "utf-8", b"\xef\xbb\xbf")
    assert decode(b"# coding: latin-1\n\xfc")[:2] == ("# coding: latin-1\nü", "iso-8859-1")
