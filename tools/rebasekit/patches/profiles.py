"""`patchset/profiles/NAME.toml`: a deployment as data. docs/profiles.md describes the keys."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rebasekit.model.profile import Card, Chains, Profile, Value
from rebasekit.model.size import parse_size
from rebasekit.model.tag import Tag
from rebasekit.patches.files import Files
from rebasekit.patches.lines import LineProblems
from rebasekit.patches.paths import line_problem, name_problem
from rebasekit.patches.problems import short
from rebasekit.patches.ranges import range_problem, read_tag
from rebasekit.patches.table import Table
from rebasekit.patches.toml import parse_toml, read_toml

_FLAG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_MOST = 1 << 40
OWN = ("model-path", "model")
"""Flags that the profile has keys of their own for."""


def load_profile(path: Path) -> Profile:
    """Read a profile; raise PatchsetProblems with everything that is wrong with it, each with its line."""
    folder = path.absolute().parent
    shown = path.name if folder.name != "profiles" else f"{folder.parent.name}/profiles/{path.name}"
    problems = LineProblems()
    files = Files(folder)
    data = read_toml(files, path.name, shown, problems)
    problems.check()
    assert data is not None
    problems.read(files.read(path.name).decode(), shown)
    return _read(data, path.name.removesuffix(".toml"), shown, problems)


def profile_of(text: str, name: str) -> Profile:
    """The same for a text; `name` is what the file would be called."""
    shown, problems = f"{name}.toml", LineProblems()
    data = parse_toml(text.encode(), shown, problems)
    problems.check()
    assert data is not None
    problems.read(text, shown)
    return _read(data, name, shown, problems)


def _read(data: Mapping[str, Any], name: str, shown: str, problems: LineProblems) -> Profile:
    table = Table(data, shown, problems)
    if (message := name_problem(name)) is not None:
        table.problem("", f"{short(name)} {message}")
    model, config = _model(table)
    found = Profile(
        name=name,
        title=table.text("title", required=True),
        why=table.prose("why", required=True),
        tag=read_tag(table, "tag") or Tag("v0"),
        tags=table.text("tags", check=range_problem) or None,
        module=table.text("module", required=True, check=lambda text: _wrong(_MODULE, text, "is not a module")),
        model=model,
        config=config,
        patched=_switch(table, "patched", True),
        stand_ins=_switch(table, "stand-ins", False),
        card=_card(table),
        chains=_chains(table),
        arguments=_arguments(table),
        environment=_environment(table),
        sources=_sources(table),
    )
    table.close()
    problems.check()
    return found


def _wrong(pattern: re.Pattern[str], text: str, message: str) -> str | None:
    return None if pattern.fullmatch(text) else message


def _switch(table: Table, key: str, default: bool) -> bool:
    if not table.has(key):
        return default
    value = table.data[key]
    if isinstance(value, bool):
        return value
    table.problem(key, "must be a boolean")
    return default


def _model(table: Table) -> tuple[str, dict[str, Any]]:
    inner = table.table("model", required=True)
    if inner is None:
        return "", {}
    path = inner.text("path", required=True)
    config = inner.table("config")
    inner.close()
    return path, dict(config.data) if config else {}


def _card(table: Table) -> Card:
    inner = table.table("card")
    if inner is None:
        return Card()
    found = {}
    for key in ("total", "free", "weights"):
        text = inner.text(key, check=_size_problem)
        found[key] = parse_size(text) if text else 0
    inner.close()
    if found["total"] and found["free"] > found["total"]:
        inner.problem("free", "is more than `total`")
    return Card(**found)


def _size_problem(text: str) -> str | None:
    try:
        parse_size(text)
    except ValueError:
        return "is not a size such as `11.4 GiB`"
    return None


def _chains(table: Table) -> Chains | None:
    inner = table.table("chains")
    if inner is None:
        return None
    found = Chains(
        inner.number("length", 1, _MOST, required=True, default=1),
        inner.number("count", 1, _MOST, default=1),
        inner.number("dense-copies", 0, 64),
    )
    inner.close()
    return found


def _arguments(table: Table) -> dict[str, Value]:
    inner = table.table("arguments", required=True)
    found: dict[str, Value] = {}
    for key, value in inner.data.items() if inner else ():
        assert inner is not None
        if not _FLAG.fullmatch(key):
            near = f"; write `{plain}`" if _FLAG.fullmatch(plain := key.lstrip("-").replace("_", "-").lower()) else ""
            inner.problem(short(key)[1:-1], f"is not a flag's name{near}")
        elif key in OWN:
            inner.problem(key, "has a place of its own: `path` in `[model]`")
        elif value is False:
            inner.problem(key, "is off when it is left out; `false` is no value of a flag")
        elif isinstance(value, list) and value and all(_plain(each) for each in value):
            found[key] = tuple(value)
        elif value is True or _plain(value):
            found[key] = value
        else:
            inner.problem(key, "must be `true`, a string, a number, or a list of strings and numbers")
    return found


def _plain(value: Any) -> bool:
    if isinstance(value, str):
        return line_problem(value) is None and value != ""
    return type(value) in (int, float) and abs(value) <= _MOST


def _environment(table: Table) -> dict[str, str]:
    inner = table.table("environment")
    found = {}
    for key in inner.data if inner else ():
        assert inner is not None
        if not _VARIABLE.fullmatch(key):
            inner.problem(short(key)[1:-1], "is not the name of an environment variable")
            continue
        found[key] = inner.text(key)
    return found


def _sources(table: Table) -> dict[str, tuple[str, ...]]:
    """Every value of a deployment has one source, and every key that a source names is there."""
    inner = table.table("sources")
    if inner is None:
        return {}
    found = {key: inner.texts(key) for key in inner.data}
    groups = ("model", "card", "chains", "arguments", "environment")
    there = [
        f"{group}.{key}" for group in groups if isinstance(table.data.get(group), dict) for key in table.data[group]
    ]
    seen: dict[str, str] = {}
    for source, keys in found.items():
        for key in keys:
            if key in seen:
                inner.problem(source, f"{short(key)} is from `{seen[key]}` already")
            elif key not in there:
                near = difflib.get_close_matches(key[:100], there, 1)
                inner.problem(source, f"there is no {short(key)}" + (f"; did you mean `{near[0]}`?" if near else ""))
            seen[key] = source
    for key in there:
        if key not in seen:
            inner.problem("", f"says nothing about {short(key)}")
    return found
