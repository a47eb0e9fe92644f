"""One Python file as text, lines and syntax tree."""

from __future__ import annotations

import ast
import bisect
import codecs
import functools
import io
import re
import tokenize
import warnings
from dataclasses import dataclass
from functools import cached_property

_FAR_DECORATOR = re.compile(r"^[ \t\f]*@[ \t]*[(\\]", re.MULTILINE)
LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")


class Unreadable(Exception):
    """A file cannot be read as Python; `str()` is the reason, for people."""


def split_lines(text: str) -> list[str]:
    """Lines with their ends, where Python sees them: `str.splitlines` would also split at form feeds."""
    return LINE.findall(text)


def decode(data: bytes) -> tuple[str, str, bytes]:
    """Text, codec and byte order mark of a Python file; raise Unreadable when its bytes are not its encoding's."""
    bom = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    try:
        # with a mark in front, Python refuses every declared encoding but UTF-8, and so does this
        codec = tokenize.detect_encoding(io.BytesIO(data).readline)[0].removesuffix("-sig")
        text = data[len(bom) :].decode(codec)
        if text.encode(codec) != data[len(bom) :]:
            raise Unreadable(f"its bytes do not survive decoding as {codec}")
    except (SyntaxError, UnicodeError, LookupError) as error:
        raise Unreadable(f"not readable text: {error}") from None
    return text, codec, bom


@dataclass(frozen=True)
class Source:
    """A Python file. Lines are numbered from 1, offsets are into `text`, line ends are as they were."""

    text: str
    codec: str = "utf-8"
    bom: bytes = b""

    @classmethod
    def of(cls, data: bytes) -> Source:
        """Decode and parse; raise Unreadable."""
        return _source(data)

    def with_text(self, text: str) -> Source:
        return Source(text, self.codec, self.bom)

    def encode(self) -> bytes:
        try:
            return self.bom + self.text.encode(self.codec)
        except UnicodeEncodeError as error:
            raise Unreadable(f"our lines do not fit the file's encoding: {error}") from None

    @cached_property
    def tree(self) -> ast.Module:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(self.text)
        except SyntaxError as error:
            raise Unreadable(f"line {error.lineno or 1}: {error.msg}") from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise Unreadable(str(error) or type(error).__name__) from None
        if _FAR_DECORATOR.search(self.text):
            _mark_first_lines(tree, self.lines)
        return tree

    @cached_property
    def lines(self) -> list[str]:
        return split_lines(self.text)

    @cached_property
    def starts(self) -> list[int]:
        """Offset of each line's first character, and the text's length last."""
        starts = [0]
        for line in self.lines:
            starts.append(starts[-1] + len(line))
        return starts

    @cached_property
    def newline(self) -> str:
        """The line end that most lines have."""
        crlf = self.text.count("\r\n")
        return "\r\n" if crlf * 2 > self.text.count("\n") else "\n"

    def offset(self, line: int, column: int) -> int:
        """Offset of an `ast` position: `column` counts UTF-8 bytes, as `col_offset` does."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        if text.isascii():
            return self.starts[line - 1] + column
        return self.starts[line - 1] + len(text.encode()[:column].decode(errors="ignore"))

    def start(self, node: ast.stmt | ast.expr | ast.arg | ast.keyword) -> int:
        return self.offset(node.lineno, node.col_offset)

    def end(self, node: ast.stmt | ast.expr | ast.arg | ast.keyword) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.offset(node.end_lineno, node.end_col_offset)

    def slice(self, first: int, last: int) -> str:
        """Text of the lines `first` … `last`, both included."""
        return "".join(self.lines[first - 1 : last])

    def line_at(self, offset: int) -> int:
        """Number of the line that holds the offset."""
        return max(1, min(bisect.bisect_right(self.starts, offset), len(self.lines) or 1))


@functools.lru_cache(maxsize=32)  # hunks come file by file, and a large file's tree takes 20 MB
def _source(data: bytes) -> Source:
    text, codec, bom = decode(data)
    source = Source(text, codec, bom)
    _ = source.tree
    return source


def _mark_first_lines(tree: ast.Module, lines: list[str]) -> None:
    """Note where definitions begin whose `@` stands on a line before the decorator's expression."""
    for node in ast.walk(tree):
        decorators: list[ast.expr] = getattr(node, "decorator_list", [])
        if decorators:
            line = decorators[0].lineno
            while line > 1 and not lines[line - 1].lstrip(" \t\f").startswith("@"):
                line -= 1
            node._rk_first = line  # type: ignore[attr-defined]
