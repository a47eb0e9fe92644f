"""The facts on disk: one SQLite file in the cache, safe to share and safe to lose.

Everything in it can be read again from the tree, so a file that is damaged or of another schema is deleted and
rebuilt. Rows are keyed by git blob id, so tags share what they have in common.
"""

from __future__ import annotations

import contextlib
import sqlite3
import sys
import time
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from rebasekit.errors import StateError

# Raise when the shape of any record changes; marshal's own format changes with Python's version.
SCHEMA = "18-" + ".".join(map(str, sys.version_info[:2]))
_TABLES = """
create table if not exists meta (schema text not null);
create table if not exists blob (id text primary key, unread text, outline_crc integer not null, outline blob not null,
                                 rest_crc integer not null, rest blob not null);
create table if not exists link (tree text not null, part text not null, crc integer not null, data blob not null,
                                 primary key (tree, part));
create table if not exists tree (key text primary key, linked integer not null);
"""
_CHUNK = 400  # SQLite's default limit on variables is 999 in older builds
_BUSY_S = 60.0
_MOST_TREES = 24  # linked trees kept: five tags and their patched copies, with room


class Database:
    """Packed facts by blob id, and linked parts by tree key."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "facts.sqlite"
        self._connection = self._open()

    def _open(self) -> sqlite3.Connection:
        for attempt in range(2):
            connection = sqlite3.connect(self.path, timeout=_BUSY_S, isolation_level=None)
            try:
                if self._usable(connection):
                    return connection
            except sqlite3.DatabaseError as error:
                # Busy is not broken: only a file that SQLite itself rejects may be thrown away.
                if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
                    connection.close()
                    raise StateError(f"the facts in `{self.path}` are in use by another process") from error
            connection.close()
            if attempt == 0:
                self._discard()
        raise StateError(f"the facts in `{self.path}` cannot be rebuilt", hint=f"rm {self.path}")

    def _usable(self, connection: sqlite3.Connection) -> bool:
        _use_wal(connection)
        connection.execute("pragma synchronous=normal")
        if connection.execute("select count(*) from sqlite_master where name = 'meta'").fetchone()[0]:
            row = connection.execute("select schema from meta").fetchone()
            return row is not None and row[0] == SCHEMA
        with _transaction(connection):
            # Two first runs at once: the second one finds the tables there.
            for statement in _TABLES.split(";"):
                connection.execute(statement)
            if connection.execute("select count(*) from meta").fetchone()[0] == 0:
                connection.execute("insert into meta values (?)", (SCHEMA,))
        return True

    def _discard(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)

    def close(self) -> None:
        self._connection.close()

    def missing(self, blobs: Iterable[str]) -> list[str]:
        """Those of `blobs` that have no facts yet."""
        known = {row[0] for row in self._connection.execute("select id from blob")}
        return [blob for blob in dict.fromkeys(blobs) if blob not in known]

    def add_blobs(self, rows: Iterable[tuple[str, str | None, bytes, bytes]]) -> None:
        """Keep facts: blob id, why it is unread (or None), outline (of an unread one its words), the rest."""
        with _transaction(self._connection):
            self._connection.executemany(
                "insert or replace into blob values (?, ?, ?, ?, ?, ?)",
                (
                    (blob, unread, zlib.crc32(outline), outline, zlib.crc32(rest), rest)
                    for blob, unread, outline, rest in rows
                ),
            )

    def blobs(self, ids: Iterable[str]) -> Iterator[tuple[str, str | None, bytes, bytes]]:
        """Facts of `ids`, in any order; a row that is damaged is left out, as if it had never been read."""
        wanted = list(ids)
        for start in range(0, len(wanted), _CHUNK):
            part = wanted[start : start + _CHUNK]
            marks = ",".join("?" * len(part))
            query = f"select * from blob where id in ({marks})"  # noqa: S608 - only "?" marks
            for blob, unread, crc, outline, rest_crc, rest in self._connection.execute(query, part):
                if zlib.crc32(outline) == crc and zlib.crc32(rest) == rest_crc:
                    yield blob, unread, outline, rest

    def outline(self, blob: str) -> bytes:
        """The outline of one file; of an unread one its words. StateError when it is gone or damaged."""
        return self._half("select outline_crc, outline from blob where id = ?", blob)

    def rest(self, blob: str) -> bytes:
        """What is packed beside the outline, as `outline`."""
        return self._half("select rest_crc, rest from blob where id = ?", blob)

    def _half(self, query: str, blob: str) -> bytes:
        for crc, data in self._connection.execute(query, (blob,)):
            if zlib.crc32(data) == crc:
                return bytes(data)
        raise StateError(f"the facts in `{self.path}` are damaged", hint=f"rm {self.path}")

    def parts(self, tree: str, names: Iterable[str]) -> dict[str, bytes]:
        """Linked parts of a tree by name; missing or damaged ones are absent."""
        wanted = list(names)
        marks = ",".join("?" * len(wanted))
        query = f"select part, crc, data from link where tree = ? and part in ({marks})"  # noqa: S608 - only "?" marks
        rows = self._connection.execute(query, [tree, *wanted])
        return {part: data for part, crc, data in rows if zlib.crc32(data) == crc}

    def set_parts(self, tree: str, parts: dict[str, bytes]) -> None:
        """Keep a tree's linked parts, all or nothing; trees linked longest ago make room."""
        with _transaction(self._connection):
            self._put(tree, parts)
            self._connection.execute(
                "insert or replace into tree values (?, 1 + coalesce((select max(linked) from tree), 0))", (tree,)
            )
            old = "select key from tree order by linked desc limit -1 offset ?"
            self._connection.execute(f"delete from link where tree in ({old})", (_MOST_TREES,))  # noqa: S608 - constant
            self._connection.execute(f"delete from tree where key in ({old})", (_MOST_TREES,))  # noqa: S608 - constant

    def set_part(self, tree: str, name: str, data: bytes) -> None:
        """Keep one part; a database that is busy or full only loses it."""
        with contextlib.suppress(sqlite3.OperationalError), _transaction(self._connection):
            self._put(tree, {name: data})

    def _put(self, tree: str, parts: dict[str, bytes]) -> None:
        self._connection.executemany(
            "insert or replace into link values (?, ?, ?, ?)", ((tree, k, zlib.crc32(v), v) for k, v in parts.items())
        )

    def forget(self, blobs: Iterable[str]) -> None:
        """Drop facts, to be read again."""
        with _transaction(self._connection):
            self._connection.executemany("delete from blob where id = ?", ((blob,) for blob in blobs))


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to a write-ahead log, as often as it takes: SQLite does not wait for a second one who does so at once."""
    end = time.monotonic() + _BUSY_S
    while True:
        try:
            connection.execute("pragma journal_mode=wal")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.01)


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("begin immediate")
    try:
        yield
    except BaseException:
        connection.execute("rollback")
        raise
    connection.execute("commit")
