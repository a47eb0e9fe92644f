"""A hunk's own lines: inline, or in a body file beside `patch.toml` (new files also in `kernels/`)."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from rebasekit.model.hunk import Place
from rebasekit.patches.files import Files, Unreadable
from rebasekit.patches.problems import short
from rebasekit.patches.table import Table
from rebasekit.patches.toml import CRLF_HINT

KERNELS = "kernels"
STATEMENTS = frozenset({Place.BEFORE, Place.AFTER, Place.REPLACE, Place.FIRST, Place.LAST})


@dataclass(frozen=True)
class Folder:
    """Where a patch lies: `path` relative to the root of `files`."""

    files: Files
    path: str


def body_path(folder: str, body: str, place: Place) -> str:
    """The body file's path below the root; raise ValueError with the reason when it may not lie there."""
    if not body.strip():
        raise ValueError("is empty")
    if body.startswith("/") or "\\" in body or ":" in body or any(ord(char) < 32 for char in body):
        raise ValueError("is not a relative path with `/`")
    path = posixpath.normpath(posixpath.join(folder, body))
    if path.startswith(f"{folder}/"):
        return path
    if path.startswith(f"{KERNELS}/") and place is Place.NEW_FILE:
        return path
    if path.startswith(f"{KERNELS}/"):
        raise ValueError("lies in `kernels/`, which only a new-file hunk may use")
    raise ValueError("lies outside the patch folder")


def read_lines(table: Table, folder: Folder, place: Place, keep: bool) -> tuple[str, str | None] | None:
    """Our lines and the body file's name (None when inline) as the table gives them; None when it gives neither."""
    body, inline = table.raw("body"), table.raw("lines")
    if body is not None and inline is not None:
        table.problem("body", "stands beside `lines`; a hunk has one of them")
    if place is Place.DELETE and (body is not None or inline is not None):
        table.problem("body" if body is not None else "lines", "is not used with place `delete`")
        return None
    if body is not None:
        text = _read_file(table, folder, place, keep, body)
        return None if text is None else (text, body)
    if inline is None:
        return None
    message = _text_problem(inline, place, keep)
    if message:
        table.problem("lines", message)
        return None
    return inline, None


def _read_file(table: Table, folder: Folder, place: Place, keep: bool, body: str) -> str | None:
    try:
        path = body_path(folder.path, body, place)
    except ValueError as error:
        table.problem("body", f"{short(body)} {error}" if body else str(error))
        return None
    home = KERNELS if path.startswith(f"{KERNELS}/") else folder.path
    if not folder.files.inside(path, home):
        table.problem("body", f"{short(body)} leads out of `{home}` through a link")
        return None
    try:
        text = folder.files.read(path).decode("utf-8")
    except Unreadable as error:
        table.problem("body", f"{short(body)} {error}")
        return None
    except UnicodeDecodeError as error:
        table.problem("body", f"{short(body)} is not UTF-8 at byte {error.start}")
        return None
    message = _text_problem(text, place, keep)
    if message:
        table.problem("body", f"{short(body)} {message}", hint=CRLF_HINT if "\r" in text and not keep else None)
        return None
    return text


def _text_problem(text: str, place: Place, keep: bool) -> str | None:
    if "\0" in text:
        return "has a NUL character"
    if "\r" in text and not keep:
        kind = "CRLF line ends" if "\r\n" in text else "a lone carriage return"
        return f'has {kind}; they were converted on checkout, or the hunk needs `newlines = "keep"`'
    if not text.strip() and place is not Place.NEW_FILE:
        return "has no lines"
    if text.startswith("\ufeff") and place not in (Place.NEW_FILE, Place.TEXT, Place.EDIT):
        return "begins with a byte order mark"
    if place in STATEMENTS and not keep:  # kept lines are used as they are, indentation included
        first = next(line for line in text.splitlines() if line.strip())
        if first[0] in " \t":
            return "is indented; lines are written from column 0 and indented where they land"
    return None
