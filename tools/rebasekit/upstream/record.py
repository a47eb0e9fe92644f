"""The parts of a wheel that say what it is: `.dist-info/METADATA` and `.dist-info/RECORD`."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
from collections.abc import Callable, Iterable
from email.parser import BytesHeaderParser

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from rebasekit.upstream.release import BrokenArchive

Read = Callable[[str], bytes]
_UNLISTED = ("RECORD", "RECORD.jws", "RECORD.p7s")


def is_release(filename: str, package: str, version: str) -> bool:
    """Whether a wheel's file name says that it is this release."""
    try:
        name, found, _, _ = parse_wheel_filename(filename)
    except (InvalidWheelFilename, InvalidVersion):
        return False
    return name == canonicalize_name(package) and found == Version(version)


def dist_info(read: Read, files: Iterable[str], filename: str, package: str, version: str) -> str:
    """The wheel's `.dist-info` folder, once its name, the file's name and METADATA agree on package and version.

    Raises BrokenArchive when one of them differs or is missing.
    """
    folders = {path.partition("/")[0] for path in files}
    infos = [folder for folder in folders if folder.endswith(".dist-info")]
    if len(infos) != 1 or not {f"{infos[0]}/METADATA", f"{infos[0]}/RECORD"} <= set(files):
        raise BrokenArchive(f"`{filename}` is not a wheel: it needs one `.dist-info` with METADATA and RECORD")
    headers = BytesHeaderParser().parsebytes(read(f"{infos[0]}/METADATA"))
    said = f"{headers.get('Name', '')}-{headers.get('Version', '')}"
    for name in (infos[0].removesuffix(".dist-info"), said):
        left, _, right = name.rpartition("-")
        try:
            same = canonicalize_name(left) == canonicalize_name(package) and Version(right) == Version(version)
        except InvalidVersion:
            same = False
        if not (same and is_release(filename, package, version)):
            raise BrokenArchive(f"`{filename}` says inside that it is `{name}`, not `{package}` {version}")
    return infos[0]


class Digest:
    """The running digest of one file, and what it has to be."""

    def __init__(self, algorithm: str, expected: str) -> None:
        self._hash = hashlib.new(algorithm) if algorithm else None
        self._expected = expected

    def update(self, chunk: bytes) -> None:
        if self._hash is not None:
            self._hash.update(chunk)

    def matches(self) -> bool:
        if self._hash is None:
            return True
        return base64.urlsafe_b64encode(self._hash.digest()).decode().rstrip("=") == self._expected.rstrip("=")


class Record:
    """A wheel's list of files and their digests."""

    def __init__(self, folder: str, rows: dict[str, str]) -> None:
        self._rows = rows
        self._unlisted = {f"{folder}/{name}" for name in _UNLISTED}

    @classmethod
    def read(cls, read: Read, folder: str) -> Record:
        """Read RECORD; raise BrokenArchive when it is no such list."""
        try:
            text = read(f"{folder}/RECORD").decode("utf-8")
            rows = {row[0]: row[1] for row in csv.reader(io.StringIO(text)) if row}
        except (UnicodeDecodeError, csv.Error, IndexError) as error:
            raise BrokenArchive(f"`{folder}/RECORD` cannot be read: {error}") from None
        return cls(folder, rows)

    def covers(self, files: Iterable[str], filename: str) -> None:
        """Raise BrokenArchive unless RECORD and the archive name the same files, each with a strong digest."""
        listed, found = set(self._rows) - self._unlisted, set(files) - self._unlisted
        if odd := sorted(listed ^ found):
            where = "RECORD" if odd[0] in found else "the archive"
            raise BrokenArchive(f"`{filename}`: `{odd[0]}` is not in {where}")
        for path in found:
            if self._rows[path].partition("=")[0] not in ("sha256", "sha384", "sha512"):
                raise BrokenArchive(f"`{filename}`: RECORD has no sha256 for `{path}`")

    def digest(self, path: str) -> Digest:
        """A digest to feed with the file at `path`."""
        algorithm, _, expected = self._rows.get(path, "").partition("=")
        return Digest("" if path in self._unlisted else algorithm, expected)
