"""Moving our lines between column 0, where body files keep them, and the block they belong to."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings

from rebasekit.edit.source import LINE, split_lines

_BLANK = re.compile(r"[ \t\f]*(?:\r\n|\n|\r)?")
_CLAUSE = re.compile(r"\s*(elif|else|except|finally|case)\b")
_LONG_STRING = re.compile(r"\"\"\"|'''|\\$", re.MULTILINE)  # without these no string spans lines
_STARTS = {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.NL, tokenize.COMMENT, tokenize.ENCODING}
_FSTRING_START = getattr(tokenize, "FSTRING_START", -1)  # 3.12 and later split f-strings into tokens
_FSTRING_END = getattr(tokenize, "FSTRING_END", -1)


def plain_ends(text: str) -> str:
    """The text with `\\n` for every line end, and as many lines as before."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def clause_word(lines: str) -> str:
    """`elif`, `else`, `except`, `finally` or `case` when our lines are clauses of a statement, else nothing."""
    for line in split_lines(lines):
        if line.strip() and not line.lstrip().startswith("#"):
            match = _CLAUSE.match(line)
            if not match or (match[1] == "case" and not _cases(lines)):
                return ""
            return match[1]
    return ""


def is_clause(lines: str) -> bool:
    """Whether our lines are clauses of a statement (`elif …:`) and not statements of their own."""
    return bool(clause_word(lines))


def _cases(lines: str) -> bool:
    """Whether lines that begin with `case`, which is a name too, are the clauses of a `match`."""
    inside = "".join(f" {line}" for line in split_lines(dedent(lines)))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(f"match 0:\n{inside}")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def inside_strings(text: str) -> set[int]:
    """Numbers of the lines that begin inside a string and are data.

    A string that is a statement of its own is a docstring, whose indentation follows the code's.
    """
    inside: set[int] = set()
    if not _LONG_STRING.search(text):
        return inside
    before, opened, depth = tokenize.NEWLINE, [0], 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.STRING and (depth or before not in _STARTS):
                inside.update(range(token.start[0] + 1, token.end[0] + 1))
            elif token.type == _FSTRING_START:
                opened.append(token.start[0])
            elif token.type == _FSTRING_END:
                inside.update(range(opened.pop() + 1, token.end[0] + 1))
            elif token.type == tokenize.OP:
                depth += (token.string in "([{") - (token.string in ")]}")
            before = token.type
    except (tokenize.TokenError, IndentationError, SyntaxError):
        pass  # fragments end early for the tokenizer; what came before was read
    return inside


def fixed_lines(text: str) -> set[int]:
    """Numbers of the lines whose leading blanks must not change."""
    return inside_strings(plain_ends(text))


def indent_of(line: str) -> str:
    """The leading blanks of a line."""
    return line[: len(line) - len(line.lstrip(" \t\f"))].lstrip("\f")


def block_margin(text: str) -> str:
    """Indentation of the first line of code, or of the first comment where there is no code."""
    margin = ""
    for found in LINE.finditer(text):
        line = found[0]
        if _BLANK.fullmatch(line):
            continue
        if not line.lstrip().startswith("#"):
            return indent_of(line)
        margin = margin or indent_of(line)
    return margin


def dedent(text: str) -> str:
    """Take away the indentation of a piece of source, except inside strings and on lines that lie left of it."""
    margin = block_margin(text)
    if not margin:
        return text
    shallow = [line[len(margin) :] if line.startswith(margin) else line for line in split_lines(text)]
    fixed = fixed_lines("".join(shallow))
    if not fixed:
        return "".join(shallow)
    pairs = zip(split_lines(text), shallow, strict=True)
    return "".join(line if number in fixed else cut for number, (line, cut) in enumerate(pairs, 1))


def to_column_0(text: str) -> str:
    """The form in which a body file keeps lines of a block: dedented outside strings, `\\n` line ends."""
    text = plain_ends(text)
    lines = zip(split_lines(text), split_lines(dedent(text)), strict=True)
    return "".join(line if _BLANK.fullmatch(line) else cut for line, cut in lines)


def to_block(text: str, indentation: str, newline: str = "\n") -> str:
    """Our lines at a block's indentation, with the file's line ends; the inverse of `to_column_0`."""
    fixed = fixed_lines(text)
    result = []
    for number, line in enumerate(split_lines(text), 1):
        blank = _BLANK.fullmatch(line)
        result.append(line if blank or number in fixed else indentation + line)
    joined = "".join(result)
    if joined and not joined.endswith("\n"):
        joined += "\n"
    return joined if newline == "\n" else joined.replace("\r\n", "\n").replace("\n", newline)
