"""From bytes to a syntax tree, or to the reason why a file cannot be read."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from dataclasses import dataclass

# PEP 263, on the first two lines. One search per line: a line may have a hundred megabytes.
_CODING = re.compile(rb"coding[:=]")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Parsed:
    """A syntax tree, the UTF-8 text its columns count in, and the lines of it."""

    tree: ast.Module
    text: bytes
    lines: list[bytes]


@dataclass(frozen=True)
class Unread:
    """A file that could not be read, and why; whoever needs it must not answer as if it had been read."""

    reason: str


def decode(data: bytes) -> str:
    """Text of a Python source file: byte order mark, PEP 263 coding line and any line ending; LF afterwards.

    Raises SyntaxError, LookupError or UnicodeDecodeError.
    """
    if data.startswith(_BOM) or any(map(_CODING.search, data.split(b"\n", 2)[:2])):
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    else:
        text = data.decode("utf-8")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text


def parse(data: bytes) -> Parsed | Unread:
    """Parse one file; every way in which that can fail becomes an `Unread`."""
    try:
        text = decode(data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in upstream's strings are upstream's business
            tree = ast.parse(text)
    except SyntaxError as error:
        where = f" (line {error.lineno})" if error.lineno else ""
        return Unread(f"syntax: {error.msg}{where}")
    except UnicodeDecodeError as error:
        return Unread(f"encoding: {error.reason} at byte {error.start}")
    except LookupError as error:
        return Unread(f"encoding: {error}")
    except ValueError as error:
        return Unread(f"syntax: {error}")
    except (RecursionError, MemoryError):
        return Unread("nesting: too deep to parse")
    encoded = text.encode("utf-8", "surrogatepass")
    return Parsed(tree, encoded, encoded.split(b"\n"))
