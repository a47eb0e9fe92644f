"""`upstream-map/moves.toml`: moves of upstream code that a person confirmed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rebasekit.errors import PatchsetError
from rebasekit.patches.document import Document
from rebasekit.patches.files import Files
from rebasekit.patches.paths import path_problem
from rebasekit.patches.problems import Problems
from rebasekit.patches.ranges import interval, range_problem
from rebasekit.patches.recovery import reading
from rebasekit.patches.render import pairs
from rebasekit.patches.table import Table
from rebasekit.patches.toml import parse_toml, read_toml

PATH = "upstream-map/moves.toml"


@dataclass(frozen=True)
class Location:
    """A scope of a file; the scope "" is the whole file."""

    file: str
    scope: str = ""


@dataclass(frozen=True)
class Move:
    """On `tags` (None for all), what stood at `source` stands at `target`."""

    source: Location
    target: Location
    tags: str | None = None
    why: str = ""


def load_moves(root: Path) -> tuple[Move, ...]:
    """The confirmed moves below `root` (the folder of `upstream-map/`), in file order; raise PatchsetProblems."""
    root = root.resolve()
    with reading(root):
        files = Files(root)
        if not files.exists(PATH):
            return ()
        problems = Problems()
        data = read_toml(files, PATH, PATH, problems)
    return _read(data, problems)


def add_move(text: str, move: Move) -> str:
    """The file's text (empty for a new file) with one more move; raise PatchsetProblems when they contradict."""
    document = Document(text)
    last = document.sections[-1]
    values: dict[str, object] = {"from": _values(move.source), "to": _values(move.target)}
    if move.tags is not None:
        values["tags"] = move.tags
    document.insert_after(
        len(text) if last.path == () else document.stop(len(document.sections) - 1),
        "[[move]]\n" + pairs(values | {"why": move.why}),
    )
    problems = Problems()
    if _read(parse_toml(document.text.encode(), PATH, problems), problems)[-1:] != (move,):
        raise PatchsetError(PATH, "the move does not read back as meant")
    return document.text


def _values(location: Location) -> dict[str, object]:
    return {"file": location.file, "scope": location.scope}


def _read(data: dict[str, Any] | None, problems: Problems) -> tuple[Move, ...]:
    problems.check()
    assert data is not None
    table = Table(data, PATH, problems)
    moves: list[Move] = []
    for number, raw in enumerate(table.tables("move"), 1):
        item = Table(raw, f"{PATH}: move {number}", problems)
        source, target = _location(item, "from"), _location(item, "to")
        tags = item.text("tags", check=range_problem) or None
        why = item.prose("why", required=True)
        item.close()
        if source is None or target is None:
            continue
        move = Move(source, target, tags, why)
        if source == target:
            item.problem("to", "is where it comes from")
        for other_number, other in enumerate(moves, 1):
            if interval(other.tags or ">=v0").overlaps(interval(tags or ">=v0")):
                if other.source == source:
                    item.problem("from", f"is moved by move {other_number} too, on tags that both hold")
                elif other.source == target and other.target == source:
                    item.problem("to", f"is moved back by move {other_number}, on tags that both hold")
        moves.append(move)
    table.close()
    problems.check()
    return tuple(moves)


def _location(table: Table, key: str) -> Location | None:
    inner = table.table(key, required=True)
    if inner is None:
        return None
    location = Location(inner.text("file", required=True, check=path_problem), inner.text("scope"))
    inner.close()
    return location if location.file else None
