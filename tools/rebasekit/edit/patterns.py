"""Statement patterns: Python with wildcards.

`$NAME` stands for one expression, name, attribute, argument or statement; the same `$NAME` twice must stand for the
same thing, `$_` for anything each time. `...` stands for any run of statements, arguments, elements or parameters,
and for any one expression elsewhere. What a pattern leaves out of a header is not asked for: decorators, a return
annotation, the bases of a class written without parentheses, an `else` after a body.
"""

from __future__ import annotations

import ast
import functools
import io
import re
import textwrap
import tokenize
from dataclasses import dataclass

WILD = "_rk_wild_"
REST = "_rk_rest_"
_STRING = r"'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\"|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\""
_DOLLAR = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
# strings and comments are passed over: a dollar in them is text, but for what an f-string computes
_WORD = re.compile(rf"(?P<f>\b[rR]?[fF][rR]?)?(?P<s>{_STRING})|\#[^\n]*|\$(?P<name>[A-Za-z_][A-Za-z0-9_]*)", re.DOTALL)
_FIELD = re.compile(r"\{\{|\{[^{}]*\}")


class PatternError(ValueError):
    """A pattern cannot be read; `str()` says why."""


@dataclass(frozen=True)
class Pattern:
    """A parsed pattern: `node` is one statement; with `elif_` it matches an `elif` only."""

    text: str
    node: ast.stmt
    elif_: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """Identifiers that any match must contain: a cheap test before parsing."""
        found: list[str] = []
        for node in ast.walk(self.node):
            for value in (
                getattr(node, "id", None),
                getattr(node, "attr", None),
                getattr(node, "arg", None),
                getattr(node, "name", None),
            ):
                if isinstance(value, str) and not value.startswith("_rk_") and value.isidentifier():
                    found.append(value)  # noqa: PERF401
        return tuple(dict.fromkeys(found))


@functools.lru_cache(maxsize=4096)
def parse_pattern(text: str) -> Pattern:
    """Parse one statement pattern; raise PatternError."""
    plain = textwrap.dedent(text).strip("\n")
    if not plain.strip():
        raise PatternError("an empty pattern matches nothing")
    if "_rk_" in plain:
        raise PatternError("names that begin with `_rk_` are used by patterns themselves")
    source = _parameters(_WORD.sub(_wild, plain))
    clause = re.match(r"elif\b", source) is not None
    if clause:
        source = source[2:]
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        raise PatternError(f"not Python with `$NAME` and `...`: {reason}") from None
    if len(body) != 1:
        raise PatternError(f"a pattern is one statement, this is {len(body)}")
    return Pattern(text, body[0], clause)


def _wild(match: re.Match[str]) -> str:
    if match["name"]:
        return f"{WILD}{match['name']}"
    if match["f"]:
        return _FIELD.sub(lambda field: _DOLLAR.sub(lambda m: f"{WILD}{m[1]}", field[0]), match[0])
    return match[0]


def _parameters(source: str) -> str:
    """Write `...` in a parameter list, which Python does not allow there, as a starred name."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return source
    lines = source.splitlines(keepends=True)
    for row, column in reversed(_ellipses(tokens)):
        line = lines[row - 1]
        lines[row - 1] = line[:column] + f"*{REST}" + line[column + 3 :]
    return "".join(lines)


def _ellipses(tokens: list[tokenize.TokenInfo]) -> list[tuple[int, int]]:
    """Positions of `...` directly in the parameter list of a `def`."""
    found: list[tuple[int, int]] = []
    index = 0
    tokens = [t for t in tokens if t.type not in (tokenize.NL, tokenize.COMMENT)]
    while index < len(tokens):
        if tokens[index].string == "def" and index + 2 < len(tokens) and tokens[index + 2].string == "(":
            depth, index = 1, index + 3
            while index < len(tokens) and depth:
                word = tokens[index].string
                depth += (word in "([{" and word != "") - (word in ")]}" and word != "")
                if word == "..." and depth == 1 and tokens[index - 1].string in ("(", ","):
                    found.append(tokens[index].start)
                index += 1
        index += 1
    return found
