"""`rebasekit completion`: scripts for the shells, and the words that they ask for."""

from __future__ import annotations

import argparse
import contextlib
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rebasekit.commands import _where
from rebasekit.errors import RebasekitError, UsageError

if TYPE_CHECKING:
    from rebasekit.console import Console

HELP = "print a completion script for bash, zsh or fish"
DESCRIPTION = """\
Print a script that completes commands, options, and the names of your hunks, patches and releases.

bash: rebasekit completion bash > ~/.local/share/bash-completion/completions/rebasekit
zsh:  rebasekit completion zsh > a folder of $fpath, as _rebasekit
fish: rebasekit completion fish > ~/.config/fish/completions/rebasekit.fish"""
EXAMPLE = 'eval "$(rebasekit completion bash)"'

_WORDS = {"HUNK": "hunks", "PATCH": "patches", "TAG": "tags"}
_ASK = "rebasekit completion --words"
_PREAMBLE = {
    "bash": '_rebasekit_{kind}() {{ compgen -W "$(' + _ASK + ' {kind} 2>/dev/null)" -- "$1"; }}',
    "zsh": '_rebasekit_{kind}() {{ compadd -- ${{(f)"$(' + _ASK + ' {kind} 2>/dev/null)"}}; }}',
    "fish": "",
}


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), nargs="?", help="the shell")
    parser.add_argument("--words", choices=tuple(_WORDS.values()), help=argparse.SUPPRESS)


def run(args: Namespace, console: Console) -> int:
    if args.words:
        with contextlib.suppress(RebasekitError):  # a shell asks in the middle of a line: silence is the only answer
            for word in _words(args):
                console.line(word)
        return 0
    if args.shell is None:
        raise UsageError("name a shell", hint="rebasekit completion bash")
    console.machine("-", _script(args))
    return 0


def _script(args: Namespace) -> str:
    import shtab

    from rebasekit import commands

    if args.shell not in shtab.SUPPORTED_SHELLS:  # older ones know fewer
        raise UsageError(f"the installed shtab knows no {args.shell}", hint="pip install --upgrade shtab")

    # The parser is made in cli.py, above this layer, which therefore hands it down.
    parser = args.build_parser(commands.names())
    for action in _actions(parser):
        kind = _WORDS.get(str(action.metavar))
        if kind:
            fish = f"({_ASK} {kind} 2>/dev/null)"
            action.complete = {"bash": f"_rebasekit_{kind}", "zsh": f"_rebasekit_{kind}", "fish": fish}
        elif action.metavar in ("FILE", "SOURCE"):
            action.complete = shtab.FILE
        elif action.metavar == "DIR":
            action.complete = shtab.DIRECTORY
    preamble = "\n".join(_PREAMBLE[args.shell].format(kind=kind) for kind in _WORDS.values()).strip()
    return str(shtab.complete(parser, args.shell, preamble=preamble))


def _actions(parser: ArgumentParser) -> Iterator[Any]:
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for sub in action.choices.values():
                yield from _actions(sub)


def _words(args: Namespace) -> list[str]:
    """Names for a shell, read from the patchset around the working folder."""
    from rebasekit.patches.load import load_series
    from rebasekit.patches.mapped import mapped_tags

    root = _where.project(args)
    if args.words == "tags":
        return [tag.name for tag in mapped_tags(root)]
    series = load_series(root / "patchset")
    if args.words == "patches":
        return [patch.name for patch in series.patches]
    return [hunk.name for hunk in series.hunks()]
