"""Names that come from files, checked before anything is opened with them."""

from __future__ import annotations

import re

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def path_problem(text: str) -> str | None:
    """Why `text` is not a path as the store has them (relative, forward slashes, no `..`, no `.git`), or None."""
    if not text:
        return "is empty"
    if len(text) > 1024:
        return "is longer than 1024 characters"
    if _HIDDEN.search(text):
        return "has a control character"
    if "\\" in text:
        return "has a backslash; paths are written with `/`"
    if text.startswith("/") or re.match(r"[A-Za-z]:", text):
        return "is absolute; paths are relative to the tree's root"
    parts = text.split("/")
    if ".." in parts:
        return "has `..`"
    if "" in parts or "." in parts:
        return "has an empty part or `.`"
    # Windows and macOS treat these spellings as `.git` too; git itself refuses them.
    if any(re.fullmatch(r"(?i)\.git[ .]*(:.*)?|git~[0-9]+", part) for part in parts):
        return "leads into `.git`"
    return None


def name_problem(text: str) -> str | None:
    """Why `text` cannot name a patch or a hunk, or None."""
    if NAME.fullmatch(text) and ".." not in text and not text.endswith("."):
        return None
    return "is not a name: lower-case letters, digits, `.`, `_` and `-`, first a letter or digit"


def line_problem(text: str) -> str | None:
    """Why `text` is not one line of printable text, or None."""
    if len(text) > 4000:
        return "is longer than 4000 characters"
    if _HIDDEN.search(text):
        return "has a line end or a control character"
    return None


def prose_problem(text: str) -> str | None:
    """Why `text` is not printable text of any number of lines, or None."""
    return "has a control character" if _HIDDEN.search(text.replace("\n", "").replace("\t", "")) else None
