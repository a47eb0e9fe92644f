"""What a smoke starts and asks: `serve/smoke.toml`, checked before anything is started."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rebasekit.errors import PatchsetError
from rebasekit.model.tag import Tag, in_range

PLAN = "serve/smoke.toml"
STEPS = (
    "pins", "greedy", "long-prefill", "limit", "logits", "prefix", "aligned-prefix", "concurrency", "pressure",
)  # fmt: skip
_LAUNCH_KEYS = (
    "name", "why", "arguments", "environment", "without", "steps", "patched", "refuses", "early", "log", "tags",
    "equals", "tie", "bound",
    "ranks",
)  # fmt: skip
_LIMIT_KEYS = ("ready", "request", "refusal", "stop")


@dataclass(frozen=True)
class Limits:
    """Seconds after which the smoke gives up, per kind of waiting."""

    ready: float = 300.0
    request: float = 120.0
    refusal: float = 240.0
    stop: float = 30.0


@dataclass(frozen=True)
class Launch:
    """One server. `refuses` is what it must say instead of starting, `early` while it reads its arguments; `log` are
    lines that its log must have; `equals` is the launch whose tokens it must give."""

    name: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    without: tuple[str, ...] = ()  # pins of series.toml that this launch goes without
    steps: tuple[str, ...] = ()
    patched: bool = False  # uses flags that only the patched release knows
    refuses: str = ""
    early: bool = False
    log: tuple[str, ...] = ()
    equals: str = ""
    tie: float = 0.0  # logits: two tokens so near may change places in a hit of rounded states
    ranks: int = 1  # the least that it makes sense with
    bound: float = 0.0  # nats: how far a log-probability may be from the reference's
    why: str = ""


@dataclass(frozen=True)
class Device:
    """Flags and environment that every launch on a device has."""

    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """The launches for one release, in order, and how to start them. `context` is the limit in tokens, `chunk` the
    longest prefill chunk; `warm` are modules that a start loads while it reads its arguments."""

    module: str
    launches: tuple[Launch, ...]
    devices: Mapping[str, Device]
    context: int = 512
    chunk: int = 64
    warm: tuple[str, ...] = ()
    limits: Limits = Limits()


def read_plan(root: Path, tag: Tag, name: str = PLAN) -> Plan:
    """Read the project's plan for a release; raise PatchsetError for one that is wrong or not there."""
    try:
        data = tomllib.loads((root / name).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PatchsetError(name, "is missing, so there is nothing to start", hint="see docs/serving.md") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PatchsetError(name, f"cannot be read: {error}") from None
    _known(name, data, ("module", "warm", "context", "chunk", "limits", "device", "launch"))
    launches = [_launch(f"{name}: launch {n}", each, tag) for n, each in enumerate(data.get("launch", []), 1)]
    found = tuple(launch for launch in launches if launch is not None)
    names = [launch.name for launch in found]
    if len(set(names)) != len(names) or not names:
        raise PatchsetError(f"{name}: launch", "needs at least one launch, each with a name of its own")
    for number, launch in enumerate(found):
        if launch.equals and launch.equals not in names[:number]:
            raise PatchsetError(f"{name}: launch {launch.name}", f"equals `{launch.equals}`, which is no launch before")
    limits = data.get("limits", {})
    _known(f"{name}: limits", limits, _LIMIT_KEYS)
    devices = {key: _device(f"{name}: device.{key}", each) for key, each in data.get("device", {}).items()}
    return Plan(
        _text(name, data, "module"),
        found,
        devices,
        int(data.get("context", 512)),
        int(data.get("chunk", 64)),
        _texts(name, data, "warm"),
        Limits(**{k: float(v) for k, v in limits.items()}),
    )


def _device(where: str, data: dict[str, Any]) -> Device:
    _known(where, data, ("arguments", "environment"))
    return Device(_texts(where, data, "arguments"), _pairs(where, data, "environment"))


def _launch(where: str, data: dict[str, Any], tag: Tag) -> Launch | None:
    _known(where, data, _LAUNCH_KEYS)
    steps, refuses = _texts(where, data, "steps"), str(data.get("refuses", ""))
    if unknown := [step for step in steps if step not in STEPS]:
        raise PatchsetError(f"{where}: steps", f"`{unknown[0]}` is none of {', '.join(f'`{s}`' for s in STEPS)}")
    if bool(steps) == bool(refuses):
        raise PatchsetError(
            where, "needs either `steps` or `refuses`: a server that starts is asked, or it must not start"
        )
    if data.get("early") and not refuses:
        raise PatchsetError(where, "has `early` without `refuses`: only what must not start can end that soon")
    if ("logits" in steps) != ("bound" in data):
        raise PatchsetError(where, "needs `bound`, the nats that a log-probability may be off, with `logits` alone")
    logs = _texts(where, data, "log")
    for pattern in (*logs, refuses):
        try:
            re.compile(pattern)
        except re.error as error:
            raise PatchsetError(where, f"`{pattern}` is not a regular expression: {error}") from None
    if not in_range(tag, data.get("tags")):
        return None
    return Launch(
        name=_text(where, data, "name"),
        arguments=_texts(where, data, "arguments"),
        environment=_pairs(where, data, "environment"),
        without=_texts(where, data, "without"),
        steps=steps,
        patched=bool(data.get("patched", False)),
        refuses=refuses,
        early=bool(data.get("early", False)),
        log=logs,
        equals=str(data.get("equals", "")),
        tie=float(data.get("tie", 0.0)),
        bound=float(data.get("bound", 0.0)),
        ranks=int(data.get("ranks", 1)),
        why=str(data.get("why", "")),
    )


def _known(where: str, data: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    if unknown := sorted(set(data) - set(keys)):
        raise PatchsetError(where, f"`{unknown[0]}` is not known; the keys are {', '.join(f'`{key}`' for key in keys)}")


def _text(where: str, data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    if not isinstance(value, str) or not value.strip():
        raise PatchsetError(f"{where}: {key}", "is missing or not a string")
    return value


def _texts(where: str, data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = data.get(key, [])
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise PatchsetError(f"{where}: {key}", "must be a list of strings")
    return tuple(value)


def _pairs(where: str, data: Mapping[str, Any], key: str) -> dict[str, str]:
    value = data.get(key, {})
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        raise PatchsetError(f"{where}: {key}", "must be a table of strings")
    return dict(value)
