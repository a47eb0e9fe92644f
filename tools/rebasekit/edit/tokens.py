"""Source as tokens: layout inside a statement, blank lines and comments do not count, block structure does.

The tokens are those of Python 3.11's `tokenize`, an f-string being one, whatever Python runs this; one regular
expression over the whole text finds them in a fraction of its time.
"""

from __future__ import annotations

import functools
import re
from sys import intern

from rebasekit.edit.layout import dedent, plain_ends

_NAME = r"[^\W\d]\w*+(?![\"'])"
_TRIPLE = r'"""[^\\"]*(?:(?:\\.|"(?!""))[^\\"]*)*"""' + "|" + r"'''[^\\']*(?:(?:\\.|'(?!''))[^\\']*)*'''"
_SINGLE = r'(?!""")"[^\\"\n]*(?:\\.[^\\"\n]*)*"' + "|" + r"(?!''')'[^\\'\n]*(?:\\.[^\\'\n]*)*'"
_DIGITS = r"[0-9](?:_?[0-9])*"
_NUMBER = (
    r"0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO](?:_?[0-7])+"
    rf"|(?:{_DIGITS}\.(?:{_DIGITS})?|\.{_DIGITS}|{_DIGITS})(?:[eE][-+]?{_DIGITS})?[jJ]?"
)
_OPERATOR = r"\*\*=?|//=?|>>=?|<<=?|\.\.\.|->|:=|[-+*/%@&|^=<>!]=|[-+*/%@&|^=<>~,:;()\[\]{}]|\.(?![0-9])"
_MARKS = frozenset(["<newline>", "<indent>", "<dedent>"])
_BLANK = r"[ \t\f]*(?:#[^\n]*)?"
_TOKEN = re.compile(
    r"(?:[ \t\f]|\\\n)*(?:"
    rf"({_NAME}|{_OPERATOR}|(?i:br|rb|fr|rf|[bruf])?(?:{_TRIPLE}|{_SINGLE})|{_NUMBER}|\w+)"
    # a line end with the blank and comment lines behind it, and how far the next line is indented
    rf"|(?:#[^\n]*)?\n(?:{_BLANK}\n)*(?:[ \t\f]*#[^\n]*\Z)?([ \t\f]*)"
    r"|#[^\n]*\Z|\Z)",
    re.DOTALL,
)
_DEPTH = dict.fromkeys("([{", 1) | dict.fromkeys(")]}", -1)


class _Broken(Exception):
    """The text does not read as tokens."""


@functools.lru_cache(maxsize=32)  # the hunks of one scope ask for the same texts
def tokens(text: str) -> list[str] | None:
    """The tokens of a piece of source that begins at a statement; None when it does not tokenize."""
    try:
        return _tokens("\n" + dedent(plain_ends(text)))
    except _Broken:
        return None


def _tokens(text: str) -> list[str]:
    """Tokens of a text that begins with a line end, which none of them tells."""
    result: list[str] = []
    margins, depth, at = [0], 0, 0
    for found in _TOKEN.finditer(text):
        if found.start() != at:
            break
        at = found.end()
        word, margin = found.groups()
        if word is not None:
            result.append(intern(word))  # a text says the same words again and again
            depth += _DEPTH.get(word, 0)
        elif margin is not None and depth <= 0:
            if result and result[-1] not in _MARKS:
                result.append("<newline>")
            if at < len(text):
                result += _moved(margins, _columns(margin))
    if at < len(text) or depth > 0:
        raise _Broken
    if result and result[-1] not in _MARKS:
        result.append("<newline>")
    return result + ["<dedent>"] * (len(margins) - 1)


def _moved(margins: list[int], column: int) -> list[str]:
    """The marks of a line that begins at a column; raise _Broken when it goes back to one that none began at."""
    if column > margins[-1]:
        margins.append(column)
        return ["<indent>"]
    found = []
    while column < margins[-1]:
        margins.pop()
        found.append("<dedent>")
    if column != margins[-1]:
        raise _Broken
    return found


def _columns(blank: str) -> int:
    """The column that blanks lead to: tabs go to multiples of eight, a form feed begins again."""
    if not blank.strip(" "):
        return len(blank)
    column = 0
    for character in blank:
        column = 0 if character == "\f" else (column // 8 + 1) * 8 if character == "\t" else column + 1
    return column


def same(a: str, b: str) -> bool:
    """Whether two pieces of source are the same but for layout and comments."""
    left = tokens(a)
    return left is not None and left == tokens(b)


def as_lines(words: list[str]) -> list[str]:
    """One token to a line, so that a line merge merges tokens; line ends inside strings are written out."""
    return [word.replace("\\", "\\\\").replace("\n", "\\n") + "\n" for word in words]
