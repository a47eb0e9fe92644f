"""`rebasekit bot`: new releases as pull requests."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from rebasekit.commands import _bot, _serving, _where

if TYPE_CHECKING:
    from rebasekit.console import Console

HELP = "carry the series to each newer release, try it, and open or update a pull request per release"
DESCRIPTION = """\
Find upstream's releases after the series' base, carry the series to each, build and smoke it on the CPU, push one
branch per release (`rebasekit/TAG`) and open or update one pull request. Works on what the remote has, in a folder of
its own: your checkout is not touched. The same state again changes nothing. The token is read from REBASEKIT_TOKEN,
GH_TOKEN or GITHUB_TOKEN. Exit code 0 when the forge shows what is the case, 4 when something could not be done."""
EXAMPLE = (
    "rebasekit bot --dry-run\n  rebasekit bot --newest --no-smoke\n"
    "  rebasekit bot --repository me/fork --api https://forge.example/api/v3"
)


def add_arguments(parser: ArgumentParser) -> None:
    what = parser.add_argument_group("what to do")
    what.add_argument("--tag", metavar="TAG", action="append", default=[], help="this release only; repeatable")
    what.add_argument("--newest", action="store_true", help="only the newest release")
    what.add_argument("--pre", action="store_true", help="pre-releases too")
    what.add_argument("--no-build", action="store_true", help="do not build a wheel")
    what.add_argument("--no-smoke", action="store_true", help="do not serve the release")
    what.add_argument("--again", action="store_true", help="build and smoke although nothing has changed")
    what.add_argument("--results", metavar="DIR", help="take `build-TAG.json` and `smoke-TAG.json` from DIR instead")
    stop = what.add_mutually_exclusive_group()
    stop.add_argument("--dry-run", action="store_true", help="print every call and push that would be made, make none")
    stop.add_argument("--list", action="store_true", help="print the newer releases as JSON and stop")
    stop.add_argument("--maps", action="store_true", help="write upstream-map/TAG.toml here for each, and stop")
    where = parser.add_argument_group("where")
    where.add_argument("--remote", metavar="URL", help="the project's repository (default: the checkout's `origin`)")
    where.add_argument("--repository", metavar="OWNER/NAME", help="its name on the forge (default: from the remote)")
    where.add_argument("--branch", metavar="NAME", help="where pull requests go (default: the repository's own)")
    where.add_argument("--api", metavar="URL", help="the forge's API (default: $GITHUB_API_URL, or from the remote)")
    where.add_argument("--login", metavar="NAME", help="whose token it is (default: the forge is asked)")
    where.add_argument("--pace", metavar="S", type=float, default=1.0, help="seconds between writes (default: 1)")
    where.add_argument("--patience", metavar="S", type=float, default=900.0, help="longest wait for a rate limit")
    where.add_argument("--author", metavar="WHO", default="", help="`Name <mail>` of commits")
    where.add_argument("-o", "--out", metavar="DIR", default="dist", help="wheels and whole reports (default: dist)")
    where.add_argument("--attached", metavar="URL", default="", help="where readers find what is in OUT")


def run(args: Namespace, console: Console) -> int:
    token = take_token()  # first: nothing that is started from here on may inherit it
    _serving.end_like_an_interrupt()
    if args.list or args.maps:
        return _bot.without_forge(args, console)
    with _bot.folder(_where.cache(args)) as folder:
        done = _bot.make(args, console, token, folder).run()
    if not done:
        console.note("there is nothing to do")
    return 70 if any(each.bug for each in done) else 4 if any(each.failed for each in done) else 0


def take_token() -> str:
    """The token, taken out of the environment so that no child gets it: builds and smokes run other people's code."""
    found = [os.environ.pop(name, "") for name in ("REBASEKIT_TOKEN", "GH_TOKEN", "GITHUB_TOKEN")]
    return next(filter(None, found), "")
