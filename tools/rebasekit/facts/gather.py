"""Reading what has not been read yet, on several processes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import islice

from rebasekit.facts.collect import paused
from rebasekit.facts.database import Database
from rebasekit.facts.extract import extract
from rebasekit.facts.parse import Unread
from rebasekit.facts.parts import pack
from rebasekit.facts.source import SourceTree

Progress = Callable[[int, int], None]  # files done, files in all
Row = tuple[str, str | None, bytes, bytes]  # as `Database.add_blobs` takes them

_BATCH = 60  # files per task: large enough to hide the pipe, small enough for a progress bar
_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]+")
_FEW = 40  # below this, starting processes costs more than it saves


def pack_words(data: bytes) -> bytes:
    """The words of a file that could not be read: what it might define, build or call."""
    return pack(tuple(sorted({word.decode() for word in _WORD.findall(data)})))


def read_batch(files: list[tuple[str, bytes]]) -> list[Row]:
    """Facts of some blobs, as database rows."""
    rows: list[Row] = []
    with paused():
        for blob, data in files:
            packed = extract(data)
            rows.append(
                (blob, packed.reason, pack_words(data), b"") if isinstance(packed, Unread) else (blob, None, *packed)
            )
    return rows


def gather(database: Database, tree: SourceTree, progress: Progress | None = None, workers: int | None = None) -> int:
    """Read every file of `tree` that the database lacks; return how many were read.

    Batches are kept as they finish, so an interrupted run is continued by the next one.
    """
    listing = tree.listing()
    path_of = {blob: path for path, blob in listing.items()}
    missing = database.missing(listing.values())
    done, total = 0, len(missing)
    for rows in _rows(_batches(tree, [path_of[blob] for blob in missing], listing), total, workers):
        database.add_blobs(rows)
        done += len(rows)
        if progress is not None:
            progress(done, total)
    return total


def _batches(tree: SourceTree, paths: list[str], listing: Mapping[str, str]) -> Iterator[list[tuple[str, bytes]]]:
    files = ((listing[path], data) for path, data in tree.read(paths))
    while batch := list(islice(files, _BATCH)):
        yield batch


def _rows(batches: Iterable[list[tuple[str, bytes]]], total: int, workers: int | None) -> Iterator[list[Row]]:
    count = workers or min(4, os.cpu_count() or 1)
    if total < _FEW or count == 1:
        yield from map(read_batch, batches)
        return
    with ProcessPoolExecutor(count) as pool:
        # A bounded queue: the tree's bytes must not all be in memory at once.
        pending: set[Future[list[Row]]] = set()
        for batch in batches:
            pending.add(pool.submit(read_batch, batch))
            if len(pending) > count + 1:
                finished, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in finished:
                    yield future.result()
        for future in pending:
            yield future.result()
