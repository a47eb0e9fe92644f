"""Listing trees: path to mode and blob id, kept in memory by commit."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import NamedTuple

from rebasekit.errors import StateError
from rebasekit.upstream import command

_KEPT = 16  # listings of the latest trees; one of a large release takes about 2 MB


class Entry(NamedTuple):
    """A file of a tree: git's mode and the blob's id."""

    mode: str
    id: str


class Listings:
    """The files of the trees of one repository."""

    def __init__(self, git_dir: Path, hint: str | None = None) -> None:
        self._git_dir = git_dir
        self._hint = hint
        self._entries: OrderedDict[str, dict[str, Entry]] = OrderedDict()
        self._ids: dict[str, dict[str, str]] = {}

    def entries(self, commit: str) -> dict[str, Entry]:
        """Every file below `commit` (a full id); the caller must not change the dictionary."""
        if commit not in self._entries:
            try:
                self._entries[commit] = read_entries(self._git_dir, commit)
            except command.GitFailed as error:
                raise StateError(f"`{self._git_dir}` is damaged: {error.message}", hint=self._hint) from None
            if len(self._entries) > _KEPT:
                self._ids.pop(self._entries.popitem(last=False)[0], None)
        self._entries.move_to_end(commit)
        return self._entries[commit]

    def ids(self, commit: str) -> dict[str, str]:
        """Path to blob id; the same dictionary each time, not to be changed."""
        entries = self.entries(commit)
        if commit not in self._ids:
            self._ids[commit] = {path: entry.id for path, entry in entries.items()}
        return self._ids[commit]

    def clear(self) -> None:
        self._entries.clear()
        self._ids.clear()


def read_entries(git_dir: Path, tree: str) -> dict[str, Entry]:
    """The files of a tree or commit; a submodule's mode is 160000, a link's 120000.

    Raises GitFailed when the tree is not there or damaged.
    """
    listing = command.run(["ls-tree", "-r", "-z", "--full-tree", tree], git_dir=git_dir)
    entries: dict[str, Entry] = {}
    for line in listing.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        head, _, path = line.partition("\t")
        mode, _, rest = head.partition(" ")
        entries[path] = Entry(mode, rest.rpartition(" ")[2])
    return entries


def read_sizes(git_dir: Path, commit: str) -> dict[str, int]:
    """Path to size in bytes of every file below `commit`."""
    listing = command.run(["ls-tree", "-r", "-z", "-l", "--full-tree", commit], git_dir=git_dir)
    pairs = (line.partition("\t") for line in listing.decode("utf-8", "surrogateescape").split("\0")[:-1])
    return {path: int(head.rsplit(" ", 1)[1]) for head, _, path in pairs}
