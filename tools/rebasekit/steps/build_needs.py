"""What has to be installed for a release: its wheel's own requirements, less and plus what `serve/cpu.toml` argues."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.metadata import Metadata
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from rebasekit.errors import PatchsetError
from rebasekit.model.tag import Tag, in_range

EXCEPTIONS = "serve/cpu.toml"
_TABLES = ("pin", "add", "leave-out")


@dataclass(frozen=True)
class Rule:
    """One exception: requirements (or bare names), the tags that it is for, and why."""

    kind: str
    packages: tuple[str, ...]
    why: str
    tags: str | None = None


@dataclass(frozen=True)
class Exceptions:
    """The file's rules. `first` names the packages that are installed before the rest."""

    rules: tuple[Rule, ...] = ()
    first: tuple[str, ...] = ()

    def of(self, kind: str, tag: Tag) -> Iterable[str]:
        for rule in self.rules:
            if rule.kind == kind and in_range(tag, rule.tags):
                yield from rule.packages


@dataclass(frozen=True)
class Needs:
    """Requirement lines in two groups; equal for two releases that can share an environment."""

    first: tuple[str, ...]
    rest: tuple[str, ...]


def read_exceptions(root: Path, name: str = EXCEPTIONS) -> Exceptions:
    """Read the project's file; nothing is excepted when there is none. Raises PatchsetError for a wrong one."""
    path = root / name
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Exceptions()
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PatchsetError(name, f"cannot be read: {error}") from None
    if unknown := sorted(set(data) - {*_TABLES, "first"}):
        raise PatchsetError(name, f"`{unknown[0]}` is not known; the tables are `pin`, `add` and `leave-out`")
    rules = [_rule(name, kind, entry) for kind in _TABLES for entry in data.get(kind, [])]
    return Exceptions(tuple(rules), tuple(data.get("first", [])))


def _rule(name: str, kind: str, entry: dict[str, Any]) -> Rule:
    where = f"{name}: {kind}"
    if unknown := sorted(set(entry) - {"packages", "why", "tags"}):
        raise PatchsetError(where, f"`{unknown[0]}` is not known")
    if not str(entry.get("why", "")).strip():
        raise PatchsetError(where, "`why` is missing: say why this machine needs the exception")
    packages = entry.get("packages") or []
    for text in packages:
        try:
            requirement = Requirement(text)
        except InvalidRequirement as error:
            raise PatchsetError(where, f"`{text}` is not a requirement: {str(error).splitlines()[0]}") from None
        if kind == "leave-out" and requirement.specifier:
            raise PatchsetError(where, f"`{text}` has a version; a package is left out by its name alone")
    if not packages:
        raise PatchsetError(where, "`packages` is missing")
    return Rule(kind, tuple(packages), entry["why"], entry.get("tags"))


def needs(metadata: Metadata, exceptions: Exceptions, tag: Tag) -> Needs:
    """The requirements of the release on this interpreter and platform, extras left out, with the exceptions."""
    left_out = {canonicalize_name(name) for name in exceptions.of("leave-out", tag)}
    lines: dict[str, str] = {}
    for requirement in metadata.requires_dist or []:
        name = canonicalize_name(requirement.name)
        if name not in left_out and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
            requirement.marker = None
            lines[name] = str(requirement)
    for kind in ("pin", "add"):
        for text in exceptions.of(kind, tag):
            name = canonicalize_name(Requirement(text).name)
            if kind == "add" or name in lines:  # a pin is for what is asked for anyway
                lines[name] = text
    first = [canonicalize_name(name) for name in exceptions.first]
    return Needs(
        tuple(lines[name] for name in first if name in lines),
        tuple(lines[name] for name in sorted(lines) if name not in first),
    )
