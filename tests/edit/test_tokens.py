"""Source as tokens."""

from __future__ import annotations

import ast
import inspect
import io
import re
import sys
import tokenize
import warnings
from types import ModuleType

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rebasekit.edit.tokens import as_lines, same, tokens


@pytest.mark.parametrize(
    ("a", "b", "alike"),
    [
        ("x = f(1, 2)\n", "x = f(\n    1, 2  # why\n)\n", True),
        ("x = 1\n", "x = 1\n\n# why\n", True),
        ("if x:\n    y\n", "if x:\n  y\n", True),
        ("    def f():\n        y\n", "def f():\n    y\n", True),
        ("x = 1\r\ny\r\n", "x = 1\ny\n", True),
        ("x = 1\ry\r", "x = 1\ny\n", True),
        ("if x:\n    y\nz\n", "if x:\n    y\n    z\n", False),
        ("x = 'a'\n", 'x = "a"\n', False),
        ("x = '''a\n'''\n", "x = '''a\n '''\n", False),
        ("f(1,)\n", "f(1)\n", False),
        ("x = (\n", "x = (\n", False),
        ("    x = '''\na'''\n    y\n", "x = '''\na'''\ny\n", True),
        ("x = 1\n\\\n\n", "x = 1\n", True),
    ],
)
def test_same(a: str, b: str, alike: bool) -> None:
    assert same(a, b) is alike
    assert same(b, a) is alike


def test_lines_of_tokens() -> None:
    assert tokens("if x:\n    y\n") == ["if", "x", ":", "<newline>", "<indent>", "y", "<newline>", "<dedent>"]
    assert tokens("if x:\n        y\n    z\n") is None
    assert as_lines(["'''a\n\\n'''", "b"]) == ["'''a\\n\\\\n'''\n", "b\n"]


_MARKS = {tokenize.NEWLINE: "<newline>", tokenize.INDENT: "<indent>", tokenize.DEDENT: "<dedent>"}
_SKIPPED = {tokenize.NL, tokenize.COMMENT, tokenize.ENDMARKER}


def by_python(text: str) -> list[str] | None:
    """The same by the standard library."""
    try:
        read = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return None
    return [_MARKS.get(token.type, token.string) for token in read if token.type not in _SKIPPED]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="later Pythons split f-strings")
@pytest.mark.parametrize("module", [ast, inspect, io, tokenize, pytest, st], ids=lambda module: module.__name__)
def test_as_python_reads_it(module: ModuleType) -> None:
    text = inspect.getsource(module)
    assert tokens(text) == by_python(text)


_PIECES = ["x", "if x:", "\n", "\n    ", "\n\t", "  ", "(", ")", "[", "]", "'a'", '"""b\n"""', "rb'c'", "# d",
           "1.5e-3", "0x_f ", ".5", "1.", "...", "->", ":=", "**=", "\\\n", "\f", "é"]  # fmt: skip


# A line that goes on with nothing: `tokenize` ends such lines otherwise than Python does, and nothing hangs on it.
_NOTHING = re.compile(r"\\\n[ \t\f]*(?:#.*)?$", re.MULTILINE)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="later Pythons refuse more of what is no Python")
@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(_PIECES), max_size=12).map("".join))
def test_pieces_as_python_reads_them(text: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of literals that stand against a word
            ast.parse(text)
    except SyntaxError:
        return  # only what is Python is ever asked about
    assume(not _NOTHING.search(text))
    assert tokens("pass\n" + text) == by_python("pass\n" + text)


@pytest.mark.parametrize(
    "text", ["x = 'a\n", 'x = """a\n', 'x = """a"\n', "x = $\n", "x = )(\n(", "if x:\n        y\n    z\n"]
)
def test_what_is_no_python(text: str) -> None:
    assert tokens(text) is None


def test_one_string_is_one_token() -> None:
    assert tokens("x = f'{a!r:>{b}} c'\n") == ["x", "=", "f'{a!r:>{b}} c'", "<newline>"]
