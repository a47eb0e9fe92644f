"""`rebasekit init`: the first file of a project."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from rebasekit.commands import _where

if TYPE_CHECKING:
    from rebasekit.console import Console

HELP = "start a series on a package of the index or on a git repository"
DESCRIPTION = """\
Write patchset/series.toml in this folder (or in `-C DIR`): an empty series on the newest release of SOURCE. SOURCE is
a package of your index, or a git URL or path. No release is fetched yet."""
EXAMPLE = "rebasekit init PACKAGE\n  rebasekit init https://git.example.org/engine.git --prefix python/ --base v1.0.0"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="a package, a git URL or a path")
    parser.add_argument("--base", metavar="TAG", help="the release that your patches are made on (default: the newest)")
    parser.add_argument("--prefix", metavar="DIR", default="", help="git: the folder that a wheel would hold")


def run(args: Namespace, console: Console) -> int:
    from rebasekit.model.tag import Tag
    from rebasekit.steps.begin import begin

    root = Path(args.patchset).absolute() if args.patchset else Path.cwd()
    root = root.parent if root.name == "patchset" else root
    base = Tag.parse(args.base) if args.base else None
    done = begin(root, _where.cache(args), args.source, base=base, prefix=args.prefix, progress=console)
    for path in done.files:
        console.line(str(path))
    console.note(f"what you have: `rebasekit import SOURCE --onto {done.base}`")
    console.note("something new: `rebasekit edit NAME --new --why '…' --removal '…'`")
    return 0
