"""`rebasekit rebase`: the main job."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from rebasekit.commands import _options, _where

if TYPE_CHECKING:
    from rebasekit.console import Console

HELP = "carry the series to a release, check it, and say what is left to decide"
DESCRIPTION = """\
Place every hunk of the series on TAG, apply them to a scratch tree, and check the patched tree against the
pristine one. Writes upstream-map/TAG.toml, and the branch when every hunk has its place; your patchset/ is never
changed. Fetches the release first if it is not stored yet."""
EXAMPLE = (
    "rebasekit rebase v0.5.20\n  rebasekit rebase v0.5.20 --json - | jq '.hunks[] | select(.placement == \"conflict\")'"
)
WRITES_REPORT = True


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("tag", metavar="TAG", help="the release to go to, for example v0.5.20")
    parser.add_argument(
        "--from", dest="start", metavar="TAG", help="the release to compare with (default: each hunk's own pin)"
    )
    parser.add_argument(
        "--only", metavar="PATCH", action="append", help="this patch and what it depends on; repeatable"
    )
    _options.add_reports(parser)


def run(args: Namespace, console: Console) -> int:
    from rebasekit.model.tag import Tag
    from rebasekit.steps.rebase import rebase

    _options.reserve(args, console)
    tag, start = Tag.parse(args.tag), Tag.parse(args.start) if args.start else None
    space = _where.workspace(args)
    verdict = rebase(space, tag, start=start, only=args.only, progress=console)
    return _options.report(args, console, verdict, space)
