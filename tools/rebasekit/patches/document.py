"""Changes to one TOML text by splicing: what is not named stays as it was, byte for byte."""

from __future__ import annotations

import tomllib
from typing import Any

from rebasekit.patches.render import key as render_key
from rebasekit.patches.render import render
from rebasekit.patches.scan import Section, scan


class Document:
    """A valid TOML text. Sections are addressed by their position in `sections`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.sections: list[Section] = scan(text)

    @property
    def data(self) -> dict[str, Any]:
        return tomllib.loads(self.text)

    def _splice(self, start: int, end: int, new: str) -> None:
        self.text = self.text[:start] + new + self.text[end:]
        self.sections = scan(self.text)

    def set(self, section: int, key: str, value: object, order: tuple[str, ...]) -> None:
        """Give a key its value: in place when it is there, else where `order` wants it."""
        entries = [entry for entry in self.sections[section].entries if entry.key[0] == key]
        if len(entries) == 1 and entries[0].key == (key,):
            self._splice(entries[0].value_start, entries[0].value_end, render(value))
            return
        self.unset(section, key)  # written as a table or with dots
        self._insert(section, key, render(value), order)

    def _insert(self, section: int, key: str, value: str, order: tuple[str, ...]) -> None:
        rank = {name: number for number, name in enumerate(order)}
        mine = rank.get(key, len(rank))
        before = [entry for entry in self.sections[section].entries if rank.get(entry.key[0], -1) <= mine]
        position = before[-1].end if before else self.sections[section].body
        name = render_key(key)
        width = self._width(section, len(name))
        line = f"{name:<{width}} = {value}\n"
        if position and self.text[position - 1] != "\n":
            line = "\n" + line
        self._splice(position, position, line)

    def _width(self, section: int, natural: int) -> int:
        """Where the section's equals signs stand below each other, or `natural` when they do not."""
        heads = {self.text[entry.start : entry.equals] for entry in self.sections[section].entries}
        columns = {len(head) for head in heads}
        aligned = len(columns) == 1 and all(head.endswith(" ") for head in heads)
        return columns.pop() - 1 if aligned else natural

    def unset(self, section: int, key: str) -> None:
        """Remove a key however it is written: as a value, with dots, or as tables of its own."""
        path = (*self.sections[section].path, key)
        for index in reversed(range(section + 1, self.group_end(section))):
            if index < len(self.sections) and self.sections[index].path == path:
                self.remove(index)
        for entry in reversed(self.sections[section].entries):
            if entry.key[0] == key:
                self._splice(entry.start, entry.end, "")

    def group_end(self, section: int) -> int:
        """Position after the sections that belong to this one: its sub-tables, up to a table that is none."""
        path = self.sections[section].path
        index = section + 1
        while (
            index < len(self.sections) and path == self.sections[index].path[: len(path)] != self.sections[index].path
        ):
            index += 1
        return index

    def find(self, path: tuple[str, ...], first: int = 0, last: int | None = None) -> list[int]:
        """Positions of the `[[path]]` headers from section `first` up to `last`."""
        return [
            index
            for index, section in enumerate(self.sections)
            if section.array
            and section.path == path
            and first <= index < (len(self.sections) if last is None else last)
        ]

    def stop(self, section: int) -> int:
        """Offset after the last key of a section and the comment directly below it; a later comment is nobody's."""
        mine = self.sections[section]
        position = mine.entries[-1].end if mine.entries else mine.body
        while position < mine.end and self.text[position:].lstrip(" \t").startswith("#"):
            position = self.text.find("\n", position) + 1 or len(self.text)
        return position

    def span(self, section: int) -> tuple[int, int]:
        """Offsets of a section with its sub-tables, from the comment directly above to its last key."""
        return self.sections[section].start, self.stop(self.group_end(section) - 1)

    def insert_after(self, position: int, new: str) -> None:
        """Put the text of new sections at `position`, the end of another, with one blank line around it."""
        before, after = self.text[:position], self.text[position:]
        gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
        self._splice(position, position, gap + new.strip("\n") + ("\n" if not after or after[0] == "\n" else "\n\n"))

    def remove(self, section: int) -> None:
        """Remove a section with its sub-tables and one run of blank lines."""
        start, stop = self.span(section)
        blank_before = start == 0 or self.text[:start].endswith("\n\n")
        while blank_before and self.text.startswith("\n", stop):
            stop += 1
        self._splice(start, stop, "")
        if start == len(self.text):
            self.text = self.text.rstrip("\n") + "\n" * bool(self.text.strip())
            self.sections = scan(self.text)

    def rearrange(self, sections: list[int], order: list[int]) -> None:
        """Put sections (ascending) into each other's places: the n-th place gets section `order[n]`."""
        if not self.text.endswith("\n"):
            self._splice(len(self.text), len(self.text), "\n")
        spans = [self.span(section) for section in sections]
        pieces = {section: self.text[start:stop] for section, (start, stop) in zip(sections, spans, strict=True)}
        text, position = "", 0
        for (start, stop), section in zip(spans, order, strict=True):
            text += self.text[position:start] + pieces[section]
            position = stop
        self.text = text + self.text[position:]
        self.sections = scan(self.text)
