"""`rebasekit import`: a diff or a branch becomes a patch."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from rebasekit.commands import _where

if TYPE_CHECKING:
    from rebasekit.console import Console

HELP = "turn a diff, a format-patch file or a branch into a patch of the series"
DESCRIPTION = """\
Read SOURCE (a unified or git diff, a format-patch mailbox, a quilt patch, `-` for standard input, or
REPOSITORY#BRANCH), apply it exactly to the release, and write hunks that give the same tree byte for byte.
Fill in `why` and `removal` in the new patch.toml if you did not give them here."""
EXAMPLE = "rebasekit import fix.diff --onto v0.5.19 --as fix --why 'the pool is not counted' --removal 'with PR 123'"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="a diff file, `-`, or REPOSITORY#BRANCH")
    parser.add_argument("--onto", metavar="TAG", required=True, help="the release that the diff was made on")
    parser.add_argument("--as", dest="name", metavar="NAME", required=True, help="the new patch's name")
    parser.add_argument("--title", help="one line for the patch's header (default: the diff's subject)")
    parser.add_argument("--why", help="why the patch exists")
    parser.add_argument("--removal", help="when the patch should die")


def run(args: Namespace, console: Console) -> int:
    from rebasekit.model.tag import Tag
    from rebasekit.report.report import counted
    from rebasekit.steps.import_ import import_patch

    header = {key: getattr(args, key) for key in ("title", "why", "removal") if getattr(args, key) is not None}
    patch = import_patch(
        _where.workspace(args), args.source, onto=Tag.parse(args.onto), name=args.name, header=header, progress=console
    )
    console.line(f"imported `{patch.name}` with {counted(len(patch.hunks), 'hunk')}")
    console.note(f"look at it with `rebasekit show {patch.name}`")
    return 0
