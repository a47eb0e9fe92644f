"""Conflict markers: put into a file for a person, and looked for afterwards."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from rebasekit.edit import scopes
from rebasekit.edit.layout import to_block
from rebasekit.edit.source import Source, Unreadable
from rebasekit.model.placement import Conflict, Placement
from rebasekit.upstream.merge import merge3

_MARK = re.compile(rb"(<{7,}|\|{7,}|>{7,}) .*|={7,}")


def left(data: bytes, before: bytes) -> int:
    """The first line that is a conflict marker and was no line of the file before; 0 when there is none."""
    known = Counter(line.rstrip() for line in before.split(b"\n"))
    for number, line in enumerate(data.split(b"\n"), 1):
        if _MARK.fullmatch(line.rstrip(b"\r")):
            known[line.rstrip()] -= 1
            if known[line.rstrip()] < 0:
                return number
    return 0


def mark(folder: Path, placement: Placement) -> None:
    """Put both sides into the file; they lie in `.git/rebasekit/` too, where the scope is gone for reading only."""
    if placement.conflict is None:
        return
    sides = folder / ".git" / "rebasekit"
    sides.mkdir()
    conflict = placement.conflict
    for name, text in (("base", conflict.base), ("ours", conflict.ours), ("theirs", conflict.theirs)):
        if text is not None:
            (sides / name).write_bytes(text.encode())
    target = folder / placement.file
    if target.is_file() and (marked := _marked(target.read_bytes(), placement.scope, conflict)):
        target.write_bytes(marked)


def _marked(data: bytes, name: str, conflict: Conflict) -> bytes | None:
    """The file with the scope replaced by the merge; None when other hunks' lines are in its way."""
    if conflict.theirs is None or "<<<<<<<" not in conflict.merged:
        return None
    try:
        source = Source.of(data) if name else Source(data.decode())
        found = scopes.find(source, name) if name else []
    except (Unreadable, UnicodeDecodeError, ValueError):
        return None
    if name and len(found) != 1:
        return None
    first = source.starts[found[0].first - 1] if name else 0
    last = source.starts[found[0].last] if name else len(source.text)
    margin = re.match(r"[ \t]*", source.text[first:])
    indent = margin[0] if margin else ""
    pristine, merged = conflict.theirs, conflict.merged
    if indent or "\r\n" in source.text:
        pristine = to_block(pristine.replace("\r\n", "\n"), indent, source.newline)
        merged = to_block(merged.replace("\r\n", "\n"), indent, source.newline)
    # other hunks may have their lines in the scope: the markers go around them
    both = merge3(pristine, source.text[first:last], _at_margin(merged))
    if both.conflicts:
        return None
    return source.with_text(source.text[:first] + both.text + source.text[last:]).encode()


def _at_margin(text: str) -> str:
    """Markers stand at the margin, where editors and `git diff --check` look for them."""
    return re.sub(r"(?m)^[ \t]+(?=(<{7,}|\|{7,}|>{7,}) |={7,}\r?$)", "", text)
