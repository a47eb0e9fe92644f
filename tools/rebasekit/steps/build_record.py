"""What a build was proved to hold, as a file beside its wheel: enough to verify and smoke it where no store is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rebasekit.errors import UsageError
from rebasekit.model.hunk import Series
from rebasekit.model.tag import Tag
from rebasekit.steps.build_content import Content
from rebasekit.steps.rebase import Result

SCHEMA = 1


@dataclass(frozen=True)
class Stood:
    """Where a hunk stands on the patched tree, 1-based lines; `idle` is its reason not to run."""

    hunk: str
    file: str
    lines: tuple[int, ...]
    idle: str = ""


@dataclass(frozen=True)
class Record:
    """A placed series without the trees: digests, lines, what has to be built (class to hunks), what is pinned."""

    tag: Tag
    content: Content
    hunks: tuple[Stood, ...]
    needed: Mapping[str, tuple[str, ...]]
    pins: Mapping[str, str]


def record_of(series: Series, tag: Tag, content: Content, result: Result) -> Record:
    """The record of a series that was placed."""
    idle = {hunk.name: hunk.idle for hunk in series.hunks()}
    placed = [each for each in result.verdict.placements if each.outcome.applied]
    tree = result.outcomes.tree.bytes()
    stood = [
        Stood(each.name, each.file, tuple(each.lines), idle[each.name])
        for each in placed
        if tree.get(each.file) is not None
    ]
    needed: dict[str, tuple[str, ...]] = {}
    for each in placed:
        for need in each.form.needs if each.form else ():
            word, _, name = need.partition(" ")
            if word == "constructed":
                needed[name] = (*needed.get(name, ()), each.name)
    return Record(tag, content, tuple(stood), needed, dict(series.environment))


def path_of(wheel: Path) -> Path:
    """Beside the wheel, under its name."""
    return wheel.with_suffix(".proof.json")


def write_record(record: Record, path: Path) -> None:
    """Equal records give equal bytes."""
    data = {"schema": SCHEMA, **asdict(record), "tag": record.tag.name}
    path.write_text(json.dumps(data, indent=1) + "\n")


def read_record(path: Path, tag: Tag) -> Record:
    """Read a file that `build` wrote; raise UsageError for another file, and for another release's."""
    try:
        data: dict[str, Any] = json.loads(path.read_text())
        if data["schema"] != SCHEMA:
            raise ValueError(f"its schema is {data['schema']}, and {SCHEMA} is read")
        content = data["content"]
        found = Record(
            Tag.parse(data["tag"]),
            Content(content["name"], content["version"], content["files"], tuple(content["patched"])),
            tuple(Stood(each["hunk"], each["file"], tuple(each["lines"]), each["idle"]) for each in data["hunks"]),
            {name: tuple(hunks) for name, hunks in data["needed"].items()},
            data["pins"],
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"`{path}` is no proof of a build: {error}", hint="rebasekit build --wheel-only TAG") from None
    if found.tag != tag:
        raise UsageError(f"`{path}` is the proof of {found.tag}, not of {tag}", hint=f"rebasekit smoke {found.tag}")
    return found
