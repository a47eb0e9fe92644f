"""Which paths may enter a commit: the rules that archives, git sources and series share."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

# Code points that HFS+ ignores in names: `.g\\u200cit` is `.git` there (git's utf8.c, CVE-2014-9390).
_IGNORED = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
_GIT = re.compile(r"\.git[ .]*(:.*)?|git~[0-9]+[ .]*(:.*)?", re.IGNORECASE)
_COMPILED = re.compile(r"\.(so(\.[0-9]+)*|pyd|dylib|a|lib|dll|o|obj|exe|py[co]|cubin|fatbin)$", re.IGNORECASE)
_LONGEST = 4096


def refuse(path: str) -> str | None:
    """Why `path` may not be written below a directory, or None when it may."""
    if not path:
        return "an empty name"
    if len(path) > _LONGEST:
        return "a name that is too long"
    if path.startswith("/"):
        return "an absolute path"
    if "\\" in path:
        return "a backslash"
    if re.match(r"[A-Za-z]:", path):
        return "a drive letter"
    if any(unicodedata.category(c) in ("Cc", "Cs") for c in path):
        return "a control character or broken encoding"
    for part in path.split("/"):
        if part in ("", ".", ".."):
            return f"the component `{part}`"
        if _GIT.fullmatch(_IGNORED.sub("", part)):
            return "a component that is `.git` on some system"
    return None


def fold(path: str) -> str:
    """The name under which a case- and normalisation-insensitive file system would know `path`."""
    return unicodedata.normalize("NFC", path).casefold()


def clash(files: Iterable[str]) -> tuple[str, str] | None:
    """Two of the names that cannot both be files of one directory tree on every system, or None."""
    seen: dict[str, str] = {}
    for path in files:
        if (folded := fold(path)) in seen:
            return seen[folded], path
        seen[folded] = path
    for folded, path in seen.items():
        parent = folded.rpartition("/")[0]
        while parent:
            if parent in seen:
                return seen[parent], path
            parent = parent.rpartition("/")[0]
    return None


def compiled(path: str, head: bytes = b"") -> bool:
    """Whether the file is built for one machine or interpreter, by name or by ELF's first bytes."""
    return bool(_COMPILED.search(path)) or head.startswith(b"\x7fELF")
