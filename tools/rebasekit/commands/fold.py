"""`rebasekit fold`: make a patch part of another."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from rebasekit.commands import _where

if TYPE_CHECKING:
    from rebasekit.console import Console

HELP = "make a patch part of another"
DESCRIPTION = """\
Make the hunks of PATCH hunks of another patch, which keeps its header; each hunk keeps the reason of its old patch.
Ids that the other patch has too get the old patch's name before them. Writes nothing unless every stored release
comes out the same."""
EXAMPLE = "rebasekit fold fix-typo --into int2-pool"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("patch", metavar="PATCH", help="the patch that goes")
    parser.add_argument("--into", metavar="PATCH", required=True, help="the patch that takes its hunks")


def run(args: Namespace, console: Console) -> int:
    from rebasekit.steps.arrange import fold

    done = fold(_where.workspace(args), args.patch, args.into, console)
    for old, new in done.renamed:
        console.line(f"{old} is now {new}")
    console.line(f"folded {args.patch} into {args.into}; the same bytes on {', '.join(map(str, done.tags))}")
    return 0
