"""What a source hands to the store: the files of one release, in a stream."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rebasekit.errors import UpstreamError
from rebasekit.model.progress import Progress
from rebasekit.model.tag import Tag


class BrokenArchive(UpstreamError):
    """The archive is not what its maker packed: cut short, damaged, or of another release."""


class HostileArchive(UpstreamError):
    """The archive holds what no honest release does; nothing of it was stored."""


@dataclass(frozen=True)
class Member:
    """One file: `path` has passed `paths.refuse`, `chunks` yields exactly `size` bytes or raises."""

    path: str
    executable: bool
    size: int
    chunks: Iterator[bytes]


@dataclass(frozen=True)
class Release:
    """A release ready to be committed.

    `members` raises UpstreamError for anything wrong with the release; only after its end is the release known to
    be whole, and `keep` is called then. When its archive turns out to be broken, `drop` removes it and tells
    whether it was an old one, so that another try makes sense.
    """

    title: str
    message: str
    size: int
    members: Generator[Member, None, None]
    keep: Callable[[], None] = lambda: None
    drop: Callable[[], bool] = lambda: False


class Source(Protocol):
    """Where releases come from."""

    def available(self, progress: Progress, *, pre: bool = False) -> list[Tag]:
        """Upstream's releases in version order, withdrawn ones left out; `pre` adds pre-releases."""
        ...

    def fetch(self, tag: Tag, work: Path, progress: Progress) -> Release:
        """Get a release, with `work` as an empty directory for whatever is under way."""
        ...
