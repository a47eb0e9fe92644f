"""Facts of a tree without linking all of it: what needs the whole tree is computed when it is first asked for.

`facts.open_facts` links everything, reachability included, and keeps it. For a patched tree that is looked at once
that costs more than the answers; here names and classes are linked in memory, and reachability only if asked.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from rebasekit.facts.collect import paused
from rebasekit.facts.database import Database
from rebasekit.facts.gather import Progress, gather
from rebasekit.facts.hierarchy import link_classes
from rebasekit.facts.link import index_names, load_program, settle
from rebasekit.facts.parts import Names, Unkept, bucket_part, unpack_part
from rebasekit.facts.program import Program
from rebasekit.facts.query import Facts
from rebasekit.facts.resolve import Resolver
from rebasekit.facts.settings import Settings
from rebasekit.facts.source import SourceTree


class LazyParts(Unkept):
    """A tree's linked parts, made on demand."""

    def __init__(self, program: Program, settings: Settings) -> None:
        self._program = program
        self._settings = settings

    def read(self, part: str) -> Any:
        with paused():
            if part == "classes":
                hierarchy = link_classes(self._program, Resolver(self._program))
                return hierarchy.links, hierarchy.children
            if part == "defined":
                return unpack_part(self._index["defined"])
            return unpack_part(settle(self._program, self._settings)[part])

    @cached_property
    def _index(self) -> dict[str, bytes]:
        with paused():
            return index_names(self._program)

    def names(self, number: int) -> Names:
        packed = self._index.get(bucket_part(number))
        names: Names = unpack_part(packed) if packed else {}
        return names


def lazy_facts(cache: Path, tree: SourceTree, settings: Settings, progress: Progress | None = None) -> Facts:
    """Facts of `tree`; files that the cache in folder `cache` does not have are read first."""
    database = Database(cache)
    gather(database, tree, progress)
    with paused():
        program, _linked = load_program(database, tree)
    return Facts(program, settings, LazyParts(program, settings))
