"""Upstream's files as sources, read from the store once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from rebasekit.edit.source import Source, Unreadable
from rebasekit.model.tag import Tag
from rebasekit.steps.searched import Searched


class Files(Protocol):
    """What placing needs of a store."""

    def read(self, rev: str, path: str) -> bytes | None: ...

    def files(self, rev: str) -> dict[str, str]: ...

    def commit(self, rev: str) -> str: ...

    def read_many(self, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]: ...

    def grep(self, rev: str, text: str, *, fixed: bool = True, suffix: str = ".py") -> list[tuple[str, int]]: ...

    def renames(self, a: str, b: str) -> dict[str, str]: ...


@dataclass
class Trees:
    """Sources by tag and path. `source` raises Unreadable; a file that is not there is None.

    `searched` keeps what was found in files that changed.
    """

    files: Files
    searched: Searched = field(default_factory=Searched)
    _renames: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    _data: dict[tuple[str, str], bytes | None] = field(default_factory=dict)
    _found: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    _commits: dict[Tag, str] = field(default_factory=dict)

    @classmethod
    def of(cls, files: Files, cache: Path) -> Trees:
        """Trees that remember in the cache what was found in files that changed."""
        return cls(files, Searched(cache / "rivals"))

    def data(self, tag: Tag, path: str) -> bytes | None:
        key = (tag.name, path)
        if key not in self._data:
            self._data[key] = self.files.read(*key)
        return self._data[key]

    def source(self, tag: Tag, path: str) -> Source | None:
        data = self.data(tag, path)
        return None if data is None else Source.of(data)

    def text(self, tag: Tag, path: str) -> Source | None:
        """A file that need not be Python; raise Unreadable when it is not UTF-8."""
        data = self.data(tag, path)
        try:
            return None if data is None else Source(data.decode())
        except UnicodeDecodeError:
            raise Unreadable("it is not UTF-8 text") from None

    def exists(self, tag: Tag, path: str) -> bool:
        return path in self.files.files(tag.name)

    def commit(self, tag: Tag) -> str:
        """The id of a tag's commit, which says all that is in it."""
        if tag not in self._commits:
            self._commits[tag] = self.files.commit(tag.name)
        return self._commits[tag]

    def changed(self, pairs: Iterable[tuple[Tag, Tag]]) -> Iterator[tuple[list[tuple[Tag, str]], bytes]]:
        """The Python files of the first tag of each pair that the second has not, or has otherwise.

        Each content is read once, and not kept; it comes with the tags and paths that have it.
        """
        places: dict[str, dict[tuple[Tag, str], None]] = {}
        for tag, against in pairs:
            known = self.files.files(against.name)
            for path, blob in self.files.files(tag.name).items():
                if path.endswith(".py") and known.get(path) != blob:
                    places.setdefault(blob, {})[tag, path] = None
        for blob, data in self.files.read_many(places):
            yield list(places[blob]), data

    def renamed(self, old: Tag, new: Tag, path: str) -> str | None:
        """Where git sees the file go between two tags."""
        return self._moved(old, new).get(path)

    def origin(self, old: Tag, new: Tag, path: str) -> str | None:
        """Where git sees a file come from."""
        return next((before for before, after in self._moved(old, new).items() if after == path), None)

    def _moved(self, old: Tag, new: Tag) -> dict[str, str]:
        key = (old.name, new.name)
        if key not in self._renames:
            self._renames[key] = self.files.renames(*key)
        return self._renames[key]

    def defining(self, tag: Tag, name: str) -> list[str]:
        """Files with a definition of that name."""
        return self._grep(tag, rf"(class|def) +{re.escape(name)} *[(:\[]", fixed=False)

    def holding(self, tag: Tag, text: str) -> list[str]:
        """Files that hold a text."""
        return self._grep(tag, text, fixed=True)

    def _grep(self, tag: Tag, text: str, *, fixed: bool) -> list[str]:
        key = (tag.name, text)
        if key not in self._found:
            self._found[key] = sorted({path for path, _ in self.files.grep(tag.name, text, fixed=fixed)})
        return self._found[key]
