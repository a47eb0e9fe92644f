"""TOML text to plain data, for files that may be broken or hostile."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from rebasekit.patches.files import MEGABYTE, Files, Unreadable
from rebasekit.patches.problems import Problems

CRLF_HINT = "git config core.autocrlf false"
_DOTTED = re.compile(r"[A-Za-z0-9_\"'-][ \t]*\.")
_DEPTH = 200


def read_toml(files: Files, path: str, shown: str, problems: Problems, limit: int = MEGABYTE) -> dict[str, Any] | None:
    """Read one TOML file; None when it cannot be read, which `problems` then says."""
    try:
        data = files.read(path, limit)
    except Unreadable as error:
        problems.add(shown, str(error))
        return None
    return parse_toml(data, shown, problems)


def parse_toml(data: bytes, shown: str, problems: Problems) -> dict[str, Any] | None:
    """Parse TOML; `shown` is the file's name in messages."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problems.add(f"{shown}: line {line}", "is not UTF-8")
        return None
    if text.startswith("\ufeff"):
        problems.add(f"{shown}: line 1", "begins with a byte order mark; save it as UTF-8 without one")
        return None
    if "\r\n" in text:
        problems.add(shown, "has CRLF line ends; they were converted on checkout", hint=CRLF_HINT)
    guard = _too_deep(text)
    if guard:
        problems.add(f"{shown}: line {guard}", "nests too deeply; move long text into a body file")
        return None
    try:
        return tomllib.loads(text)
    except RecursionError:
        problems.add(shown, "nests too deeply")
    except ValueError as error:
        where, message = _position(str(error), text)
        problems.add(f"{shown}: line {where}", f"is not TOML: {message}")
    return None


def _too_deep(text: str) -> int:
    """The first line with a key of absurdly many parts: the standard parser takes quadratic time and memory on it."""
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > 2 * _DEPTH and line.count(".") > _DEPTH and len(_DOTTED.findall(line)) > _DEPTH:
            return number
    return 0


def _position(message: str, text: str) -> tuple[int, str]:
    match = re.search(r"\s*\(at (?:line (\d+), column \d+|end of document)\)$", message)
    line = int(match[1]) if match and match[1] else text.count("\n") + 1
    plain = message[: match.start()] if match else message
    return line, plain[:1].lower() + plain[1:]
