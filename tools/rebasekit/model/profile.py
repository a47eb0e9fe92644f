"""A deployment as data: flags, environment, and what no configuration tells about its cards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rebasekit.model.tag import Tag

Value = str | int | float | bool | tuple[str | int | float, ...]


@dataclass(frozen=True)
class Card:
    """Memory that no configuration tells, in bytes on one card; 0 where it is not said."""

    total: int = 0
    free: int = 0
    weights: int = 0


@dataclass(frozen=True)
class Chains:
    """Conversations that the deployment is to keep; `dense_copies` are 16-bit copies that its prefill makes."""

    length: int = 0
    count: int = 1
    dense_copies: int = 0


@dataclass(frozen=True)
class Profile:
    """A deployment. `sources` say for each value where it is from, by its dotted key."""

    name: str
    title: str
    why: str
    tag: Tag
    module: str
    model: str
    config: Mapping[str, Any] = field(default_factory=dict)
    tags: str | None = None
    patched: bool = True
    stand_ins: bool = False
    card: Card = Card()
    chains: Chains | None = None
    arguments: Mapping[str, Value] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def words(self) -> list[str]:
        """The arguments as a command line."""
        found = []
        for name, value in self.arguments.items():
            found.append(f"--{name}")
            if isinstance(value, tuple):
                found += [_word(each) for each in value]
            elif value is not True:
                found.append(_word(value))
        return found

    def source_of(self, key: str) -> str:
        """Where a value is from, empty when the profile does not say."""
        return next((source for source, keys in self.sources.items() if key in keys), "")


def _word(value: str | int | float) -> str:
    return value if isinstance(value, str) else repr(value)
