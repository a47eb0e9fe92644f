"""One writer, many readers per root, by an advisory lock on the folder itself: no lock file is left anywhere."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rebasekit.errors import StateError

WAIT = 60.0  # seconds; a commit takes milliseconds
_UNSUPPORTED = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)


@contextmanager
def locked(root: Path, *, exclusive: bool, wait: float = WAIT) -> Iterator[None]:
    """Hold the lock on `root`; the kernel lets it go when the process dies. Raise StateError after `wait` seconds."""
    try:
        handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise StateError(f"cannot open `{root}`: {(error.strerror or str(error)).lower()}") from None
    try:
        _acquire(handle, root, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH, wait)
        yield
    finally:
        os.close(handle)


def _acquire(handle: int, root: Path, kind: int, wait: float) -> None:
    end = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(handle, kind | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > end:
                raise StateError(f"another process is writing below `{root}`", hint="run the command again") from None
            time.sleep(0.001)
        except OSError as error:
            if error.errno in _UNSUPPORTED:
                return  # some network file systems have no locks; the journal still keeps each commit whole
            raise StateError(f"cannot lock `{root}`: {(error.strerror or str(error)).lower()}") from None
