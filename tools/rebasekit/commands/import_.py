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
Title, why and origin come from a mail's or a DEP-3 header; fill in what is missing in the new patch.toml."""
EXAMPLE = "rebasekit import fix.diff --onto v0.5.19 --as fix --why 'the pool is not counted' --removal 'with PR 123'"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="a diff file, `-`, or REPOSITORY#BRANCH")
    parser.add_argument("--onto", metavar="TAG", required=True, help="the release that the diff was made on")
    parser.add_argument("--as", dest="name", metavar="NAME", required=True, help="the new patch's name")
    parser.add_argument(
        "-p", "--strip", metavar="N", type=int, help="leading parts of the diff's paths to drop (default: found out)"
    )
    parser.add_argument("--exclude", metavar="GLOB", action="append", help="files of the diff to leave out; repeatable")
    parser.add_argument(
        "--no-relies", action="store_true", help="do not look for the defaults that lead serving to the hunks"
    )
    parser.add_argument("--title", help="one line for the patch's header (default: the diff's subject)")
    parser.add_argument("--why", help="why the patch exists")
    parser.add_argument("--removal", help="when the patch should die")


def run(args: Namespace, console: Console) -> int:
    from rebasekit.model.tag import Tag
    from rebasekit.report.report import counted
    from rebasekit.steps.import_ import REMOVAL, WHY, import_patch

    header = {key: getattr(args, key) for key in ("title", "why", "removal") if getattr(args, key) is not None}
    patch = import_patch(
        _where.workspace(args),
        args.source,
        onto=Tag.parse(args.onto),
        name=args.name,
        header=header,
        strip=args.strip,
        exclude=args.exclude or (),
        relies=not args.no_relies,
        progress=console,
    )
    console.line(f"imported `{patch.name}` with {counted(len(patch.hunks), 'hunk')}")
    missing = [key for key, text in (("why", WHY), ("removal", REMOVAL)) if getattr(patch, key) == text]
    if missing:
        console.note(f"fill in {' and '.join(f'`{key}`' for key in missing)} in patchset/{patch.name}/patch.toml")
    console.note(f"look at it with `rebasekit show {patch.name}`")
    return 0
