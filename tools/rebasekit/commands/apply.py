"""`rebasekit apply`: the series onto a folder."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from rebasekit.commands import _where

if TYPE_CHECKING:
    from rebasekit.console import Console

HELP = "apply the series to an unpacked or installed release"
DESCRIPTION = """\
Apply the series to the release's files in DIR, all or nothing. DIR is the folder that holds the package
(`…/site-packages`, or a checkout with the source's prefix). Every file that the series touches must have the
release's own bytes: a second apply, or an edited file, is refused and nothing is written."""
EXAMPLE = "rebasekit apply --tag v0.5.20 --to .venv/lib/python3.11/site-packages"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--tag", metavar="TAG", required=True, help="the release that DIR holds")
    parser.add_argument("--to", metavar="DIR", required=True, help="the folder to change")
    parser.add_argument(
        "--only", metavar="PATCH", action="append", help="this patch and what it depends on; repeatable"
    )
    parser.add_argument("-R", "--reverse", action="store_true", help="take the series out again")
    parser.add_argument("-n", "--dry-run", action="store_true", help="check everything and write nothing")


def run(args: Namespace, console: Console) -> int:
    from rebasekit.model.tag import Tag
    from rebasekit.steps.apply import apply

    changed = apply(
        _where.workspace(args),
        Tag.parse(args.tag),
        Path(args.to),
        only=args.only,
        reverse=args.reverse,
        dry_run=args.dry_run,
        progress=console,
    )
    for path in changed:
        console.line(str(path))
    if not changed:
        console.note("the series changes no file")
    return 0
