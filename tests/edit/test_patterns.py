"""Reading patterns."""

from __future__ import annotations

import ast

import pytest

from rebasekit.edit.patterns import PatternError, parse_pattern


@pytest.mark.parametrize(
    "text",
    [
        "x = $V", "if $X == 'a': ...", "elif $X: ...", "def f(...): ...", "def f(self, ..., x): ...", "f(..., k=$V)",
        "def f(\n    ...,\n    x,\n): ...", "for $A in $B: ...", "@deco\nclass $C: ...", "    x = [...]", "x = {...}",
        "async with $A as b: ...", "try: ...\nexcept A: ...", "return", "$X", "f(f'{$X} $Y')",
    ],
)  # fmt: skip
def test_patterns(text: str) -> None:
    assert isinstance(parse_pattern(text).node, ast.stmt)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n",
        "x = ",
        "a\nb",
        "if x:",
        "$",
        "x = $1",
        "_rk_wild_x = 1",
        "def f(a, *, ...): ...",
        "(" * 400,
        "else: ...",
        "x\0",
    ],
)
def test_not_patterns(text: str) -> None:
    with pytest.raises(PatternError):
        parse_pattern(text)


def test_dollars_in_strings_are_text() -> None:
    node = parse_pattern("x = ['$HOME', \"$A\", '''$B''', r'\\$C', $D, f'$E {$F} {{$G}}']  # $H\n").node
    words = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    assert words == {"x", "_rk_wild_D", "_rk_wild_F"}
    assert "'$HOME', '$A', '$B', '\\\\$C'" in ast.unparse(node)


def test_words() -> None:
    assert set(parse_pattern("self.pool = make_pool($X, size=1)").words) == {"self", "pool", "make_pool", "size"}
