"""`rebasekit export`: the series as diffs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from rebasekit.commands import _where

if TYPE_CHECKING:
    from rebasekit.console import Console

HELP = "write the series as format-patch files, or as one diff"
DESCRIPTION = """\
Place the series on the release and write one format-patch file per patch (for `git am --keep-cr`, with a quilt
`series` file), or with --diff everything as one diff. What an earlier export left in DIR is replaced. Refuses
when a hunk has no place. In upstream's own repository, whose package lies deeper: `git am --directory=python`."""
EXAMPLE = "rebasekit export --tag v0.5.20 --to patches/\n  rebasekit export --tag v0.5.20 --diff > series.diff"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--tag", metavar="TAG", required=True, help="the release")
    parser.add_argument(
        "--only", metavar="PATCH", action="append", help="this patch and what it depends on; repeatable"
    )
    parser.add_argument("--to", metavar="DIR", default=".", help="folder for the files (default: here)")
    parser.add_argument("--diff", action="store_true", help="print one diff on standard output instead")


def run(args: Namespace, console: Console) -> int:
    from rebasekit.model.tag import Tag
    from rebasekit.steps.export import export, export_diff

    tag, space = Tag.parse(args.tag), _where.workspace(args)
    if args.diff:
        console.machine_bytes(export_diff(space, tag, only=args.only, progress=console))
        return 0
    for path in export(space, tag, Path(args.to), only=args.only, progress=console):
        console.line(str(path))
    return 0
