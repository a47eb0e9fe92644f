"""Source as tokens: layout inside a statement, blank lines and comments do not count, block structure does."""

from __future__ import annotations

import functools
import io
import tokenize

from rebasekit.edit.layout import dedent, plain_ends

_SKIPPED = {tokenize.NL, tokenize.COMMENT, tokenize.ENDMARKER, tokenize.ENCODING}
_MARKS = {tokenize.NEWLINE: "<newline>", tokenize.INDENT: "<indent>", tokenize.DEDENT: "<dedent>"}


@functools.lru_cache(maxsize=256)  # the hunks of one scope ask for the same texts
def tokens(text: str) -> list[str] | None:
    """The tokens of a piece of source that begins at a statement; None when it does not tokenize."""
    lines = io.StringIO(dedent(plain_ends(text))).readline
    try:
        read = list(tokenize.generate_tokens(lines))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return None
    return [_MARKS.get(token.type, token.string) for token in read if token.type not in _SKIPPED]


def same(a: str, b: str) -> bool:
    """Whether two pieces of source are the same but for layout and comments."""
    left = tokens(a)
    return left is not None and left == tokens(b)


def as_lines(words: list[str]) -> list[str]:
    """One token to a line, so that a line merge merges tokens; line ends inside strings are written out."""
    return [word.replace("\\", "\\\\").replace("\n", "\\n") + "\n" for word in words]
