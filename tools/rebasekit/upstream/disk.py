"""What an operating system's error about a disk means to the reader."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

from rebasekit.errors import StateError

_FULL = (errno.ENOSPC, errno.EDQUOT)
# The last is git's when a write ends early without an errno.
_FULL_WORDS = ("No space left on device", "Disk quota exceeded", "[Errno 28]", "Out of diskspace")
_LOCKED = (errno.EROFS, errno.EACCES, errno.EPERM)


def size(count: float) -> str:
    """A number of bytes as people write it: `39.1 MB`."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def means_full(text: str) -> bool:
    """Whether a child's message says that the disk is full."""
    return any(words in text for words in _FULL_WORDS)


def full(directory: Path) -> StateError:
    """The error for a full disk, with the directory and what is free."""
    try:
        free = f"{size(shutil.disk_usage(directory).free)} free"
    except OSError:
        free = "free space unknown"
    return StateError(
        f"no space left on the disk of `{directory}` ({free})",
        hint="free some space, or set REBASEKIT_CACHE to a directory on another disk",
    )


def explain(error: OSError, directory: Path) -> StateError:
    """The StateError that an OSError below `directory` means."""
    if error.errno in _FULL:
        return full(directory)
    if error.errno in _LOCKED:
        return StateError(
            f"`{directory}` cannot be written ({error.strerror})",
            hint="set REBASEKIT_CACHE to a directory that you can write",
        )
    return StateError(f"`{directory}`: {error.strerror or error}")
