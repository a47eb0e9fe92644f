"""What a patched release has to hold, said by the placement proof and upstream's RECORD alone."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name


@dataclass(frozen=True)
class Content:
    """What an installation has to hold: digests by path as RECORD writes them, `.dist-info` left out."""

    name: str
    version: str
    files: Mapping[str, str]
    patched: tuple[str, ...]  # the files that the series changes or adds

    @property
    def compiled(self) -> tuple[str, ...]:
        return tuple(path for path in self.files if path.endswith((".so", ".pyd")))


def content(upstream: Path, changes: Mapping[str, bytes | None], version: str) -> Content:
    """What the placement proof and upstream's RECORD say, without looking at the wheel that was built."""
    from installer.records import parse_record_file  # of an extra, which who only asks for names need not have

    with zipfile.ZipFile(upstream) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/RECORD"))
        rows = parse_record_file(archive.read(name).decode().splitlines())
        files = {path: digest for path, digest, _ in rows if not path.partition("/")[0].endswith(".dist-info")}
    for path, data in changes.items():
        files.pop(path, None)
        if data is not None:
            files[path] = digest_of(data)
    patched = tuple(sorted(path for path, data in changes.items() if data is not None))
    return Content(canonicalize_name(upstream.name.split("-")[0]), version, files, patched)


def differences(wheel: Path, wanted: Content) -> list[str]:
    """Paths at which the wheel is not what it has to be; nothing when it is."""
    with zipfile.ZipFile(wheel) as archive:
        names = [n for n in archive.namelist() if not n.endswith("/") and not n.split("/")[0].endswith(".dist-info")]
        found = {name: digest_of(archive.read(name)) for name in names}
    return sorted(path for path in found.keys() | wanted.files.keys() if found.get(path) != wanted.files.get(path))


def digest_of(data: bytes) -> str:
    """A digest as RECORD writes it."""
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
