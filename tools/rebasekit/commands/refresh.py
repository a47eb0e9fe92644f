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
patch: changed hunks keep their id, why and decision, new ones get an id that you can change. Exits 3, and says
which, when hunks of later patches lost their place by it."""
EXAMPLE = "rebasekit refresh int2-pool\n  rebasekit refresh --dry-run"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("patch", metavar="PATCH", nargs="?", help="the patch (default: the one of this worktree)")
    parser.add_argument("-n", "--dry-run", action="store_true", help="say what would change and write nothing")


def run(args: Namespace, console: Console) -> int:
    from rebasekit.steps.refresh import refresh

    done = refresh(_where.workspace(args), args.patch, dry_run=args.dry_run, progress=console)
    for change in done.changes:
        console.line(str(change))
    if not done.changes:
        console.note("nothing has changed")
    for placement in done.lost:
        console.line(f"lost {placement.name} ({placement.file}): {placement.reason or placement.outcome.value}")
    if done.lost:
        console.note(f"give it a place: `rebasekit resolve {done.lost[0].name} --tag {done.tag}`")
    return 3 if done.lost else 0
