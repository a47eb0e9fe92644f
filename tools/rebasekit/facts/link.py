"""Linking a tree: everything that needs all files at once, computed one time and kept as parts."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable

from rebasekit.facts.collect import paused
from rebasekit.facts.database import Database
from rebasekit.facts.file import FileFacts
from rebasekit.facts.gather import gather
from rebasekit.facts.hierarchy import link_classes
from rebasekit.facts.parts import BUCKETS, Linked, Names, Parts, bucket, bucket_part, pack, pack_open, reach_part
from rebasekit.facts.program import Program
from rebasekit.facts.reachability import Reachability
from rebasekit.facts.records import CLASS, FUNCTION, MODULE
from rebasekit.facts.resolve import Resolver
from rebasekit.facts.settings import Settings
from rebasekit.facts.source import SourceTree

_NONE = array("I")
MISSING = "not in the cache"


def index_names(program: Program) -> dict[str, bytes]:
    """Buckets of definitions and mentions by simple name."""
    defined: defaultdict[str, list[int]] = defaultdict(list)
    assigned: defaultdict[str, dict[int, None]] = defaultdict(dict)
    for index in range(len(program.paths)):
        start = program.first[index]
        for local, head in enumerate(program.file(index).heads):
            if head[0] in (CLASS, FUNCTION):
                defined[head[1].rpartition(".")[2]].append(start + local)
            if head[0] in (CLASS, MODULE):
                for name in head[10].split():
                    assigned[name][index] = None
    mentions = _mentions(program)
    buckets: list[Names] = [{} for _ in range(BUCKETS)]
    for name in {*mentions, *defined, *assigned}:
        row = (tuple(defined.get(name, ())), mentions.pop(name, _NONE).tobytes(), tuple(assigned.get(name, ())))
        buckets[bucket(name)][name] = row
    found = {bucket_part(n): pack(names) for n, names in enumerate(buckets) if names}
    found["defined"] = pack(sorted(defined))
    return found


def _mentions(program: Program) -> dict[str, array[int]]:
    """Scopes that mention each name."""
    found: defaultdict[str, array[int]] = defaultdict(lambda: array("I"))
    for index in range(len(program.paths)):
        start = program.first[index]
        for local, names in program.file(index).mentioned():
            for name in names:
                found[name].append(start + local)
    return found


Step = Callable[[str, int, int], None]  # what is done, how much, of how much


def link_tree(database: Database, tree: SourceTree, settings: Settings, progress: Step | None = None) -> Linked:
    """Read and link `tree` as far as the database lacks it."""
    linked = Parts(database, tree.key).linked(settings)
    if linked is not None:
        return linked
    if progress:
        progress("reading", 0, 1)
    reading = (lambda done, total: progress("reading", done, total)) if progress else None
    gather(database, tree, reading)
    if progress:
        progress("linking", 0, 1)
    with paused():
        program, linked = load_program(database, tree)
        if lost := [blob for path, blob in tree.listing().items() if linked.unread.get(path) == MISSING]:
            database.forget(lost)  # rows that do not match their checksum: read those files again
            gather(database, tree, reading)
            program, linked = load_program(database, tree)
        # In this order: what reachability needs is freed before the index is built, so the peaks do not add up.
        parts = settle(program, settings)
        parts.update(index_names(program))
        parts["program"] = pack_open(tuple(linked))
    database.set_parts(tree.key, parts)
    if progress:
        progress("linking", 1, 1)
    return linked


def settle(program: Program, settings: Settings, roots: Iterable[int] = ()) -> dict[str, bytes]:
    """Links between classes, and liveness; `roots` are scopes taken to run besides the entries."""
    resolver = Resolver(program)
    hierarchy = link_classes(program, resolver)
    reached = Reachability(program, resolver, hierarchy, settings).run(roots)
    found = (bytes(reached.state), reached.parent.tobytes(), reached.line.tobytes())
    return {
        "classes": pack((hierarchy.links, hierarchy.children)),
        reach_part(settings): pack_open(found),
    }


def load_program(database: Database, tree: SourceTree) -> tuple[Program, Linked]:
    """The whole tree in memory."""
    listing = tree.listing()
    paths = sorted(listing)
    places: dict[str, list[int]] = {}
    for index, path in enumerate(paths):
        places.setdefault(listing[path], []).append(index)
    files: list[FileFacts | None] = [None] * len(paths)
    unread: dict[str, str] = {}
    for blob, reason, outline, rest in database.blobs(places):
        for index in places.pop(blob):
            files[index] = FileFacts(index, paths[index], *((outline, rest) if reason is None else (b"", b"")))
            if reason is not None:
                unread[paths[index]] = reason
    for indexes in places.values():
        unread.update((paths[index], MISSING) for index in indexes)
    whole = [file or FileFacts(index, paths[index], b"") for index, file in enumerate(files)]
    sizes = tuple(map(len, whole))
    linked = Linked(tuple(paths), tuple(listing[path] for path in paths), sizes, unread)
    return Program(paths, list(sizes), whole.__getitem__, unread), linked
