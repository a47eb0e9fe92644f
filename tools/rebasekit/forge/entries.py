"""Pull requests, issues and comments as the forge tells them, as far as the bot reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PAUSE = "rebasekit/pause"


@dataclass(frozen=True)
class Comment:
    author: str
    body: str


@dataclass(frozen=True)
class Issue:
    number: int
    title: str
    body: str
    state: str
    author: str
    labels: tuple[str, ...]

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Issue:
        return cls(
            number=int(data.get("number") or 0),
            title=str(data.get("title") or ""),
            body=str(data.get("body") or ""),
            state=str(data.get("state") or "open"),
            author=_login(data),
            labels=_labels(data),
        )


@dataclass(frozen=True)
class Pull:
    """A pull request; `repository` is the full name of its head's, "" when that is gone."""

    number: int
    node: str
    title: str
    body: str
    state: str
    merged: bool
    draft: bool
    author: str
    repository: str
    branch: str
    base: str
    labels: tuple[str, ...]
    url: str

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Pull:
        head, base = data.get("head") or {}, data.get("base") or {}
        return cls(
            number=int(data.get("number") or 0),
            node=str(data.get("node_id") or ""),
            title=str(data.get("title") or ""),
            body=str(data.get("body") or ""),
            state=str(data.get("state") or "open"),
            merged=bool(data.get("merged_at") or data.get("merged")),
            draft=bool(data.get("draft")),
            author=_login(data),
            repository=str((head.get("repo") or {}).get("full_name") or ""),
            branch=str(head.get("ref") or ""),
            base=str(base.get("ref") or ""),
            labels=_labels(data),
            url=str(data.get("html_url") or ""),
        )

    @property
    def paused(self) -> bool:
        return PAUSE in self.labels


def _login(data: Mapping[str, Any]) -> str:
    return str((data.get("user") or {}).get("login") or "")


def _labels(data: Mapping[str, Any]) -> tuple[str, ...]:
    found = (label.get("name") if isinstance(label, dict) else label for label in data.get("labels") or [])
    return tuple(str(name) for name in found if name)
