"""`rebasekit smoke`: the patched release as a server, asked what has a known answer."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from rebasekit.commands import _options, _serving, _smoke, _where

if TYPE_CHECKING:
    from rebasekit.console import Console

HELP = "serve a patched release, ask it what has a known answer, and see which of our lines ran"
DESCRIPTION = """\
Start the servers of serve/smoke.toml from a verified installation, two ranks on the CPU unless told otherwise, with
a tiny model of random weights. Compare answers with transformers', fill the context, hit the cache, refuse what must
be refused, and stop. Then print for each hunk and rank what ran; a hunk that never ran needs an `idle` reason in its
patch. Exit code 1 when a step fails. Nothing is left running, on ^C neither."""
EXAMPLE = """\
rebasekit smoke v0.5.20
  rebasekit smoke v0.5.20 --pristine --only plain
  rebasekit smoke v0.5.20 --device cuda --python python3 --site /srv/site --proof sglang-….proof.json"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("tag", metavar="TAG", help="the release to serve")
    parser.add_argument("--tp", metavar="N", type=int, default=2, help="ranks of the model (default: 2)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="where it runs (default: cpu)")
    parser.add_argument("--model", metavar="DIR", help="a model instead of the session's own; needs byte tokens 0–255")
    parser.add_argument("--python", metavar="FILE", help="the Python of a prepared environment, instead of making one")
    parser.add_argument("--site", metavar="DIR", action="append", default=[], help="put on its PYTHONPATH; repeatable")
    parser.add_argument("--proof", metavar="FILE", help="the .proof.json beside a wheel, instead of placing the series")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--patched", action="store_true", default=True, help="with the series (default)")
    choice.add_argument("--pristine", dest="patched", action="store_false", help="as upstream ships it")
    parser.add_argument("--only", metavar="NAME", action="append", default=[], help="this launch; repeatable")
    parser.add_argument("--no-effects", action="store_true", help="do not trace which lines run")
    _options.add_json(parser)


def run(args: Namespace, console: Console) -> int:
    from rebasekit.errors import UsageError
    from rebasekit.model.tag import Tag
    from rebasekit.steps.smoke.prepare import Options
    from rebasekit.steps.smoke.smoke import smoke

    if args.json == "-":
        console.reserve_stdout()
    if args.tp < 1:
        raise UsageError(f"`--tp {args.tp}` is no number of ranks", hint="rebasekit smoke --help")
    if bool(args.python) != bool(args.site) or (args.python and not args.patched):
        raise UsageError(
            "a prepared environment needs --python and --site, and is patched", hint="rebasekit smoke --help"
        )
    if args.proof and not args.python:
        raise UsageError("--proof is for a prepared environment (--python, --site)", hint="rebasekit smoke --help")
    options = Options(
        ranks=args.tp,
        device=args.device,
        model=Path(args.model).absolute() if args.model else None,
        patched=args.patched,
        effects=not args.no_effects and not args.only,
        only=tuple(args.only),
        python=Path(args.python).absolute() if args.python else None,
        sites=tuple(Path(site).absolute() for site in args.site),
        record=Path(args.proof).absolute() if args.proof else None,
    )
    _serving.end_like_an_interrupt()
    say = _smoke.Lines(console)
    found = smoke(_where.workspace(args), Tag.parse(args.tag), options, say, console)
    console.show(*_smoke.tables(found))
    console.line(_smoke.closing(found))
    _options.print_json(args, console, _smoke.data(found))
    return 0 if found.ok else 1
