"""Where each table, key and value of a TOML text stands. The text must be valid TOML with `\\n` line ends."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field

_SPACE = re.compile(r"[ \t]*")
_LINE = re.compile(r"[^\n]*\n?")
_PART = re.compile(r"[A-Za-z0-9_-]+|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'")
# Each alternative begins with a character that no other one takes, so there is nothing to back-track into.
_TOKEN = re.compile(
    r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*"{3,5}'
    r"|'''(?:[^']|'{1,2}(?!'))*'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*|[\[{]|[\]}]|\n|[ \t]+|[^\s\"'#\[\]{}]+",
    re.DOTALL,
)


@dataclass(frozen=True)
class Entry:
    """`key = value`: its lines are `start:end`, the value `value_start:value_end`, the sign at `equals`."""

    key: tuple[str, ...]
    start: int
    end: int
    equals: int
    value_start: int
    value_end: int


@dataclass
class Section:
    """A table header with its keys. `start` takes in the comment directly above; the first section has no header."""

    path: tuple[str, ...]
    array: bool
    start: int
    body: int
    end: int = 0
    entries: list[Entry] = field(default_factory=list)


def scan(text: str) -> list[Section]:
    """Split TOML text into sections; the first one is what stands before any header."""
    sections = [Section((), False, 0, 0)]
    position, lead = 0, -1
    while position < len(text):
        begin = _end(_SPACE, text, position)
        char = text[begin : begin + 1]
        if char == "#":
            lead = position if lead < 0 else lead
            position = _end(_LINE, text, begin)
            continue
        if char == "[":
            array = text.startswith("[[", begin)
            path, _ = _path(text, begin + 1 + array)
            start = position if lead < 0 else lead
            sections[-1].end = start
            position = _end(_LINE, text, begin)
            sections.append(Section(path, array, start, position))
        elif char in ("\n", ""):
            position = _end(_LINE, text, begin)
        else:
            entry = _entry(text, position, begin)
            sections[-1].entries.append(entry)
            position = entry.end
        lead = -1
    sections[-1].end = len(text)
    return sections


def _entry(text: str, start: int, begin: int) -> Entry:
    path, equals = _path(text, begin)
    value_start = position = _end(_SPACE, text, equals + 1)
    value_end, depth = value_start, 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError("not TOML")
        piece = match.group()
        if piece == "\n" and depth == 0:
            break
        depth += (piece in "[{") - (piece in "]}") if len(piece) == 1 else 0
        position = match.end()
        if not piece.isspace() and not piece.startswith("#"):
            value_end = position
    return Entry(path, start, _end(_LINE, text, position), equals, value_start, value_end)


def _path(text: str, position: int) -> tuple[tuple[str, ...], int]:
    """A dotted key, and the position of what follows it."""
    parts = []
    while True:
        position = _end(_SPACE, text, position)
        match = _PART.match(text, position)
        if match is None:
            raise ValueError("not TOML")
        word = match.group()
        parts.append(next(iter(tomllib.loads(f"{word} = 0"))) if word[0] in "\"'" else word)
        position = _end(_SPACE, text, match.end())
        if text[position : position + 1] != ".":
            return tuple(parts), position
        position += 1


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    assert match is not None
    return match.end()
