"""Reading below one root, with the staged changes of a transaction laid over what is on disk."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

MEGABYTE = 1024 * 1024


class Unreadable(Exception):
    """A file cannot be read; `str()` says why, as the end of a sentence about it."""


class Files:
    """Files below `root` by relative path with forward slashes.

    `staged` holds contents not yet on disk (None for deleted). `seen` records the digest of everything read from
    disk, so that a transaction can tell whether somebody else changed it meanwhile.
    """

    def __init__(self, root: Path, staged: Mapping[str, bytes | None] | None = None) -> None:
        self.root = root.resolve()
        self.staged: Mapping[str, bytes | None] = {} if staged is None else staged
        self.seen: dict[str, str | None] = {}

    def read(self, path: str, limit: int = 16 * MEGABYTE) -> bytes:
        """The contents of a regular file of at most `limit` bytes; raise Unreadable."""
        if path in self.staged:
            data = self.staged[path]
            if data is None:
                raise Unreadable("is not there")
        else:
            data = self.on_disk(path, limit)
            if data is None:
                raise Unreadable("is not there")
        if len(data) > limit:
            raise Unreadable(f"is larger than {limit // MEGABYTE or 1} MB")
        return data

    def on_disk(self, path: str, limit: int = 16 * MEGABYTE) -> bytes | None:
        """What the disk holds, staged or not; None when there is no such file."""
        full = self.root / path
        try:
            about = full.stat()
            # A pipe or a device would block or never end.
            if not stat.S_ISREG(about.st_mode):
                raise Unreadable("is not a regular file")
            if about.st_size > limit:
                raise Unreadable(f"is larger than {limit // MEGABYTE or 1} MB")
            with full.open("rb") as handle:
                data: bytes | None = handle.read(limit + 1)
        except (FileNotFoundError, NotADirectoryError):
            data = None
        except OSError as error:
            raise Unreadable(f"cannot be read: {(error.strerror or str(error)).lower()}") from None
        self.seen.setdefault(path, None if data is None else hashlib.sha256(data).hexdigest())
        return data

    def exists(self, path: str) -> bool:
        if path in self.staged:
            return self.staged[path] is not None
        return (self.root / path).is_file()

    def inside(self, path: str, folder: str) -> bool:
        """Whether `path` really lies in `folder` once every link is followed."""
        if path in self.staged:
            return path.startswith(f"{folder}/")
        real = (self.root / path).resolve()
        return real.is_relative_to((self.root / folder).resolve()) and real.is_relative_to(self.root)

    def walk(self, folder: str) -> Iterator[str]:
        """Paths of all files below `folder`, sorted; links are listed and not followed."""
        found = {path for path, data in self.staged.items() if data is not None and path.startswith(f"{folder}/")}
        for directory, _, names in os.walk(self.root / folder):
            base = Path(directory).relative_to(self.root).as_posix()
            found.update(f"{base}/{name}" for name in names)
        yield from sorted(path for path in found if not (path in self.staged and self.staged[path] is None))

    def folders(self, folder: str) -> list[str]:
        """Names of the folders directly in `folder` that have a `patch.toml`, sorted."""
        names = {path.split("/")[-2] for path in self.staged if path.startswith(f"{folder}/") and path.count("/") >= 2}
        with contextlib.suppress(OSError):
            names.update(entry.name for entry in os.scandir(self.root / folder) if entry.is_dir())
        return sorted(name for name in names if self.exists(f"{folder}/{name}/patch.toml"))
