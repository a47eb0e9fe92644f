"""`serve/refusals.toml`: combinations of flags that a server refuses, or should; known without starting one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rebasekit.model.profile import Profile, Value
from rebasekit.model.tag import Tag, in_range
from rebasekit.patches.files import Files
from rebasekit.patches.lines import LineProblems
from rebasekit.patches.problems import Problems
from rebasekit.patches.ranges import range_problem
from rebasekit.patches.table import Table
from rebasekit.patches.toml import read_toml

PLACE = "serve/refusals.toml"
ANY = "*"
UNSET = ""
Wanted = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Refusal:
    """Holds when all of `when` do, and not all of `needs`. Values are words as on a command line.

    `*` is any value, the empty word stands for a flag that is not there; names in capitals are environment variables.
    """

    why: str
    when: Wanted
    needs: Wanted
    tags: str | None = None
    patched: bool = False
    """Only the patched release refuses it."""


def load_refusals(root: Path) -> tuple[Refusal, ...]:
    """Read the project's file; raise PatchsetProblems for one that is wrong or not there."""
    problems, files = LineProblems(), Files(root)
    data = read_toml(files, PLACE, PLACE, problems)
    problems.check()
    assert data is not None
    problems.read(files.read(PLACE).decode(), PLACE)
    table = Table(data, PLACE, problems)
    found = tuple(
        _refusal(Table(raw, f"{PLACE}: refusal {number}", problems), problems)
        for number, raw in enumerate(table.tables("refusal"), 1)
    )
    table.close()
    problems.check()
    return found


def _refusal(table: Table, problems: Problems) -> Refusal:
    found = Refusal(
        why=table.text("why", required=True),
        when=_wanted(table, "when", problems, required=True),
        needs=_wanted(table, "needs", problems),
        tags=table.text("tags", check=range_problem) or None,
        patched=table.data.get("patched") is True,
    )
    if table.has("patched") and not isinstance(table.data["patched"], bool):
        table.problem("patched", "must be a boolean")
    table.close()
    return found


def _wanted(table: Table, key: str, problems: Problems, *, required: bool = False) -> dict[str, tuple[str, ...]]:
    inner = table.table(key, required=required)
    found = {}
    for name, value in inner.data.items() if inner else ():
        words = value if isinstance(value, list) else [value]
        if not words or not all(isinstance(word, (str, int)) for word in words):
            problems.add(f"{table.where}: {key}", f"`{name}` must be a word, a number, `true`, or a list of them")
        found[name] = tuple(_word(word) for word in words)
    if required and inner is not None and not found:
        table.problem(key, "is empty, so it would refuse everything")
    return found


def _word(value: object) -> str:
    return "true" if value is True else "false" if value is False else str(value)


def refused(refusals: tuple[Refusal, ...], profile: Profile, tag: Tag, pins: Mapping[str, str]) -> list[str]:
    """Why `profile` would be refused on `tag`, with `pins` in its environment; nothing when it would not."""
    environment = {**pins, **profile.environment}
    said = []
    for refusal in refusals:
        if not in_range(tag, refusal.tags) or (refusal.patched and not profile.patched):
            continue
        if not all(_holds(name, words, profile.arguments, environment) for name, words in refusal.when.items()):
            continue
        missing = [
            name for name, words in refusal.needs.items() if not _holds(name, words, profile.arguments, environment)
        ]
        if not refusal.needs:
            flags = " with ".join(_shown(name) for name in refusal.when)
            said.append(f"{flags}: {refusal.why}")
        said += [f"{_shown(name)} must be {_listed(refusal.needs[name])}: {refusal.why}" for name in missing]
    return said


def _holds(name: str, words: tuple[str, ...], arguments: Mapping[str, Value], environment: Mapping[str, str]) -> bool:
    if name.isupper():
        return environment.get(name, UNSET) in words or (ANY in words and name in environment)
    if name not in arguments:
        return UNSET in words
    value = arguments[name]
    given = [_word(each) for each in value] if isinstance(value, tuple) else [_word(value)]
    return ANY in words or any(each in words for each in given)


def _shown(name: str) -> str:
    return f"`{name}`" if name.isupper() else f"`--{name}`"


def _listed(words: tuple[str, ...]) -> str:
    return " or ".join("left out" if word == UNSET else "given" if word == "true" else f"`{word}`" for word in words)
