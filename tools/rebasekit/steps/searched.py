"""What was searched for between two releases and where it was found: neither release ever changes, so it is kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rebasekit.steps.keeping import keep

_FORM = 1  # another number when the same question has another answer

Answers = dict[str, list[str]]


@dataclass
class Searched:
    """Paths by question, for pairs of commits; without a folder they are known as long as this object lives."""

    folder: Path | None = None
    _known: dict[tuple[str, str], Answers] = field(default_factory=dict)

    def of(self, pair: tuple[str, str]) -> Answers:
        """All that is known about a pair. A damaged file is as good as none."""
        if pair not in self._known:
            self._known[pair] = self._read(pair)
        return self._known[pair]

    def add(self, pair: tuple[str, str], found: Mapping[str, list[str]]) -> None:
        """Know more, also in later runs."""
        known = self._known[pair] = {**self._read(pair), **self.of(pair), **found}
        if self.folder is not None:
            keep(self._path(self.folder, pair), known)

    def _read(self, pair: tuple[str, str]) -> Answers:
        if self.folder is None:
            return {}
        with suppress(OSError, ValueError):
            data = json.loads(self._path(self.folder, pair).read_text(encoding="utf-8"))
            if isinstance(data, dict) and all(isinstance(paths, list) for paths in data.values()):
                return {key: [str(path) for path in paths] for key, paths in data.items()}
        return {}

    @staticmethod
    def _path(folder: Path, pair: tuple[str, str]) -> Path:
        return folder / f"{pair[0][:20]}-{pair[1][:20]}-{_FORM}.json"
