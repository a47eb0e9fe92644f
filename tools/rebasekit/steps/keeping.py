"""Small answers as JSON in a folder of the cache, each in a file of its own."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

_MOST = 64  # answers in a folder; each is a few kilobytes


def keep(path: Path, answer: object) -> None:
    """Write an answer, whole or not at all, and drop the oldest of its folder, and what a killed process left there.

    A cache that cannot be written costs time and nothing else.
    """
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps(answer), encoding="utf-8")
        fresh.replace(path)
        for old in sorted(path.parent.iterdir(), key=lambda entry: entry.stat().st_mtime, reverse=True)[_MOST:]:
            old.unlink(missing_ok=True)
