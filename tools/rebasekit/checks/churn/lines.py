"""Lines of a diff, and the scopes that hold them."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from rebasekit.edit.scopes import module_scope, walk
from rebasekit.edit.source import Source, Unreadable

_HUNK = re.compile(r"@@ -([0-9]+)(?:,([0-9]+))? \+([0-9]+)(?:,([0-9]+))? @@")


def changed_lines(diff: str) -> tuple[list[int], list[int]]:
    """Line numbers (1-based) that a unified diff of one file removes from the old text and adds to the new one.

    Lines are counted down from each hunk's header, so that text which looks like a header is not taken for one.
    """
    removed, added = [], []
    old = new = old_left = new_left = 0
    for line in diff.split("\n"):
        if old_left <= 0 and new_left <= 0:
            match = _HUNK.match(line)
            if match:
                old, new = int(match[1]), int(match[3])
                old_left, new_left = (int(match[i]) if match[i] is not None else 1 for i in (2, 4))
            continue
        mark = line[:1]
        if mark == "-":
            removed.append(old)
        elif mark == "+":
            added.append(new)
        if mark != "\\":  # "\ No newline at end of file"
            old, old_left = old + (mark != "+"), old_left - (mark != "+")
            new, new_left = new + (mark != "-"), new_left - (mark != "-")
    return removed, added


@dataclass(frozen=True)
class Scopes:
    """Scopes of one text: from each line in `starts` on, the lines belong to the scope beside it."""

    starts: list[int] = field(default_factory=lambda: [1])
    owners: list[str] = field(default_factory=lambda: [""])
    names: list[str] = field(default_factory=lambda: [""])

    def at(self, line: int) -> str:
        """The innermost scope that holds a line."""
        return self.owners[bisect_right(self.starts, line) - 1]


def scopes_of(data: bytes | None, path: str) -> Scopes:
    """The scopes of a file; one for all of it when it is not there, no Python, or cannot be parsed."""
    if data is None or not path.endswith((".py", ".pyi")):
        return Scopes()
    try:
        source = Source.of(data)
        found = list(walk(module_scope(source)))
    except Unreadable:
        return Scopes()
    # git ends lines at `\n` only, Python at a lone `\r` too.
    if "\r" in source.text.replace("\r\n", ""):
        return Scopes()
    owner = [""] * (len(source.lines) + 2)
    for scope in found:  # outer scopes come first, inner ones overwrite them
        owner[scope.first : scope.last + 1] = [scope.label] * (scope.last + 1 - scope.first)
    changes = [line for line in range(1, len(owner)) if line == 1 or owner[line] != owner[line - 1]]
    return Scopes(changes, [owner[line] for line in changes], list(dict.fromkeys(scope.label for scope in found)))
