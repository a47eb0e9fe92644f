"""`rebasekit resolve`: a person places a hunk."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from rebasekit.commands import _where

if TYPE_CHECKING:
    from rebasekit.console import Console

HELP = "open a hunk that has no place in a worktree, and keep what you make of it"
DESCRIPTION = """\
Open a worktree of the release where the file holds both sides (conflict markers in diff3 style). Edit it until
it is right, then run the command again with --continue (in the worktree HUNK may be left out): the result becomes
the hunk's form for that release and later, and the same conflict met again is resolved the same way, and shown as
remembered. With --drop the hunk is not meant for that release and later any more. Where the anchor alone is right
after all, `rebasekit accept` is enough."""
EXAMPLE = (
    "$EDITOR $(rebasekit resolve int2-pool/dtype-name --tag v0.5.20)\n"
    "  rebasekit resolve int2-pool/dtype-name --continue --why 'upstream renamed the local'"
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("hunk", metavar="HUNK", nargs="?", help="`patch/id`, or an id that only one patch has")
    parser.add_argument("--tag", metavar="TAG", help="the release (default: the newest one in upstream-map/)")
    parser.add_argument("--why", help="the reason, stored as the hunk's decision")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--continue", dest="finish", action="store_true", help="take the edited worktree as the answer")
    group.add_argument("--drop", action="store_true", help="the hunk is not needed from the release on; needs --why")
    group.add_argument("--abort", action="store_true", help="throw the worktree away")


def run(args: Namespace, console: Console) -> int:
    from rebasekit.errors import UsageError
    from rebasekit.model.tag import Tag
    from rebasekit.steps.resolve import abort, drop, finish, start

    space, tag = _where.workspace(args), Tag.parse(args.tag) if args.tag else None
    if args.abort:
        console.note(abort(space, args.hunk, tag=tag))
    elif args.drop:
        console.line(drop(space, args.hunk, why=args.why, tag=tag))
    elif args.finish:
        console.line(finish(space, args.hunk, tag=tag, why=args.why, progress=console))
    elif args.hunk is None:
        raise UsageError("name the hunk to resolve", hint="rebasekit list")
    else:
        opened = start(space, args.hunk, tag=tag, progress=console)
        console.line(str(opened.file))
        if not opened.marked and opened.sides:
            console.note(f"it has no conflict markers: both sides lie in `{opened.sides}`")
        reason = "" if opened.task.hunk.decision.strip() else " --why '…'"
        console.note(f"make it right, then run `{opened.task.again(f'--continue{reason}')}`")
    return 0
