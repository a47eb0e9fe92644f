"""`rebasekit doctor`: what is missing on this machine."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from typing import TYPE_CHECKING

from rebasekit.commands import _checkup, _options
from rebasekit.errors import StateError

if TYPE_CHECKING:
    from rebasekit.console import Console

HELP = "say what is missing on this machine, and the command that mends it"
DESCRIPTION = """\
Look at Python, git, pip, the package index, the cache, the stored releases, the patchset and the optional
packages. Exit code 0 unless something makes a rebase impossible."""
EXAMPLE = "rebasekit doctor"
_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--offline", action="store_true", help="do not try to reach the package index")
    _options.add_json(parser)


def run(args: Namespace, console: Console) -> int:
    signs = _checkup.examine(args)
    failed = [sign for sign in signs if sign.state == "fail"]
    code = StateError.exit_code if failed else 0
    data = {"ok": not failed, "version": _checkup.version(), "checks": [asdict(sign) for sign in signs]}
    if _options.print_json(args, console, data):
        return code
    from rich.text import Text

    from rebasekit.visible import visible

    for sign in signs:
        line = Text.assemble(
            (f"{sign.state:4}", _STYLES[sign.state]), f"  {visible(sign.name)}: {visible(sign.message)}"
        )
        if sign.next:
            line.append(f"\n      next: {visible(sign.next)}")
        console.show(line)
    return code
