"""`rebasekit reorder`: move a patch to another place in the series."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from rebasekit.commands import _where

if TYPE_CHECKING:
    from rebasekit.console import Console

HELP = "move a patch to another place in the series"
DESCRIPTION = """\
Put PATCH before or after another one. Writes nothing unless no patch comes before one that it depends on, and every
stored release comes out the same."""
EXAMPLE = "rebasekit reorder preload --before int2-pool\n  rebasekit reorder checkpoint-pool --last"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("patch", metavar="PATCH", help="the patch to move")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--before", metavar="PATCH", help="apply it before this one")
    where.add_argument("--after", metavar="PATCH", help="apply it right after this one")
    where.add_argument("--last", action="store_true", help="apply it last")


def run(args: Namespace, console: Console) -> int:
    from rebasekit.steps.arrange import reorder

    done = reorder(_where.workspace(args), args.patch, before=args.before, after=args.after, progress=console)
    console.line(f"moved {args.patch}; the same bytes on {', '.join(map(str, done.tags))}")
    return 0
