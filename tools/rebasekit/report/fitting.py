"""Parts of a text that must not be longer than a forge allows: whole blocks only, and a word about the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_REST = 60  # bytes for the word about what is left out


@dataclass(frozen=True)
class Section:
    """`blocks` are what may be left out, from the end; `share` of the limit is this section's, with what is unused.

    `head` comes before the blocks (a table's head), `fold` is the summary line of a section that opens on a click.
    """

    title: str
    blocks: Sequence[str]
    head: str = ""
    share: float = 0.2
    between: str = "\n"
    fold: str = ""


def fitted(parts: Sequence[Section | str], limit: int) -> tuple[str, bool]:
    """The text, at most `limit` bytes of UTF-8, and whether anything was left out. Plain strings are never cut."""
    # a section that does not fit still says how much it holds
    fixed = sum(_size(part) + 2 if isinstance(part, str) else _size(part.title) + _REST for part in parts)
    free, allowed, used, whole = limit - fixed, 0.0, 0, True
    written: list[str] = []
    for part in parts:
        if isinstance(part, str):
            written.append(part)
            continue
        allowed += part.share * free
        text, left = _section(part, int(min(allowed, free) - used))
        whole = whole and left == 0
        used += _size(text) + 2 if text else 0
        written += [text] if text else []
    return "\n\n".join(written) + "\n", not whole


def _section(section: Section, room: int) -> tuple[str, int]:
    """A section in at most `room` bytes, and how many of its blocks are left out; no text for no blocks."""
    if not section.blocks:
        return "", 0
    start = f"#### {section.title}\n\n"
    if section.fold:
        start += f"<details><summary>{section.fold}</summary>\n\n"
    start += section.head
    end = "\n\n</details>" if section.fold else ""
    room -= _size(start) + _size(end) + _REST
    taken: list[str] = []
    for block in section.blocks:
        room -= _size(block) + _size(section.between)
        if room < 0:
            break
        taken.append(block)
    left = len(section.blocks) - len(taken)
    rest = f"{end}\n\n… and {left} more in the whole report" if left else end
    if not taken:
        return f"#### {section.title}\n\n{left} in the whole report", left
    return f"{start}{section.between.join(taken)}{rest}", left


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
