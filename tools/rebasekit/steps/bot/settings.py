"""What a run of the bot is asked to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from rebasekit.model.tag import Tag

BRANCHES = "rebasekit"  # the folder of the bot's branches


@dataclass(frozen=True)
class Settings:
    """`branch` is what pull requests go to, `where` the project's folder inside its repository ("" for the top).

    `results` holds what `build --json` and `smoke --json` wrote in other jobs; without it they run here. `out` is
    where the whole reports go, and `attached` tells readers of a pull request where that is.
    """

    cache: Path
    out: Path
    branch: str = "main"
    where: str = ""
    tags: tuple[Tag, ...] = ()  # only these; empty for all that are newer than the base
    newest: bool = False
    pre: bool = False
    build: bool = True
    smoke: bool = True
    results: Path | None = None
    again: bool = False
    attached: str = ""
    labels: tuple[str, ...] = field(default=("rebase",))


def branch_of(tag: Tag) -> str:
    """The bot's branch for a release, the same in every run."""
    return f"{BRANCHES}/{tag}"
