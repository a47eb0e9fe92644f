"""Source as tokens."""

from __future__ import annotations

import pytest

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
    ],
)
def test_same(a: str, b: str, alike: bool) -> None:
    assert same(a, b) is alike
    assert same(b, a) is alike


def test_lines_of_tokens() -> None:
    assert tokens("if x:\n    y\n") == ["if", "x", ":", "<newline>", "<indent>", "y", "<newline>", "<dedent>"]
    assert tokens("if x:\n        y\n    z\n") is None
    assert as_lines(["'''a\n\\n'''", "b"]) == ["'''a\\n\\\\n'''\n", "b\n"]
