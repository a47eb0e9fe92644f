"""`rebasekit import`: a diff, a folder of them or a branch becomes patches."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from rebasekit.commands import _where

if TYPE_CHECKING:
    from rebasekit.console import Console

HELP = "turn a diff, a format-patch file, a folder of patches or a branch into patches of the series"
DESCRIPTION = """\
Read SOURCE, apply it exactly to the release (or on top of the series, when it was made there), and write hunks that
give the same tree byte for byte. SOURCE is a unified or git diff, a format-patch mailbox, a folder of such files (in
the order of its quilt `series` file, else by name), `-` for standard input, or REPOSITORY#BRANCH. Each file, mail or
commit becomes a patch of its own, all or none; with --as everything becomes one patch. Title, why and origin come
from a mail's or a DEP-3 header; fill in what is missing in the new patch.toml."""
EXAMPLE = (
    "rebasekit import fix.diff --onto v0.5.19 --why 'the pool is not counted' --removal 'with PR 123'\n"
    "  rebasekit import debian/patches --onto v0.5.19\n"
    "  rebasekit import ~/src/fork#my-branch --onto v0.5.19"
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="a diff file, a folder of them, `-`, or REPOSITORY#BRANCH")
    parser.add_argument("--onto", metavar="TAG", required=True, help="the release that it was made on")
    parser.add_argument("--as", dest="name", metavar="NAME", help="make one patch of this name of it")
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
    from rebasekit.steps.import_ import REMOVAL, WHY, Wanted, import_patch
    from rebasekit.steps.import_series import import_series

    space = _where.workspace(args)
    wanted = Wanted(
        Tag.parse(args.onto),
        {key: getattr(args, key) for key in ("title", "why", "removal") if getattr(args, key) is not None},
        strip=args.strip,
        exclude=args.exclude or (),
        relies=not args.no_relies,
    )
    if args.name is not None:
        patches = [import_patch(space, args.source, args.name, wanted, console)]
    else:
        patches = import_series(space, args.source, wanted, console)
    for patch in patches:
        console.line(f"imported `{patch.name}` with {counted(len(patch.hunks), 'hunk')}")
    for patch in patches:
        missing = [key for key, text in (("why", WHY), ("removal", REMOVAL)) if getattr(patch, key) == text]
        if missing:
            console.note(f"fill in {' and '.join(f'`{key}`' for key in missing)} in patchset/{patch.name}/patch.toml")
    first = patches[0].name
    console.note(f"look at it with `rebasekit show {first}`" if len(patches) == 1 else "look at them: `rebasekit list`")
    return 0
