"""`rebasekit build`: releases with the series as wheels, installed and proved."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from rebasekit.commands import _options, _series, _serving, _where

if TYPE_CHECKING:
    from rebasekit.console import Console

HELP = "build a release with the series as a wheel, install it afresh, and prove what was installed"
DESCRIPTION = """\
Put the series into the release's wheel, compiled files kept, and write it to OUT, beside it a proof of what it holds
and where each hunk stands. Then install it into a fresh environment, verify the installation, import every patched
module in a process of its own, and run the patches' tests on it. With --trees, run the patches' tests on unpacked
trees only. Exit code 1 when one of these fails."""
EXAMPLE = "rebasekit build v0.5.20\n  rebasekit build --trees --summary docs/series-tests.md"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("tags", metavar="TAG", nargs="*", help="releases (default: all of upstream-map/)")
    parser.add_argument("-o", "--out", metavar="DIR", default="dist", help="where wheels go (default: dist)")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--wheel-only", action="store_true", help="write the wheel and stop")
    choice.add_argument("--trees", action="store_true", help="the patches' tests on unpacked trees, nothing installed")
    parser.add_argument(
        "--from", dest="upstream", metavar="FILE", help="with --wheel-only: upstream's wheel for another Python"
    )
    parser.add_argument("--no-tests", action="store_true", help="leave out the patches' tests")
    parser.add_argument("--summary", metavar="FILE", help="write one line per release as Markdown")
    _options.add_json(parser)


def run(args: Namespace, console: Console) -> int:
    from rebasekit.errors import RebasekitError, UsageError
    from rebasekit.steps import build as step
    from rebasekit.steps.build_proof import make_wheel, prove

    if args.json == "-":
        console.reserve_stdout()
    _serving.end_like_an_interrupt()
    if args.upstream and not (args.wheel_only and len(args.tags) == 1):
        raise UsageError("`--from` needs one release and --wheel-only", hint="rebasekit build --help")
    space = _where.workspace(args)
    tags = _serving.tags(args.tags, space.root)
    found: list[step.Built] = []
    failed: list[tuple[str, RebasekitError]] = []
    for tag in tags:
        try:
            if args.trees:
                built = step.test_trees(space, tag, console)
            elif args.wheel_only:
                proof = prove(space, tag, console, Path(args.upstream).absolute() if args.upstream else None)
                built = step.Built(make_wheel(space, proof, Path(args.out), console))
            else:
                built = step.build(space, tag, Path(args.out), tests=not args.no_tests, progress=console)
        except RebasekitError as error:
            if len(tags) == 1:
                raise
            failed.append((tag.name, error))  # the others are worth knowing
            continue
        found.append(built)
        _serving.show_build(console, built, trees=args.trees)
    for name, problem in failed:
        console.error(f"{name}: {problem.message}", hint=problem.hint)
    if args.summary:
        console.machine(args.summary, _series.summary(space, found, trees=args.trees))
    _options.print_json(args, console, {"schema": 1, "builds": [_serving.build_data(built) for built in found]})
    if failed:
        return failed[0][1].exit_code
    return 0 if all(built.ok for built in found) else 1
