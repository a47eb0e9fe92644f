"""Trees to read: a folder, a git listing, or either with some files replaced.

A tree says which paths it has and under which git blob id; facts are kept per blob id, so a file that did not
change between two tags is read once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Protocol


class SourceTree(Protocol):
    """The files of one tree, by path (`pkg/module.py`, always with `/`)."""

    @property
    def key(self) -> str:
        """Identity of the whole tree: equal keys mean equal files."""

    def listing(self) -> Mapping[str, str]:
        """Map each Python file's path to its git blob id."""

    def read(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield path and bytes for each of `paths`, in any order; an unknown path raises KeyError."""


def blob_id(data: bytes) -> str:
    """The id git gives to these bytes (SHA-1 object format)."""
    import hashlib  # a tree that is linked asks for no digest, and this takes two milliseconds

    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def listing_key(listing: Mapping[str, str]) -> str:
    """A digest of a listing, for trees that have no git tree id of their own."""
    import hashlib

    digest = hashlib.blake2b(digest_size=20)
    for path in sorted(listing):
        digest.update(f"{path}\0{listing[path]}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


class DirectoryTree:
    """The Python files below a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @cached_property
    def key(self) -> str:
        return listing_key(self.listing())

    @cached_property
    def _listing(self) -> dict[str, str]:
        return {path: blob_id((self.root / path).read_bytes()) for path in sorted(self._paths())}

    def listing(self) -> Mapping[str, str]:
        return self._listing

    def _paths(self) -> Iterator[str]:
        for folder, folders, files in os.walk(self.root):
            folders[:] = [name for name in folders if name != "__pycache__" and not name.startswith(".")]
            for name in files:
                full = Path(folder, name)
                # A link is not a file of the tree: git stores its target's name, not its text.
                if name.endswith(".py") and not full.is_symlink():
                    yield full.relative_to(self.root).as_posix()

    def read(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        for path in paths:
            if path not in self._listing:
                raise KeyError(path)
            yield path, (self.root / path).read_bytes()


ReadMany = Callable[[Iterable[str]], Iterator[tuple[str, bytes]]]


class ListingTree:
    """A git tree, given as its listing and a function that reads many blobs at once by id.

    `key` is the git tree id, and `listing` may be a function, so that a tree whose facts are already linked costs
    no listing at all.
    """

    def __init__(
        self, key: str, listing: Mapping[str, str] | Callable[[], Mapping[str, str]], read_blobs: ReadMany
    ) -> None:
        self.key = key
        self._source = listing
        self._read_blobs = read_blobs

    @cached_property
    def _listing(self) -> dict[str, str]:
        source = self._source() if callable(self._source) else self._source
        return {path: blob for path, blob in source.items() if path.endswith(".py")}

    def listing(self) -> Mapping[str, str]:
        return self._listing

    def read(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        wanted: dict[str, list[str]] = {}
        for path in paths:
            wanted.setdefault(self._listing[path], []).append(path)
        for blob, data in self._read_blobs(list(wanted)):
            for path in wanted[blob]:
                yield path, data


class OverlayTree:
    """A tree with some files replaced or added (bytes) or removed (None): the patched tree."""

    def __init__(self, base: SourceTree, changes: Mapping[str, bytes | None]) -> None:
        self._base = base
        self._changes = {path: data for path, data in changes.items() if path.endswith(".py")}

    @cached_property
    def key(self) -> str:
        changed = {path: "" if data is None else blob_id(data) for path, data in self._changes.items()}
        return listing_key({"\0base": self._base.key, **changed}) if changed else self._base.key

    @cached_property
    def _listing(self) -> dict[str, str]:
        merged = dict(self._base.listing())
        for path, data in self._changes.items():
            if data is None:
                merged.pop(path, None)
            else:
                merged[path] = blob_id(data)
        return merged

    def listing(self) -> Mapping[str, str]:
        return self._listing

    def read(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        below: list[str] = []
        for path in paths:
            data = self._changes.get(path)
            if data is not None:
                yield path, data
            elif path in self._changes:
                raise KeyError(path)
            else:
                below.append(path)
        if below:
            yield from self._base.read(below)
