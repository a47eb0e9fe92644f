"""Between column 0 and a block."""

from __future__ import annotations

from random import Random

import edit_grammar as grammar
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebasekit.edit.layout import block_margin, clause_word, dedent, is_clause, to_block, to_column_0
from rebasekit.edit.match import candidates
from rebasekit.edit.scopes import module_scope, walk
from rebasekit.edit.source import Source

BLOCK = '''    # ours
    def f(self):
        """Doc

        is ours."""
        x = """data
    stays
  where it is"""
        return f\'\'\'{x}
      {x}\'\'\', (
            """also
        data"""
        )

    y = 1
'''
PLAIN = '''# ours
def f(self):
    """Doc

    is ours."""
    x = """data
    stays
  where it is"""
    return f\'\'\'{x}
      {x}\'\'\', (
        """also
        data"""
    )

y = 1
'''


def test_strings_are_data_and_docstrings_are_not() -> None:
    assert to_column_0(BLOCK) == PLAIN
    assert to_block(PLAIN, "    ") == BLOCK
    assert to_block(PLAIN, "    ", "\r\n") == BLOCK.replace("\n", "\r\n")
    assert to_column_0(BLOCK.replace("\n", "\r\n")) == PLAIN


@pytest.mark.parametrize("word", ["elif x", "else", "except A", "finally", "case [x]"])
def test_clauses(word: str) -> None:
    block = f"  {word}:\n      x = '''\n data'''\n      y = 1\n"
    plain = f"{word}:\n    x = '''\n data'''\n    y = 1\n"
    assert is_clause(block)
    assert clause_word(plain) == word.split()[0]
    assert to_column_0(block) == plain
    assert to_block(plain, "  ") == block


def test_strings_behind_a_clause_are_found_also_where_its_header_spans_lines() -> None:
    plain = "elif (\n    x\n):\n    y = 1\nelse:\n    z = '''\ndata'''\n"
    assert to_block(plain, "  ").endswith("\ndata'''\n")
    assert to_column_0(to_block(plain, "  ")) == plain


@pytest.mark.parametrize(
    "lines",
    ["", "\n", "# else:\n", "case = 1\n", "case: int\n", "case(x)[1:\n]\n", "elsewhere()\n", "case\n", "x\nelse:\n"],
)
def test_no_clauses(lines: str) -> None:
    assert not is_clause(lines)


def test_case_headers() -> None:
    assert is_clause("# ours\n\ncase {'a': 1}:  # why\n    pass\n")
    assert is_clause("case (\n    1 | 2\n):\n    pass\ncase _:\n    pass\n")


def test_the_margin_is_the_codes() -> None:
    assert block_margin("        # deep\n\n    x = 1\n") == "    "
    assert block_margin("\n  # only\n") == "  "
    assert block_margin("\n") == ""
    assert to_column_0("        # deep\n    x = 1\n") == "    # deep\nx = 1\n"


def test_dedent_leaves_what_lies_left_of_the_margin() -> None:
    text = "    def f():\n        x = '''\nleft\n        data'''\n# left\n        return (1,\n  2)\n"
    assert dedent(text) == "def f():\n    x = '''\nleft\n        data'''\n# left\n    return (1,\n  2)\n"
    assert dedent("\tif x:\n\t    y\n") == "if x:\n    y\n"
    assert dedent("x\n") == "x\n"


def test_blank_lines_keep_their_blanks() -> None:
    block = "    x\n    \n \n\ty\n".replace("\ty", "    y")
    assert to_block(to_column_0(block), "    ") == block


def test_no_final_line_end() -> None:
    assert to_block("x", "  ") == "  x\n"
    assert to_block("", "  ") == ""


@given(st.integers(0, 10**9), st.sampled_from(["", "  ", "    ", "\t", "\t\t  "]))
@settings(max_examples=200, deadline=None)
def test_there_and_back(seed: int, indentation: str) -> None:
    plain = grammar.module(seed, Random(seed).randint(1, 4)).replace("\r\n", "\n")
    plain = plain if plain.endswith("\n") else plain + "\n"
    for newline in ("\n", "\r\n"):
        block = to_block(plain, indentation, newline)
        first = Source(plain).tree.body[0]
        if plain.splitlines()[first.lineno - 1][:1] != "@":
            assert to_column_0(block) == plain


@given(st.integers(0, 10**9))
@settings(max_examples=200, deadline=None)
def test_every_statement_comes_back(seed: int) -> None:
    """Unless a line of code or of a docstring stands left of its block, which column 0 cannot say."""
    source = Source(grammar.module(seed, 4))
    for scope in walk(module_scope(source)):
        for chosen in candidates(scope):
            text = source.slice(chosen.first, chosen.last)
            margin = block_margin(text)
            left = [li for li in text.splitlines() if li.strip() and not li.startswith(margin)]
            if not left and text.endswith("\n") and not chosen.elif_:
                assert to_block(to_column_0(text), margin, source.newline) == text
