"""`rebasekit refresh`: what changed in a worktree becomes hunks."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from rebasekit.commands import _where

if TYPE_CHECKING:
    from rebasekit.console import Console

HELP = "turn what you changed in an edit worktree back into hunks"
DESCRIPTION = """\
Compare the worktree that `rebasekit edit PATCH` opened with the series, and write the difference to the
patch: changed hunks keep their id, why and decision, new ones get an id that you can change."""
EXAMPLE = "rebasekit refresh int2-pool\n  rebasekit refresh --dry-run"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("patch", metavar="PATCH", nargs="?", help="the patch (default: the one of this worktree)")
    parser.add_argument("-n", "--dry-run", action="store_true", help="say what would change and write nothing")


def run(args: Namespace, console: Console) -> int:
    from rebasekit.steps.refresh import refresh

    changes = refresh(_where.workspace(args), args.patch, dry_run=args.dry_run, progress=console)
    for change in changes:
        console.line(str(change))
    if not changes:
        console.note("nothing has changed")
    return 0
