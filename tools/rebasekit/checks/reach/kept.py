"""Answers that were given before: the same question about the same tree costs one row of the database."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from rebasekit.facts.settings import Settings

_REVISION = 12  # raise when the same facts give another answer: kept answers of older revisions are not used


class Keeper(Protocol):
    """What keeps answers: a tree's linked parts."""

    def answer(self, key: str) -> bytes | None: ...

    def keep(self, key: str, data: bytes) -> None: ...


def recall(parts: Keeper, settings: Settings, name: str, assume: Mapping[str, Any], tag: str) -> dict[str, Any] | None:
    """The report's JSON form, if this was asked before."""
    data = parts.answer(_key(settings, name, assume))
    return None if data is None else {**json.loads(data), "tag": tag}


def remember(
    parts: Keeper, settings: Settings, name: str, assume: Mapping[str, Any], report: Mapping[str, Any]
) -> None:
    """Keep the answer until the tree is linked again."""
    parts.keep(_key(settings, name, assume), json.dumps(report).encode())


def _key(settings: Settings, name: str, assume: Mapping[str, Any]) -> str:
    return f"reach-{_REVISION} {json.dumps([name, sorted(assume.items())], default=str)} {settings.key}"
