"""The commands: one module per verb with `HELP`, `add_arguments(parser)` and `run(args, console) -> int`.

A module may also have `EXAMPLE` (one line for the help text) and `DESCRIPTION`. Adding a file adds the command.
"""

from __future__ import annotations

import importlib
import keyword
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from rebasekit.console import Console

# The order in which a newcomer meets them; a command that is not named here comes last, by name.
_ORDER = [
    *("init", "rebase", "list", "show", "accept", "resolve"),
    *("edit", "refresh", "import", "export", "apply"),
    *("rename", "reorder", "fold", "delete"),
    *("reach", "survive", "unbound", "defaults", "churn"),
    *("build", "verify-install", "smoke", "bot", "capacity", "serve"),
    *("load-multi", "depth-probe", "speed", "conc", "compare"),
    *("doctor", "completion"),
]


class Command(Protocol):
    """What cli.py needs of a command's module."""

    HELP: str

    def add_arguments(self, parser: ArgumentParser) -> None: ...

    def run(self, args: Namespace, console: Console) -> int: ...


def names() -> list[str]:
    """The verbs that exist, found by their files so that listing them imports none of them."""
    stems = [path.stem for path in Path(__file__).parent.glob("*.py")]
    found = {stem.rstrip("_").replace("_", "-") for stem in stems if not stem.startswith("_")}
    rank = {verb: position for position, verb in enumerate(_ORDER)}
    return sorted(found, key=lambda verb: (rank.get(verb, len(rank)), verb))


def load(verb: str) -> Command:
    """Import the module of one verb; `verb` must come from `names()`."""
    module = f"{verb}_" if keyword.iskeyword(verb) else verb.replace("-", "_")
    return cast(Command, importlib.import_module(f"rebasekit.commands.{module}"))
