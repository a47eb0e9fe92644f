"""Names of upstream's APIs that mean the same in two trees."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Api:
    """A module (`name` ""), something at its top level (`owner` ""), or a member of the class `owner`."""

    module: str
    owner: str = ""
    name: str = ""

    @property
    def dotted(self) -> str:
        return ".".join(part for part in (self.module, self.owner, self.name) if part)

    @property
    def short(self) -> str:
        """As people say it: `Class.member`, else the dotted name."""
        return f"{self.owner}.{self.name}" if self.owner else self.dotted


@dataclass(frozen=True)
class Found:
    """What an API is in one tree.

    kind: "module", "class", "function", "method", "property", "attribute", "global", "instance" (of which only the
    class is known). `scopes` are definitions (several: branches, overloads), `holder` the class of a member.
    """

    kind: str
    api: Api
    scopes: tuple[int, ...] = ()
    holder: int | None = None

    @property
    def callable(self) -> bool:
        return self.kind in ("class", "function", "method")


class NotRead(Exception):
    """An answer needs a file that could not be read."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path, self.reason = path, reason
