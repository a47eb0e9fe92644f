"""Problems of one TOML file with the line that each is on."""

from __future__ import annotations

from rebasekit.patches.problems import Problems
from rebasekit.patches.scan import scan


class LineProblems(Problems):
    """Writes `file: table: key` as `file:12: table: key` once the file's text is known."""

    def __init__(self) -> None:
        super().__init__()
        self._shown = ""
        self._lines: dict[str, int] = {}

    def read(self, text: str, shown: str) -> None:
        """Take in the text of the file that messages call `shown`."""
        self._shown = shown
        counts: dict[tuple[str, ...], int] = {}
        for section in scan(text):
            path = section.path
            if section.array:
                counts[path] = counts.get(path, 0) + 1
            name = ": ".join(path) + (f" {counts[path]}" if section.array else "")
            if path:
                self._lines.setdefault(name, text.count("\n", 0, max(section.body - 1, 0)) + 1)
            for entry in section.entries:
                line = text.count("\n", 0, entry.equals) + 1
                for depth in range(1, len(entry.key) + 1):
                    parts = ([name] if path else []) + list(entry.key[:depth])
                    self._lines.setdefault(": ".join(parts), line)

    def add(self, where: str, message: str, *, hint: str | None = None) -> None:
        shown, key = self._shown, where
        if shown and where.startswith(shown):
            key = where[len(shown) :].lstrip(": ")
            while key and key not in self._lines:
                key = key.rpartition(": ")[0]
            if line := self._lines.get(key):
                where = f"{shown}:{line}{where[len(shown) :]}"
        super().add(where, message, hint=hint)
