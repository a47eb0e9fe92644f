"""`rebasekit accept`: a person has looked."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from rebasekit.commands import _where

if TYPE_CHECKING:
    from rebasekit.console import Console

HELP = "move a hunk's pin to a release after you have looked at it there"
DESCRIPTION = """\
Record that the hunk, where it now stands on the release, means what it should: its pin moves to that release
and the reason is stored as its decision. Refuses a hunk without a place on that release."""
EXAMPLE = "rebasekit accept int2-pool/dtype-name --tag v0.5.20 --why 'upstream only renamed the local'"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("hunks", metavar="HUNK", nargs="+", help="`patch/id`, or an id that only one patch has")
    parser.add_argument("--why", required=True, help="the reason, for the next person")
    parser.add_argument(
        "--tag", metavar="TAG", help="the release you looked at (default: the newest one in upstream-map/)"
    )


def run(args: Namespace, console: Console) -> int:
    from rebasekit.model.tag import Tag
    from rebasekit.steps.accept import accept

    tag = Tag.parse(args.tag) if args.tag else None
    for pinned in accept(_where.workspace(args), args.hunks, why=args.why, tag=tag, progress=console):
        console.line(str(pinned))
    return 0
