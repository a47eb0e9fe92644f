"""Facts of the part of a tree that matters for one name, without an index: text is searched before files are parsed.

From the files that mention the name, the search goes backwards: who mentions the functions in which it stands, who
mentions those, until the entry points are met or the time is up.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import Any

from rebasekit.facts.collect import paused
from rebasekit.facts.extract import extract
from rebasekit.facts.file import FileFacts
from rebasekit.facts.gather import pack_words
from rebasekit.facts.link import index_names, settle
from rebasekit.facts.packed import Packed
from rebasekit.facts.parse import Unread
from rebasekit.facts.parts import Names, Unkept, bucket_part, unpack_part
from rebasekit.facts.program import Program
from rebasekit.facts.query import Facts
from rebasekit.facts.settings import Settings
from rebasekit.facts.source import SourceTree

_BUDGET_S = 1.9
_WORDS = 8  # followed at a time
_ROUNDS = 3
_COMMON = 60  # a name in more files than this says little about who calls whom
_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


class MemoryParts(Unkept):
    """Linked parts that live as long as the process."""

    def __init__(self, parts: dict[str, bytes]) -> None:
        self._parts = {name: unpack_part(data) for name, data in parts.items()}

    def read(self, part: str) -> Any:
        return self._parts[part]

    def names(self, number: int) -> Names:
        names: Names = self._parts.get(bucket_part(number), {})
        return names


class _Text:
    """All files as one text, searched by word."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.paths = list(files)
        self.starts: list[int] = []
        at = 0
        for data in files.values():
            self.starts.append(at)
            at += len(data) + 1
        self.text = b"\n".join(files.values())

    def mentioning(self, word: str) -> set[str]:
        wanted, text = word.encode(), self.text
        found: set[str] = set()
        at = text.find(wanted)
        while at >= 0:
            end = at + len(wanted)
            if not ((at and text[at - 1] in _WORD) or (end < len(text) and text[end] in _WORD)):
                index = bisect_right(self.starts, at) - 1
                found.add(self.paths[index])
                # One mention in a file is enough.
                end = self.starts[index + 1] if index + 1 < len(self.starts) else len(text)
            at = text.find(wanted, end)
        return found


def quick_facts(
    tree: SourceTree, settings: Settings, name: str, clock: Callable[[], float] = time.monotonic
) -> tuple[Facts, bool]:
    """Facts that are enough to answer for `name`, and whether the search came to its end in time.

    Where the search stopped, code is assumed to run: what the answer calls dead is dead, what it calls serving may
    not be.
    """
    deadline = clock() + _BUDGET_S
    short = name.rpartition(".")[2]
    with paused():
        search = _Search(settings, dict(tree.read(tree.listing())), lambda: clock() > deadline)
        search.read(path for path, data in search.files.items() if short.encode() in data)
        waiting = search.frontier({short})
        for _round in range(_ROUNDS):
            # Long names first: they are told from others by text alone, and so lead up to the entry points soonest.
            words = set(sorted(waiting, key=lambda word: (-len(word), word))[:_WORDS])
            search.follow(words)
            waiting = (waiting | search.frontier(words)) - search.followed
            if not waiting or search.late():
                break
        assumed = waiting | search.common
        return search.facts(assumed), not assumed


class _Search:
    """The files read so far, and the words already followed."""

    def __init__(self, settings: Settings, files: dict[str, bytes], late: Callable[[], bool]) -> None:
        self.settings = settings
        self.late = late
        self.files = files
        self.text = _Text({p: d for p, d in files.items() if not settings.test_pattern.search(p)})
        self.packed: dict[str, Packed] = {}
        self.unread: dict[str, str] = {}
        self.followed: set[str] = set()
        self.common: set[str] = set()
        self._scopes: dict[str, FileFacts] = {}
        self._mentions: dict[str, dict[str, list[int]]] = {}
        entries = [e.partition(":")[0].replace(".", "/") for e in settings.entries]
        self.read(p for e in entries for p in (f"{e}.py", f"{e}/__init__.py") if p in files)

    def read(self, paths: Iterable[str]) -> None:
        for path in paths:
            if path not in self._scopes and path not in self.unread:
                packed = extract(self.files[path])
                if isinstance(packed, Unread):
                    self.unread[path] = packed.reason
                else:
                    self.packed[path] = packed
                    file = self._scopes[path] = FileFacts(0, path, *packed)
                    self._mentions[path] = file.mentions()

    def follow(self, words: set[str]) -> None:
        """Read the files that mention `words`, telling names first, until time is up."""
        found = []
        for word in sorted(words):
            paths = self.text.mentioning(word)
            if len(paths) > _COMMON:
                self.common.add(word)
            else:
                found.append((len(paths), sorted(paths)))
        for _count, some in sorted(found):
            if self.late():
                self.common.update(word for word in words if word not in self.common)
                return
            self.read(some)

    def frontier(self, words: set[str]) -> set[str]:
        """Names of the functions and classes, not followed yet, in which `words` are mentioned."""
        self.followed |= words
        found: set[str] = set()
        for file in self._scopes.values():
            mentioned = self._mentions[file.path]
            touched = {local for word in words for local in mentioned.get(word, ())}
            touched.update(
                local
                for local, head in enumerate(file.heads)
                if any(i[2] in words or i[1].rpartition(".")[2] in words for i in head[11])
            )
            for local in touched:
                found.update(self._holders(file, local, words))
        return found - self.followed

    def _holders(self, file: FileFacts, local: int, words: set[str]) -> Iterable[str]:
        head = file.heads[local]
        names = head[1].split(".") if head[1] else []
        if head[0] == "f":
            # A constructor is called by its class's name.
            yield from (n for n in names[-2:] if n and not (n.startswith("__") and n.endswith("__")))
        elif head[0] == "m":
            yield file.module.rpartition(".")[2]  # who imports the module runs it
        for inner in file.heads:
            if inner[2] == local and inner[0] == "c" and any(b in words for b in inner[7] if isinstance(b, str)):
                yield inner[1].rpartition(".")[2]  # a subclass
        for assign in file.raw_assigns(local):
            if isinstance(assign[2], str) and _holds(assign[3], words):
                yield assign[2].rpartition(".")[2]

    def facts(self, assumed: set[str]) -> Facts:
        """Facts of the files read; definitions and modules with a name in `assumed` are taken to run."""
        paths = sorted(self.packed)
        whole = [FileFacts(index, path, *self.packed[path]) for index, path in enumerate(paths)]
        program = Program(paths, [len(file) for file in whole], whole.__getitem__, self.unread)
        roots = [
            program.first[file.index] + local
            for file in whole
            for local, head in enumerate(file.heads)
            if (head[1] or file.module).rpartition(".")[2] in assumed
        ]
        parts = {**settle(program, self.settings, roots), **index_names(program)}
        return Facts(program, self.settings, MemoryParts(parts), self._unread_words)

    def _unread_words(self, path: str) -> frozenset[str]:
        return frozenset(unpack_part(pack_words(self.files[path])))


def _holds(ref: object, words: set[str]) -> bool:
    if isinstance(ref, str):
        return any(part in words for part in ref.split("."))
    return isinstance(ref, tuple) and any(_holds(item, words) for item in ref)
