"""`rebasekit edit`: the tree that people change instead of hunk files."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from rebasekit.commands import _where
from rebasekit.errors import UsageError

if TYPE_CHECKING:
    from rebasekit.console import Console

HELP = "open a worktree with the series applied up to a patch, to change it there"
DESCRIPTION = """\
Open a git worktree of the release with the series applied up to and including PATCH. Change files there with
any editor, then run `rebasekit refresh` in it: what you changed becomes hunks of the patch."""
EXAMPLE = (
    "cd $(rebasekit edit int2-pool)\n"
    "  rebasekit edit new-patch --new --why 'the pool is not counted' --removal 'with PR 123'"
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("patch", metavar="PATCH", help="the patch to change")
    parser.add_argument("--tag", metavar="TAG", help="the release to work on (default: the series' base)")
    parser.add_argument("--new", action="store_true", help="start a patch of this name at the end of the series")
    for name, text in (
        ("title", "one line for its header"),
        ("why", "why it exists"),
        ("removal", "when it should die"),
    ):
        parser.add_argument(f"--{name}", help=f"with --new: {text}")
    parser.add_argument("--to", metavar="DIR", help="where to put the worktree (default: in the cache)")


def run(args: Namespace, console: Console) -> int:
    from rebasekit.model.tag import Tag
    from rebasekit.steps.edit import edit

    tag = Tag.parse(args.tag) if args.tag else None
    header = {key: getattr(args, key) for key in ("title", "why", "removal") if getattr(args, key)}
    if args.new and not {"why", "removal"} <= set(header):
        raise UsageError("a new patch needs a reason and an end", hint="add `--why '…' --removal '…'`")
    folder = edit(
        _where.workspace(args), args.patch, tag=tag, new=args.new, to=args.to, header=header, progress=console
    )
    console.line(str(folder))
    console.note(f"change files in `{folder}`, then run `rebasekit refresh` there")
    return 0
