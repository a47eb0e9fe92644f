"""The paths that a diff names, and which of its files are wanted."""

from __future__ import annotations

import fnmatch
import re
from collections import Counter
from collections.abc import Collection, Sequence

from rebasekit.errors import UsageError

_SECTION = re.compile(rb"^(?=diff --git |Index: |--- [^\n]*\n\+\+\+ [^\n]*\n@@ )", re.MULTILINE)
_OLD_NEW = re.compile(
    rb'^--- ("(?:[^"\\\n]|\\.)*"|[^\t\r\n]+).*\n\+\+\+ ("(?:[^"\\\n]|\\.)*"|[^\t\r\n]+)', re.MULTILINE
)
_GIT = re.compile(rb'^diff --git (?:"a/((?:[^"\\\n]|\\.)*)" "b/\1"|a/(.+) b/\2)\r?$', re.MULTILINE)
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r"}


def _plain(name: bytes) -> str:
    """A path as git writes it, without its quotes."""
    if name.startswith(b'"'):
        name = name.strip(b'"')

        def letter(m: re.Match[bytes]) -> bytes:
            return bytes([int(m[1], 8) & 255]) if len(m[1]) == 3 else _LETTERS.get(m[1], m[1])

        name = _ESCAPE.sub(letter, name)
    return name.decode("utf-8", "surrogateescape").rstrip()


def _path(section: bytes) -> str | None:
    """The new (or for a deletion the old) path of one file's part of a diff, with its first component."""
    if match := _OLD_NEW.search(section):
        old, new = _plain(match[1]), _plain(match[2])
        return old if new == "/dev/null" else new
    if match := _GIT.search(section):  # an empty file, a mode, a binary file
        return "b/" + _plain(b'"%s"' % match[1] if match[1] else match[2])
    return None


def _split(diff: bytes) -> list[bytes]:
    """Parts of a diff, one per file; what stands before the first is dropped."""
    starts = [match.start() for match in _SECTION.finditer(diff)]
    parts = [diff[a:b] for a, b in zip(starts, [*starts[1:], len(diff)], strict=False)]
    merged: list[bytes] = []
    for part in parts:  # `diff --git` and `Index:` come before `---` of the same file
        if merged and part.startswith(b"--- ") and not _OLD_NEW.search(merged[-1]):
            merged[-1] += part
        else:
            merged.append(part)
    return merged


def sections(diff: bytes, exclude: Sequence[str] = ()) -> bytes:
    """The diff without the files that a glob of `exclude` names; raise UsageError when nothing is left."""
    parts = _split(diff)
    if not parts:
        what = "it is empty" if not diff.strip() else "there is no diff in it"
        raise UsageError(what, hint="rebasekit import --help")
    kept = [part for part in parts if not _named(_path(part) or "", exclude)]
    if not kept:
        raise UsageError("`--exclude` leaves nothing of the diff")
    return b"".join(kept)


def _named(path: str, globs: Sequence[str]) -> bool:
    bare = path.partition("/")[2]
    return any(fnmatch.fnmatchcase(path, glob) or fnmatch.fnmatchcase(bare, glob) for glob in globs)


def strip_of(diff: bytes, files: Collection[str]) -> int:
    """How many leading parts of the diff's paths are not the store's: `b/python/sglang/…` has two.

    Raises UsageError for a file that lies elsewhere than the others.
    """
    found = [path for part in _split(diff) if (path := _path(part))]
    folders = {name.rpartition("/")[0] for name in files}

    def known(path: str, strip: int) -> int:
        rest = path.split("/")[strip:]
        return 2 * ("/".join(rest) in files) + (len(rest) > 1 and "/".join(rest[:-1]) in folders)

    strip = max((1, 0, 2, 3, 4), key=lambda n: sum(known(path, n) for path in found))  # the first of the best
    if strip > 1:
        prefixes = ["/".join(path.split("/")[1:strip]) for path in found]
        scores = Counter[str]()
        for path, own in zip(found, prefixes, strict=True):
            scores[own] += known(path, strip)
        prefix = max(scores, key=lambda own: scores[own])
        outside = [path for path, own in zip(found, prefixes, strict=True) if own != prefix]
        if outside:
            bare = outside[0].partition("/")[2]
            raise UsageError(
                f"the diff changes `{bare}`, which is not below `{prefix}/` and not part of the release",
                hint=f"--exclude '{bare.partition('/')[0]}/*'",
            )
    return strip
