"""One writer at a time, and a word to those who wait."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from rebasekit.model.progress import SILENT, Progress
from rebasekit.upstream import disk

_PATIENCE = 2.0  # seconds of waiting before the reader is told for whom


@contextlib.contextmanager
def held(path: Path, work: str, progress: Progress = SILENT) -> Iterator[None]:
    """Hold the lock at `path` for the block; the kernel frees it when the process dies, however it dies.

    Waits as long as it takes, and says after two seconds which process it waits for. Raises StateError when the
    lock cannot be made, as in a read-only cache.
    """
    lock = FileLock(path)
    holder = path.with_suffix(".holder")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=_PATIENCE, poll_interval=0.02)
        except Timeout:
            progress.note(f"waiting for {_describe(holder)}")
            lock.acquire(poll_interval=0.1)
        about = {"pid": os.getpid(), "work": work, "command": " ".join(sys.argv)[:200], "since": time.time()}
        holder.write_text(json.dumps(about))
    except OSError as error:
        lock.release(force=True)
        raise disk.explain(error, path.parent) from None
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            holder.unlink(missing_ok=True)
        lock.release(force=True)


@contextlib.contextmanager
def held_if_free(path: Path) -> Iterator[bool]:
    """Hold the lock for the block if nobody else does and it can be made; tell which."""
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except (Timeout, OSError):
        yield False
        return
    try:
        yield True
    finally:
        lock.release(force=True)


def _describe(holder: Path) -> str:
    try:
        about = json.loads(holder.read_text())
        since = time.strftime("%H:%M:%S", time.localtime(about["since"]))
        return f"process {about['pid']}, which {about['work']} since {since} (`{about['command']}`)"
    except (OSError, ValueError, KeyError, TypeError):
        return f"another process, which holds `{holder.with_suffix('.lock')}`"
