"""The linked parts of a tree, as they lie in the database: light enough for a command that only asks.

Parts: "program" (paths, blobs, scope counts, unread files), "classes" (links between classes), "reach-N:<settings>"
(liveness), "names:<bucket>" (where each name is defined and mentioned; loaded one bucket at a time), "defined" (all
names of definitions), "answer:<key>" (answers that a check wants to keep).
"""

from __future__ import annotations

import marshal
import zlib
from typing import Any, NamedTuple

from rebasekit.facts.database import Database
from rebasekit.facts.settings import Settings

_REACHED = 9  # raise when the same facts make other scopes run: trees linked before are linked again
BUCKETS = 4096  # one bucket is what a query decodes: a few dozen names
# Definitions of a name, scopes that mention it (packed), files whose modules or classes assign it.
Row = tuple[tuple[int, ...], bytes, tuple[int, ...]]
Names = dict[str, Row]


class Linked(NamedTuple):
    """What opening a linked tree needs before anything else."""

    paths: tuple[str, ...]
    blobs: tuple[str, ...]
    sizes: tuple[int, ...]  # scopes per file; 0 for an unread one
    unread: dict[str, str]


def bucket(name: str) -> int:
    return zlib.crc32(name.encode("utf-8", "surrogatepass")) % BUCKETS


def bucket_part(number: int) -> str:
    return f"names:{number}"


def reach_part(settings: Settings) -> str:
    return f"reach-{_REACHED}:{settings.key}"


def pack(value: Any) -> bytes:
    return b"z" + zlib.compress(marshal.dumps(value), 1)


def pack_open(value: Any) -> bytes:
    """As `pack`, for what every question unpacks: not compressed."""
    return b"m" + marshal.dumps(value)


def unpack_part(packed: bytes) -> Any:
    data = memoryview(packed)[1:]
    return marshal.loads(data if packed[:1] == b"m" else zlib.decompress(data))  # noqa: S302 - our own cache


class Unkept:
    """Linked parts that live as long as the process: nothing is kept beside them."""

    def answer(self, key: str) -> None:
        return None

    def keep(self, key: str, data: bytes) -> None:
        return None

    def close(self) -> None:
        return None


class Parts:
    """One tree's linked parts, from the database."""

    def __init__(self, database: Database, tree: str) -> None:
        self._database = database
        self._tree = tree

    def linked(self, settings: Settings) -> Linked | None:
        """The tree's files, if it is linked for these settings."""
        found = self._database.parts(self._tree, ["program", reach_part(settings)])
        return Linked._make(unpack_part(found["program"])) if len(found) == 2 else None

    def read(self, part: str) -> Any:
        """One part; KeyError when it is missing."""
        return unpack_part(self._database.parts(self._tree, [part])[part])

    def names(self, number: int) -> Names:
        found = self._database.parts(self._tree, [bucket_part(number)])
        names: Names = unpack_part(found[bucket_part(number)]) if found else {}
        return names

    def answer(self, key: str) -> bytes | None:
        """What a check kept under `key` for this tree."""
        found = self._database.parts(self._tree, [f"answer:{key}"])
        return next(iter(found.values()), None)

    def keep(self, key: str, data: bytes) -> None:
        """Keep an answer until the tree is linked again; losing it costs only time."""
        self._database.set_part(self._tree, f"answer:{key}", data)

    def close(self) -> None:
        self._database.close()
