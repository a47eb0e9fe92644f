"""`rebasekit serve`: a deployment's launch script as data."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rebasekit.commands import _options, _where

if TYPE_CHECKING:
    from rebasekit.console import Console
    from rebasekit.model.hunk import Series
    from rebasekit.steps.serve import Asked, Check, Start

HELP = "check a deployment's profile and start its server, or print the command"
DESCRIPTION = """\
Read a profile of patchset/profiles/ (flags and environment of a deployment), check it before anything starts (capacity
of the cards, the series' environment, combinations of serve/refusals.toml), and become the server: signals go to it,
and its exit code is this command's. `--print` prints the command for a shell instead. Flags after `--` come last and
win over the profile's. Exit code 1 when a check fails; `--anyway` starts all the same."""
EXAMPLE = """rebasekit serve --profile rtx5070x2 --model models/27b-4bit --print
  rebasekit serve --profile rtx5070x2 --model models/27b-4bit -- --port 30001"""


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--profile", metavar="NAME", required=True, help="a profile of patchset/profiles/, or its file")
    add("--model", metavar="DIR", help="the model's folder instead of the profile's")
    add("--tag", metavar="TAG", help="the release (default: the profile's)")
    add("--python", metavar="FILE", help="an interpreter that has the release (default: what `build` made, or python3)")
    add("--print", action="store_true", help="print the command for a shell, and start nothing")
    add("--anyway", action="store_true", help="start although a check fails")
    add("flags", metavar="-- FLAG", nargs="*", default=[], help="more of the server's flags, after `--`")
    _options.add_json(parser)


def run(args: Namespace, console: Console) -> int:
    from rebasekit.patches.digest import series_digest
    from rebasekit.patches.load import load_series
    from rebasekit.patches.refusals import load_refusals
    from rebasekit.steps.serve import build_check, checks, python_for, start_of, write_site

    if args.json == "-" or args.print:
        console.reserve_stdout()
    root = _where.project(args)
    series = load_series(root / "patchset")
    asked = _asked(args, series)
    folder = _where.cache(args) / "serve" / asked.tag.name
    environment = folder / ("patched" if asked.profile.patched else "pristine")
    found = [
        *checks(asked, load_refusals(root)),
        build_check(asked, args.python, environment, series_digest(series)),
    ]
    site = write_site(folder / f"profile-{asked.profile.name}") if asked.profile.stand_ins else None
    start = start_of(asked, python_for(args.python, environment), site)
    _show(console, found)
    failed = any(check.outcome == "FAIL" for check in found)
    if args.json is not None:
        _options.print_json(args, console, _data(start, found, not failed))
    elif args.print:
        console.machine("-", start.shell())
    elif failed and not args.anyway:
        console.error("nothing was started", hint="change the profile, or add `--anyway`")
    else:
        _become(start, console)
    return 1 if failed else 0


def _asked(args: Namespace, series: Series) -> Asked:
    from rebasekit.commands._capacity import find_profile
    from rebasekit.model.tag import Tag
    from rebasekit.steps.serve import Asked

    profile = find_profile(args.profile, args)
    model = Path(args.model) if args.model else None
    tag = Tag.parse(args.tag) if args.tag else profile.tag
    return Asked(profile, tag, series.environment, model, tuple(args.flags))


def _show(console: Console, found: list[Check]) -> None:
    for check in found:
        console.line(f"{check.outcome:<5}{check.name:<14}{check.text}")


def _data(start: Start, found: list[Check], ok: bool) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "schema": 1,
        "ok": ok,
        "argv": list(start.argv),
        "environment": dict(start.environment),
        "checks": [asdict(check) for check in found],
    }


def _become(start: Start, console: Console) -> None:
    """Become the server: nothing of ours stays between it and its signals."""
    console.close()
    sys.stdout.flush()
    sys.stderr.flush()
    os.execvpe(start.argv[0], list(start.argv), {**os.environ, **start.environment})  # noqa: S606  no shell
