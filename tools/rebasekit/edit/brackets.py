"""Comma-separated lists in brackets as they stand in the text: where the items and the commas are."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from rebasekit.edit.blocks import Unplaceable
from rebasekit.edit.layout import indent_of, inside_strings, plain_ends
from rebasekit.edit.owned import Splice
from rebasekit.edit.source import Source, split_lines

_LONE_CR = re.compile(r"\r(?!\n)")
_NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}

Token = tuple[str, int, int]  # text, first offset, offset after it


@dataclass
class Item:
    """One item with the parentheses and stars around it; `comma` is the offset of the comma behind it."""

    start: int
    end: int
    comma: int | None = None


@dataclass(frozen=True)
class Bracketed:
    """`open` and `close` are the offsets between which items may stand: behind and at the brackets."""

    source: Source
    open: int
    close: int
    items: list[Item]

    def insert(self, ours: str, index: int) -> list[Splice]:
        """Put `ours` at position `index`, in the layout that the list has."""
        text = self.source.text
        if not self.items:
            inside = text[self.open : self.close]
            if inside.strip():
                raise Unplaceable("the brackets hold a comment and nothing else")
            return [Splice(self.open, self.open if "\n" in inside or "\r" in inside else self.close, ours)]
        before = self.items[max(index - 1, 0)]
        line = self.source.line_at(before.start)
        indent = text[self.source.starts[line - 1] : before.start]
        ours = _continued(ours, indent_of(self.source.lines[line - 1]), self.source.newline)
        if index == 0:
            return [
                Splice(before.start, before.start, f"{ours}, " if indent.strip() else f"{ours},{self._new}{indent}")
            ]
        shared = index < len(self.items) and self.source.line_at(before.end - 1) == self.source.line_at(
            self.items[index].start
        )
        if indent.strip() or shared or self.source.line_at(self.close) == self.source.line_at(self.open):
            return self._in_line(before, ours, index)
        return self._on_own_line(before, ours, index, indent)

    @property
    def _new(self) -> str:
        return self.source.newline

    def _in_line(self, before: Item, ours: str, index: int) -> list[Splice]:
        comma = before.comma
        if comma is None:
            return [Splice(before.end, before.end, f", {ours}")]
        if index < len(self.items) or not self.source.text[comma + 1 : self.close].strip(" "):
            return [Splice(comma, comma, f", {ours}")]
        return [Splice(comma + 1, comma + 1, f" {ours},")]

    def _on_own_line(self, before: Item, ours: str, index: int, indent: str) -> list[Splice]:
        anchor = before.end if before.comma is None else before.comma
        line_end = self.source.starts[self.source.line_at(anchor)]
        if before.comma is None:
            if line_end > self.close:
                return [Splice(before.end, before.end, f",{self._new}{indent}{ours}")]
            return [Splice(before.end, before.end, ","), Splice(line_end, line_end, f"{indent}{ours},{self._new}")]
        if line_end > self.close or (index < len(self.items) and line_end > self.items[index].start):
            # the list ends here, or the comma stands before the next item
            return [Splice(anchor + 1, anchor + 1, f"{self._new}{indent}{ours},")]
        return [Splice(line_end, line_end, f"{indent}{ours},{self._new}")]


def _continued(ours: str, indent: str, newline: str) -> str:
    """Several lines of ours: all but the first are indented like the line that they continue, but for strings."""
    if "\n" not in ours:
        return ours
    fixed = inside_strings(f"({plain_ends(ours)}")
    lines = enumerate(split_lines(plain_ends(ours)), 1)
    joined = "".join(line if n == 1 or n in fixed or not line.strip() else indent + line for n, line in lines)
    return joined.replace("\n", newline)


def code_tokens(source: Source, start: int, end: int) -> Iterator[Token]:
    """The tokens between two offsets with the offsets at which they stand; no comments and no line ends."""
    text = _LONE_CR.sub("\n", source.text[start:end])
    rows = [start]
    for line in split_lines(text):
        rows.append(rows[-1] + len(line))
    try:
        for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
            if token.type not in _NO_CODE and token.string:
                first, last = (rows[row - 1] + column for row, column in (token.start, token.end))
                yield token.string, first, last
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return


def pairs(tokens: list[Token]) -> dict[int, int]:
    """Index of each opening bracket → index of the one that closes it."""
    found: dict[int, int] = {}
    stack: list[int] = []
    for index, (word, _, _) in enumerate(tokens):
        if word in ("(", "[", "{"):
            stack.append(index)
        elif word in (")", "]", "}") and stack:
            found[stack.pop()] = index
    return found


def listed(source: Source, tokens: list[Token], span: tuple[int, int], count: int) -> Bracketed:
    """The list between two offsets; raise Unplaceable when it does not read as `count` items."""
    items: list[Item] = []
    fresh, depth, lambdas = True, 0, 0
    for word, start, end in tokens:
        if not span[0] <= start < span[1]:
            continue
        if word == "," and depth == 0 and lambdas == 0:
            if fresh:
                break
            items[-1].comma, fresh = start, True
            continue
        depth += (word in ("(", "[", "{")) - (word in (")", "]", "}"))
        # the commas between a lambda's parameters are not the list's
        lambdas += depth == 0 and word == "lambda"
        lambdas -= depth == 0 and word == ":" and lambdas > 0
        if fresh:
            items.append(Item(start, end))
            fresh = False
        items[-1].end = end
    if len(items) != count:
        raise Unplaceable("the list in the brackets cannot be read")
    return Bracketed(source, *span, items)
