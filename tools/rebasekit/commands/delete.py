"""`rebasekit delete`: take a patch out of the series and remove its folder."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from rebasekit.commands import _where

if TYPE_CHECKING:
    from rebasekit.console import Console

HELP = "take a patch out of the series and remove its folder"
DESCRIPTION = """\
Remove a patch that no other patch needs: none depends on it, and no hunk of another loses its place on the base or
on a stored release of upstream-map/. Files in `kernels/` stay. Git has what was removed."""
EXAMPLE = "rebasekit delete preload"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("patch", metavar="PATCH", help="the patch to remove")


def run(args: Namespace, console: Console) -> int:
    from rebasekit.steps.arrange import delete

    gone = delete(_where.workspace(args), args.patch, console)
    console.line(f"deleted {args.patch} with {len(gone)} hunk{'s' if len(gone) != 1 else ''}")
    console.note("upstream-map/ still knows it: `rebasekit rebase TAG` writes a map anew")
    return 0
