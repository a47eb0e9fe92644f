"""From placements to probes and back: which lines of a hunk can run, and what the probe wrote down."""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType

RAN, IMPORTED, NEVER = "ran", "imported only", "never"


@dataclass(frozen=True)
class Runnable:
    """A hunk's lines that have code, 1-based: inside functions, and in module or class bodies."""

    hunk: str
    file: str
    functions: frozenset[int]
    bodies: frozenset[int]

    @property
    def lines(self) -> frozenset[int]:
        """The lines that show whether the hunk works: a body runs when it is imported, which says nothing of it."""
        return self.functions or self.bodies


@dataclass
class Notes:
    """What the probe of one process wrote."""

    lines: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    bodies: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    files: set[str] = field(default_factory=set)
    classes: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    stand_ins: set[str] = field(default_factory=set)


def runnable(hunk: str, file: str, source: bytes, lines: Iterable[int]) -> Runnable:
    """Which of the lines have code. Raises SyntaxError when the file is no Python."""
    functions: set[int] = set()
    bodies: set[int] = set()
    for code in _codes(compile(source, file, "exec", dont_inherit=True)):
        found = {line for _, _, line in code.co_lines() if line}
        (functions if code.co_flags & inspect.CO_OPTIMIZED else bodies).update(found)
    mine = set(lines)
    # The `def` line belongs to the body around it, and to the function on some versions.
    return Runnable(hunk, file, frozenset(mine & functions - (mine & bodies)), frozenset(mine & bodies))


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def read_notes(folder: Path, root: Path) -> dict[int, Notes]:
    """What every process wrote, by process; paths relative to `root`, the folder that the package lies in."""
    found: dict[int, Notes] = {}
    for path in folder.glob("*.tsv"):
        notes = found.setdefault(int(path.stem), Notes())
        for line in path.read_text().splitlines():
            kind, *what = line.split("\t")
            if kind in ("run", "body"):
                (notes.lines if kind == "run" else notes.bodies)[_below(what[0], root)].add(int(what[1]))
            elif kind == "file":
                notes.files.add(_below(what[0], root))
            elif kind == "class":
                notes.classes[what[0]].add(what[1])
            elif kind == "stand-in":
                notes.stand_ins.add(what[0])
    return found


def _below(path: str, root: Path) -> str:
    return path.removeprefix(f"{root}/")


def state(hunk: Runnable, notes: Notes) -> tuple[str, frozenset[int]]:
    """What of a hunk ran in one process, and which of its lines."""
    hits = notes.lines[hunk.file] | (set() if hunk.functions else notes.bodies[hunk.file])
    ran = hunk.lines & hits
    if ran:
        return RAN, frozenset(ran)
    imported = hunk.file in notes.files or hunk.bodies & notes.bodies[hunk.file]
    return (IMPORTED if imported else NEVER), frozenset()


def role(title: str) -> str:
    """`TP0` of `sglang::scheduler_TP0`, `detokenizer`, or `server` for a process without a title of its own."""
    ranks = re.search(r"_((?:[A-Z]+\d+_?)+)\s*$", title)
    if ranks:
        return ranks[1].strip("_")
    name = title.rpartition("::")[2] if "::" in title else ""
    return name or "server"


def config(
    hunks: Iterable[Runnable], classes: Iterable[str], files: Mapping[str, str], root: Path
) -> dict[str, object]:
    """What the probe has to watch; `files` gives the file of each class."""
    lines: dict[str, set[int]] = defaultdict(set)
    for hunk in hunks:
        lines[str(root / hunk.file)] |= hunk.functions | hunk.bodies
    watched: dict[str, list[str]] = defaultdict(list)
    for name in classes:
        watched[str(root / files[name])].append(name)
    return {"effects": {path: sorted(each) for path, each in lines.items()}, "classes": dict(watched)}
