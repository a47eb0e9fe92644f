"""The tree around the files that are checked: what star imports, base classes and importers are looked up in."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from rebasekit.checks.unbound.inside import writes_globals
from rebasekit.checks.unbound.reading import read
from rebasekit.checks.unbound.scopes import Reading
from rebasekit.facts.parse import Unread, parse
from rebasekit.upstream.repository import Repository, Revision

# A file with none of these cannot write its own globals; walking every tree for it would cost a tenth.
_KEPT = 8  # files of which the tree and the reading are in memory
_DYNAMIC = (b"globals()", b"vars()", b"locals()", b"exec(", b"__name__]")


class Tree(Protocol):
    """A pristine tree."""

    def paths(self) -> Collection[str]: ...

    def read(self, path: str) -> bytes | None: ...

    def holding(self, text: str) -> Iterable[str]:
        """The Python files that hold a text."""


@dataclass(frozen=True)
class RepositoryTree:
    """A revision of a repository as a tree."""

    repository: Repository
    revision: Revision

    def paths(self) -> Collection[str]:
        return self.repository.files(self.revision)

    def read(self, path: str) -> bytes | None:
        return self.repository.read(self.revision, path)

    def holding(self, text: str) -> Iterable[str]:
        return {path for path, _ in self.repository.grep(self.revision, text)}


@dataclass
class World:
    """A tree with some files replaced, and everything read in it so far."""

    tree: Tree
    changes: Mapping[str, bytes | None] = field(default_factory=dict)
    _parsed: dict[str, ast.Module | Unread | None] = field(default_factory=dict)
    _readings: dict[str, Reading] = field(default_factory=dict)
    _holding: dict[str, list[str]] = field(default_factory=dict)

    def data(self, path: str) -> bytes | None:
        return self.changes[path] if path in self.changes else self.tree.read(path)

    def exists(self, path: str) -> bool:
        return self.changes[path] is not None if path in self.changes else path in self.tree.paths()

    def parsed(self, path: str) -> ast.Module | Unread | None:
        """The syntax tree, why there is none, or None for a file that is not there."""
        if path not in self._parsed:
            _make_room(self._parsed)
            data = self.data(path)
            result = parse(data) if data is not None else None
            self._parsed[path] = result if result is None or isinstance(result, Unread) else result.tree
        return self._parsed[path]

    def module(self, path: str) -> ast.Module | None:
        """The syntax tree of a file that can be read."""
        found = self.parsed(path)
        return found if isinstance(found, ast.Module) else None

    def reading(self, path: str) -> Reading | None:
        """What a file binds and reads; None when it cannot be read."""
        if path not in self._readings:
            tree = self.module(path)
            if tree is None:
                return None
            _make_room(self._readings)
            found = self._readings[path] = read(tree)
            data = self.data(path) or b""
            found.dynamic = any(text in data for text in _DYNAMIC) and writes_globals(tree)
        return self._readings[path]

    def holding(self, text: str) -> list[str]:
        """Files that hold a text, the changed ones as they are now."""
        if text not in self._holding:
            found = {path for path in self.tree.holding(text) if path not in self.changes}
            plain = text.encode()
            found |= {path for path, data in self.changes.items() if data is not None and plain in data}
            self._holding[text] = sorted(path for path in found if path.endswith(".py"))
        return self._holding[text]

    def path_of(self, module: str) -> str | None:
        """The file of a dotted module; None when the tree has none."""
        stem = module.replace(".", "/")
        return next((path for path in (f"{stem}.py", f"{stem}/__init__.py") if self.exists(path)), None)


def _make_room(kept: dict[str, Any]) -> None:
    """Drop what was read first: checks go file by file, and a hundred trees of large files take half a gigabyte."""
    while len(kept) >= _KEPT:
        del kept[next(iter(kept))]


def absolute(path: str, module: str, level: int) -> str:
    """The dotted name that an import in the file `path` means."""
    if not level:
        return module
    folders = path.split("/")[:-1]
    folders = folders[: len(folders) - (level - 1)]
    return ".".join([*folders, *([module] if module else [])])


def module_name(path: str) -> str:
    """The dotted name of a file."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
