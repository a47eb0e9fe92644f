"""Where diffs come from: a file, standard input, a mailbox, a folder, a branch; whole or in parts."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from rebasekit.errors import UsageError
from rebasekit.model.tag import Tag
from rebasekit.steps.headers import described
from rebasekit.upstream.diffpaths import sections
from rebasekit.upstream.patchfile import branch_diff, branch_mails

_MAIL = re.compile(rb"^(?=From [0-9a-f]{40} )", re.MULTILINE)
_OWN = re.compile(rb"^Patch-name: ([a-z0-9][a-z0-9_-]{0,99})$", re.MULTILINE)
_SUFFIXES = (".patch", ".diff")


@dataclass(frozen=True)
class Piece:
    """One patch to be. `label` is what to call it to people, `strip` the leading parts of its paths when known."""

    label: str
    name: str
    diff: bytes
    strip: int | None = None


def pieces(source: str, onto: Tag, prefix: str) -> list[Piece]:
    """The parts of SOURCE in order; raise UsageError when there are none."""
    if Path(source).is_dir():
        return _folder(Path(source))
    if fork := _fork(source):
        mails = _mails(branch_mails(*fork, onto.name, prefix))
        if not mails:
            raise UsageError(f"`{fork[1]}` has no commit that `{onto}` does not have below `{prefix or '.'}`")
        return mails
    data = read_diff(source, onto, prefix)
    mails = _mails(data)
    if len(mails) > 1:
        return mails
    if source == "-":
        return [Piece("standard input", _slug(described(data).get("title", "")), data)]
    return [Piece(source, named(Path(source).name, data), data)]


def whole(source: str, onto: Tag, prefix: str) -> Piece:
    """SOURCE as one diff; raise UsageError."""
    if not Path(source).is_dir():
        return Piece(source, "", read_diff(source, onto, prefix))
    parts = _folder(Path(source))
    strips = {part.strip for part in parts}
    if len(strips) > 1:
        raise UsageError(f"`{source}` has diffs with different `-p`", hint=f"rebasekit import {source} --onto {onto}")
    return Piece(source, "", b"\n".join(sections(part.diff) for part in parts), strips.pop())


def read_diff(source: str, onto: Tag, prefix: str) -> bytes:
    """The bytes that SOURCE names, when it is no folder; raise UsageError."""
    if source == "-":
        return sys.stdin.buffer.read()
    path = Path(source)
    if path.is_file():
        return path.read_bytes()
    if fork := _fork(source):
        return branch_diff(*fork, onto.name, prefix)
    raise UsageError(f"there is no file `{source}`", hint="rebasekit import --help")


def _fork(source: str) -> tuple[str, str] | None:
    """Repository and branch of `REPOSITORY#BRANCH`; None for a file of such a name, and for anything else."""
    repository, _, branch = source.rpartition("#")
    return (repository, branch) if repository and branch and not Path(source).is_file() else None


def _folder(folder: Path) -> list[Piece]:
    """The diffs of a folder, in the order of its quilt `series` file, else by name."""
    listed = folder / "series"
    if not listed.is_file():
        files = sorted(path for path in folder.iterdir() if path.suffix in _SUFFIXES)
        if not files:
            raise UsageError(f"`{folder}` has no `series` file and no `*.patch` or `*.diff`")
        return [_piece(path) for path in files]
    found = []
    for line in listed.read_text(encoding="utf-8", errors="replace").splitlines():
        words = line.partition("#")[0].split()
        if not words:
            continue
        file, options = folder / words[0], words[1:]
        if any(not re.fullmatch(r"-p\d{1,2}", option) for option in options):
            raise UsageError(f"`{listed}` has an option that is not read: `{' '.join(options)}`")
        if not file.is_file():
            raise UsageError(f"`{listed}` names `{words[0]}`, which is not there")
        found.append(_piece(file, int(options[0].removeprefix("-p")) if options else None))
    if not found:
        raise UsageError(f"`{listed}` names no patch")
    return found


def _mails(data: bytes) -> list[Piece]:
    """The mails of a mailbox that hold a diff: a cover letter does not."""
    mails = [part for part in _MAIL.split(data) if _MAIL.match(part) and re.search(rb"^(diff --git |--- )", part, re.M)]
    titles = [described(mail).get("title", "") for mail in mails]
    return [Piece(f"`{title}`", named(title, mail), mail) for title, mail in zip(titles, mails, strict=True)]


def _piece(file: Path, strip: int | None = None) -> Piece:
    data = file.read_bytes()
    return Piece(file.name, named(file.name, data), data, strip)


def named(file: str, diff: bytes = b"") -> str:
    """The name that our own export wrote down, else a file's name or a subject without its number and suffix."""
    if told := _OWN.search(diff):
        return told[1].decode()
    stem = file
    for suffix in _SUFFIXES:
        stem = stem.removesuffix(suffix)
    return _slug(re.sub(r"^\d+[-_. ]+", "", stem))


def _slug(text: str) -> str:
    """Text as the name of a patch."""
    name = re.sub(r"[^a-z0-9._]+", "-", text.lower())
    return re.sub(r"\.{2,}", ".", name).strip("-._")[:60].rstrip("-._") or "patch"
