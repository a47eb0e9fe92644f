"""Reading a wheel without trusting it: every rule is checked before a file's bytes are passed on."""

from __future__ import annotations

import contextlib
import itertools
import stat
import zipfile
import zlib
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from rebasekit.upstream import paths
from rebasekit.upstream.record import Record, dist_info
from rebasekit.upstream.release import BrokenArchive, HostileArchive, Member

_CHUNK = 1 << 20
_LARGEST_LIST = 64 << 20  # of METADATA and RECORD, which are read whole


@dataclass(frozen=True)
class Limits:
    """How large a release may be. A wheel of torch has 12,000 files and 3 GB unpacked."""

    files: int = 200_000
    file_bytes: int = 2 << 30
    total_bytes: int = 8 << 30
    ratio: int = 300  # of a file above `ratio_from`; deflate cannot do more than 1,032
    ratio_from: int = 1 << 20


class Wheel:
    """An open wheel whose list of files has been checked. Close it, or use it as a context manager.

    Raises BrokenArchive when the file is no wheel of the package and version, HostileArchive when a name or a size
    in it is not to be trusted.
    """

    def __init__(self, path: Path, package: str, version: str, limits: Limits | None = None) -> None:
        self.path = path
        self._limits = limits or Limits()
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise BrokenArchive(f"`{path.name}` is damaged: {error}") from None
        try:
            self._files = self._checked()
            self._record = Record.read(self._read, dist_info(self._read, self._files, path.name, package, version))
            self._record.covers(self._files, path.name)
        except BaseException:
            self._zip.close()
            raise

    @property
    def size(self) -> int:
        """The bytes of all `members`."""
        return sum(info.file_size for name, info in self._files.items() if not _is_metadata(name))

    def close(self) -> None:
        self._zip.close()

    def members(self) -> Generator[Member, None, None]:
        """Every file outside `.dist-info` and `.data`; all files are held against RECORD, those inside too.

        Each member's chunks must be used up before the next. Raises BrokenArchive as soon as a checksum differs.
        """
        with self._zip:
            for name, info in self._files.items():
                with contextlib.closing(self._chunks(info)) as chunks:
                    if _is_metadata(name):
                        for _ in chunks:
                            pass
                    else:
                        executable = bool((info.external_attr >> 16) & 0o111)
                        yield Member(name, executable, info.file_size, chunks)

    def _chunks(self, info: zipfile.ZipInfo) -> Generator[bytes, None, None]:
        digest = self._record.digest(info.filename)
        try:
            with self._zip.open(info) as stream:
                while chunk := stream.read(_CHUNK):
                    digest.update(chunk)
                    yield chunk
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError) as error:
            raise BrokenArchive(f"`{self.path.name}` is damaged at `{info.filename}`: {error}") from None
        if not digest.matches():
            raise BrokenArchive(f"`{self.path.name}`: `{info.filename}` is not the file that RECORD names")

    def _read(self, name: str) -> bytes:
        if self._files[name].file_size > _LARGEST_LIST:
            raise self._hostile(f"`{name}` is larger than {_LARGEST_LIST} bytes")
        try:
            return self._zip.read(name)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, KeyError) as error:
            raise BrokenArchive(f"`{self.path.name}` is damaged at `{name}`: {error}") from None

    def _checked(self) -> dict[str, zipfile.ZipInfo]:
        infos = self._zip.infolist()
        if len(infos) > self._limits.files:
            raise self._hostile(f"{len(infos)} files, more than {self._limits.files}")
        for info in infos:
            # zipfile cuts a name at NUL: the original is what has to be clean.
            if reason := paths.refuse(info.orig_filename.removesuffix("/")) or self._odd(info):
                raise self._hostile(f"`{info.orig_filename[:200]!r}`: {reason}")
        if sum(info.file_size for info in infos) > self._limits.total_bytes:
            raise self._hostile(f"more than {self._limits.total_bytes} bytes unpacked")
        ordered = sorted(infos, key=lambda info: info.header_offset)
        for info, following in itertools.pairwise(ordered):
            if info.header_offset + 30 + len(info.orig_filename) + info.compress_size > following.header_offset:
                raise self._hostile(f"`{info.filename}` overlaps `{following.filename}`")
        files = [info.filename for info in infos if not info.is_dir()]
        folders = {paths.fold(info.filename.rstrip("/")) for info in infos if info.is_dir()}
        if pair := paths.clash(files) or next(((f, f + "/") for f in files if paths.fold(f) in folders), None):
            raise self._hostile(f"`{pair[0]}` and `{pair[1]}` cannot both be files")
        return {info.filename: info for info in infos if not info.is_dir()}

    def _odd(self, info: zipfile.ZipInfo) -> str | None:
        """Why a member is not a plain file or folder of a bearable size."""
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFDIR if info.is_dir() else stat.S_IFREG):
            return "a link or special file"
        if info.flag_bits & 0x1:
            return "an encrypted file"
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            return f"compression method {info.compress_type}"
        if info.is_dir() and info.file_size:
            return "a folder with content"
        if info.file_size > self._limits.file_bytes:
            return f"{info.file_size} bytes, more than {self._limits.file_bytes}"
        packed = max(info.compress_size, 1)
        if info.file_size > self._limits.ratio_from and info.file_size / packed > self._limits.ratio:
            return f"{info.file_size} bytes out of {packed}, more than {self._limits.ratio} times"
        return None

    def _hostile(self, reason: str) -> HostileArchive:
        return HostileArchive(f"`{self.path.name}` is not safe to unpack: {reason}")


def _is_metadata(name: str) -> bool:
    return name.partition("/")[0].endswith((".dist-info", ".data"))
