"""`rebasekit rename`: give a patch another name."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from rebasekit.commands import _where

if TYPE_CHECKING:
    from rebasekit.console import Console

HELP = "give a patch another name"
DESCRIPTION = """\
Rename a patch's folder, and its name in the series, in patches that depend on it, in maps and in remembered
resolutions. Writes nothing unless every stored release comes out the same."""
EXAMPLE = "rebasekit rename int2-pool kv-int2"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("patch", metavar="PATCH", help="the patch as it is called now")
    parser.add_argument("name", metavar="NAME", help="what to call it")


def run(args: Namespace, console: Console) -> int:
    from rebasekit.steps.arrange import rename

    done = rename(_where.workspace(args), args.patch, args.name, console)
    console.line(f"renamed {args.patch} to {args.name}; the same bytes on {', '.join(map(str, done.tags))}")
    return 0
