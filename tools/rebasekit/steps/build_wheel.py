"""A release's wheel with the series in it: same members, our bytes, a local version, and a RECORD that says so."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path

from packaging.metadata import Metadata
from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename

from rebasekit.errors import StateError, UsageError
from rebasekit.model.progress import Progress
from rebasekit.model.tag import Tag
from rebasekit.steps.build_content import content, digest_of

MANIFEST = "rebasekit.json"  # in .dist-info: what was built from what
_SIGNATURES = ("RECORD", "RECORD.jws", "RECORD.p7s")
_MODE, _EXECUTABLE = 0o100644, 0o100755


def local_version(tag: Tag, series_digest: str) -> str:
    """`0.5.20+rk.<12 digits of the series digest>`, as PEP 440 writes it."""
    short = series_digest[:12]
    if short.isdigit():  # a number would lose its leading zeros
        short = f"s{short}"
    return f"{tag.version}+rk.{short}"


def metadata_of(wheel: Path) -> Metadata:
    """The wheel's METADATA."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return Metadata.from_email(archive.read(name), validate=False)


def require_fitting(wheel: Path) -> None:
    """Raise UsageError when this interpreter cannot run the wheel: its compiled files would be passed over."""
    tags = parse_wheel_filename(wheel.name)[3]
    if not tags & set(sys_tags()):
        raise UsageError(
            f"`{wheel.name}` is not for this Python and platform, so its compiled files would not be found",
            hint="run it with the Python that the wheel's name says",
        )


def differing(one: Path, other: Path) -> list[str]:
    """Files that differ between two wheels of a release, compiled ones and the wheels' own records left out.

    Raises UsageError when one of them is no wheel.
    """
    try:
        found = [content(path, {}, "").files for path in (one, other)]
    except (OSError, zipfile.BadZipFile, StopIteration) as error:
        raise UsageError(f"`{one}` cannot be read as a wheel: {error}", hint="pip download --no-deps") from None
    text = [{path: digest for path, digest in each.items() if not path.endswith((".so", ".pyd"))} for each in found]
    return sorted(path for path in text[0].keys() | text[1].keys() if text[0].get(path) != text[1].get(path))


def write_wheel(
    upstream: Path,
    changes: Mapping[str, bytes | None],
    executable: set[str],
    tag: Tag,
    series_digest: str,
    out: Path,
    progress: Progress,
) -> Path:
    """Write `out/<name>.whl` and return it; equal arguments give equal bytes.

    Members keep upstream's order, modes and dates; ours carry the date of the first member. Files are deflated as
    upstream's are, so the bytes also depend on the version of zlib.
    """
    version = local_version(tag, series_digest)
    distribution, _, rest = upstream.name.split("-", 2)
    target = out / f"{distribution}-{version}-{rest}"
    out.mkdir(parents=True, exist_ok=True)
    partial = out / f".{target.name}.{os.getpid()}"
    records: dict[str, tuple[str, int]] = {}
    try:
        with zipfile.ZipFile(upstream) as old, zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as new:
            members = [info for info in old.infolist() if not info.is_dir()]
            info_folder = next(i.filename.split("/")[0] for i in members if i.filename.endswith(".dist-info/METADATA"))
            folder = f"{distribution}-{version}.dist-info"
            date = members[0].date_time

            def add(path: str, data: bytes, mode: int, when: tuple[int, int, int, int, int, int]) -> None:
                records[path] = (digest_of(data), len(data))
                _write(new, path, data, mode, when)

            missing = {path for path, data in changes.items() if data is not None}
            with progress.task(f"writing {target.name}", len(members), "files") as task:
                for info in members:
                    task.advance()
                    path = info.filename
                    top, _, inner = path.partition("/")
                    mode = info.external_attr >> 16 or _MODE
                    if top == info_folder:
                        if inner not in _SIGNATURES:
                            text = old.read(info)
                            text = _with_version(text, version) if inner == "METADATA" else text
                            add(f"{folder}/{inner}", text, mode, info.date_time)
                    elif path not in changes:
                        add(path, old.read(info), mode, info.date_time)
                    elif (ours := changes[path]) is not None:
                        missing.discard(path)
                        add(path, ours, mode, date)
            for path in sorted(missing):
                data = changes[path]
                assert data is not None
                add(path, data, _EXECUTABLE if path in executable else _MODE, date)
            add(f"{folder}/{MANIFEST}", _manifest(tag, series_digest, upstream, changes), _MODE, date)
            _write(new, f"{folder}/RECORD", _record(records, f"{folder}/RECORD"), _MODE, date)
        partial.replace(target)
    except OSError as error:
        raise StateError(f"`{target}` cannot be written: {(error.strerror or str(error)).lower()}") from None
    finally:
        partial.unlink(missing_ok=True)
    return target


def _record(records: Mapping[str, tuple[str, int]], own: str) -> bytes:
    """RECORD of files with digest and size, itself the last."""
    # of an extra, which who only asks for names need not have
    from installer.records import Hash, RecordEntry
    from installer.utils import construct_record_file

    rows = [("", RecordEntry(path, Hash.parse(digest), length)) for path, (digest, length) in records.items()]
    rows.append(("", RecordEntry(own, None, None)))
    with construct_record_file(rows) as stream:  # type: ignore[arg-type]  # a scheme is any prefix here
        return stream.read()


def _write(
    archive: zipfile.ZipFile, path: str, data: bytes, mode: int, when: tuple[int, int, int, int, int, int]
) -> None:
    info = zipfile.ZipInfo(path, when)
    info.external_attr = mode << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system = 3  # Unix on every platform: the byte is part of the file
    archive.writestr(info, data)


def _with_version(data: bytes, version: str) -> bytes:
    """METADATA with another version and not a byte else; raise StateError when that is not what comes out."""
    head, separator, body = data.partition(b"\n\n")
    lines = [b"Version: " + version.encode() if line.startswith(b"Version: ") else line for line in head.split(b"\n")]
    made = b"\n".join(lines) + separator + body
    old, new = (Metadata.from_email(text, validate=False) for text in (data, made))
    if str(new.version) != version or (old.name, old.requires_dist) != (new.name, new.requires_dist):
        raise StateError("the wheel's METADATA cannot be rewritten: it has no plain `Version:` line")
    return made


def _manifest(tag: Tag, series_digest: str, upstream: Path, changes: Mapping[str, bytes | None]) -> bytes:
    data = {
        "schema": 1,
        "tag": tag.name,
        "series": series_digest,
        "upstream": {"wheel": upstream.name, "sha256": hashlib.sha256(upstream.read_bytes()).hexdigest()},
        "files": {p: None if d is None else hashlib.sha256(d).hexdigest() for p, d in sorted(changes.items())},
    }
    return (json.dumps(data, indent=1) + "\n").encode()
