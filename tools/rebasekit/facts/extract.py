"""One pass over a file's syntax tree."""

from __future__ import annotations

from itertools import accumulate

from rebasekit.facts.blocks import BlockReader
from rebasekit.facts.packed import Packed, pack_file
from rebasekit.facts.parse import Parsed, Unread, parse
from rebasekit.facts.records import MODULE
from rebasekit.facts.writer import ScopeWriter


class FileReader(BlockReader):
    """Reads a whole file; `scopes` holds its module, classes and functions in source order."""

    def __init__(self, parsed: Parsed) -> None:
        self.lines = parsed.lines
        self.source = memoryview(parsed.text)
        self.starts = list(accumulate([len(line) + 1 for line in parsed.lines], initial=0))
        self.guards = [(0, "", True, 0)]
        self.guard = 0
        self.scopes: list[ScopeWriter] = []
        self.scope = self.open(MODULE, "", 0, (1, len(parsed.lines)))
        self.block(parsed.tree.body)

    def drop_plain(self) -> None:
        """Forget what leads nowhere (`ScopeWriter.drop_plain`), now that all names are known."""
        stars = any(item[0] == "*" for scope in self.scopes for item in scope.imports)
        known = None if stars else {name for scope in self.scopes for name in scope.bound}
        for scope in self.scopes:
            scope.drop_plain(known)


def extract(data: bytes) -> Packed | Unread:
    """One file's facts, packed (see `records`); `FileFacts` unpacks it."""
    parsed = parse(data)
    if isinstance(parsed, Unread):
        return parsed
    try:
        reader = FileReader(parsed)
        reader.drop_plain()
        return pack_file([scope.pack() for scope in reader.scopes], reader.guards)
    except (RecursionError, MemoryError):
        return Unread("nesting: too deep to read")
    except ValueError as error:
        return Unread(f"too large to keep: {error}")
