"""Edit scripts: changed lines of a scope (or a file) against the pinned text, without that text.

    @@ 12,2 @@
    +our line

replaces 2 lines at line 12 (counted from the scope's first line) by the lines that begin with `+`; `@@ 12,0 @@`
inserts before line 12. A last line without a line end is followed by `\\ no line end`. What is replaced is read from
the store, and the pin's digest says whether it is still the text that the script was made for.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

_HEAD = re.compile(r"@@ ([1-9][0-9]{0,8}),([0-9]{1,9}) @@")
_NO_END = "\\ no line end"


class ScriptError(ValueError):
    """An edit script cannot be read or does not fit its text; `str()` says why."""


@dataclass(frozen=True)
class Change:
    """Replace `gone` lines from line `at` (1-based) by `lines`."""

    at: int
    gone: int
    lines: tuple[str, ...]

    def plain(self) -> Change:
        """The change with `\\n` for `\\r\\n`: what a script of a file with such line ends holds."""
        return replace(self, lines=tuple(line.replace("\r\n", "\n") for line in self.lines))


def parse(script: str) -> tuple[Change, ...]:
    """Read a script; raise ScriptError with the line number."""
    changes: list[Change] = []
    head: tuple[int, int] | None = None
    lines: list[str] = []
    for number, line in enumerate(script.split("\n"), 1):
        match = _HEAD.fullmatch(line)
        if match:
            if head:
                changes.append(Change(*head, tuple(lines)))
            head, lines = (int(match[1]), int(match[2])), []
        elif line.startswith("+") and head:
            lines.append(line[1:] + "\n")
        elif line == _NO_END and lines:
            lines[-1] = lines[-1].removesuffix("\n")
        elif line:
            raise ScriptError(f"line {number} is neither `@@ LINE,COUNT @@` nor a line of ours after `+`")
    if head:
        changes.append(Change(*head, tuple(lines)))
    if any(a.at + a.gone > b.at for a, b in itertools.pairwise(changes)):
        raise ScriptError("changes overlap or are out of order")
    return tuple(changes)


def render(changes: Sequence[Change]) -> str:
    """The text of a script; the inverse of `parse`."""
    result = []
    for change in changes:
        result.append(f"@@ {change.at},{change.gone} @@\n")
        result += ["+" + (line if line.endswith("\n") else f"{line}\n{_NO_END}\n") for line in change.lines]
    return "".join(result)


def apply(changes: Sequence[Change], lines: Sequence[str]) -> list[str]:
    """The lines with the changes made; raise ScriptError when they lie outside."""
    result: list[str] = []
    at = 0
    for change in changes:
        start = change.at - 1
        if start + change.gone > len(lines) or start > len(lines):
            raise ScriptError(f"line {change.at} lies outside a text of {len(lines)} lines")
        result += [*lines[at:start], *change.lines]
        at = start + change.gone
    return [*result, *lines[at:]]


def between(old: Sequence[str], new: Sequence[str]) -> tuple[Change, ...]:
    """The changes that turn one list of lines into another."""
    # what is the same at both ends is most of a file, and the matcher's time grows with the square of the rest
    head, short = 0, min(len(old), len(new))
    while head < short and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < short - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    left, right = old[head : len(old) - tail], new[head : len(new) - tail]
    return tuple(
        Change(head + i1 + 1, i2 - i1, tuple(right[j1:j2]))
        for kind, i1, i2, j1, j2 in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
        if kind != "equal"
    )
