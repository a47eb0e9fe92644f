"""The command line: finds the command, and is the only place that turns an error into an exit code."""

from __future__ import annotations

import argparse
import errno
import gc
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NoReturn

from rebasekit import __version__, commands
from rebasekit.errors import RebasekitError, StateError, UsageError

if TYPE_CHECKING:
    from rebasekit.console import Console

_DESCRIPTION = "Carries a patch series to a new upstream release and shows that it still means what it meant."
_EPILOG = """\
Start with `rebasekit doctor` and `rebasekit list`, then `rebasekit rebase v0.5.20`.

exit codes: 0 nothing to decide · 1 findings · 2 usage or a wrong file in patchset/ · 3 a hunk needs a person
            4 upstream, the store or the disk · 70 a bug in rebasekit · 130 interrupted
environment: REBASEKIT_CACHE (the cache), NO_COLOR, CLICOLOR_FORCE, REBASEKIT_TRACEBACK=1 (show where a bug is)"""
_MACHINE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EMFILE)
_WITH_VALUE = ("-C", "--patchset", "--cache", "--color")


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are our errors, with the help text as the hint."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"{self.prog} --help")

    def refuse(self, verb: str, words: Sequence[str]) -> NoReturn:
        """Complain of words that the command does not take; of an option, with the closest that it has."""
        from difflib import get_close_matches

        sub = next(action for action in self._actions if isinstance(action, argparse._SubParsersAction)).choices[verb]
        word = next((word for word in words if word.startswith("-")), words[0]).partition("=")[0]
        known = [option for action in sub._actions for option in action.option_strings if option.startswith("--")]
        close = get_close_matches(word, known, n=1, cutoff=0.6)
        what = f"`{verb}` has no option `{word}`" if word.startswith("-") else f"`{verb}` has no use for `{word}`"
        raise UsageError(what, hint=f"use `{close[0]}`" if close else f"{sub.prog} --help")


def main(argv: Sequence[str] | None = None, *, prog: str | None = None) -> int:
    """Run one command line and return its exit code; `prog` is what an executable of `tools/` is called."""
    from rebasekit.console import Console

    arguments = list(sys.argv[1:] if argv is None else argv)
    if argv is None:  # a process of our own: half its time went into looking for cycles, which syntax trees have not
        gc.set_threshold(100_000, 20, 50)
        sys.unraisablehook = _unraisable
    console = Console()
    try:
        code = _run(arguments, console, prog)
        console.flush()
    except BrokenPipeError as error:
        if not console.reader_gone():  # a pipe of ours to git or pip, not `| head`
            return _bug(error, console)
        console.abandon_output()
        return 141
    except KeyboardInterrupt:
        console.close()
        console.error("interrupted")
        return 130
    except RebasekitError as error:
        console.close()
        console.error(error.message, hint=error.hint)
        return error.exit_code
    except Exception as error:
        console.close()
        return _surprise(error, console)
    return code


def _run(argv: list[str], console: Console, prog: str | None) -> int:
    verb = find_verb(argv)
    verbs = [verb] if verb else [] if "--version" in argv else commands.names()
    parser = build_parser(verbs, prog=prog)
    try:
        args, left = parser.parse_known_args(_normalised(_spelled(argv, verb), verb))
    except SystemExit as done:  # --help and --version have printed what was asked for
        return int(done.code or 0)
    if left:
        parser.refuse(verb, left) if verb else parser.error(f"there is no option `{left[0]}`")
    console.configure(color=args.color, quiet=args.quiet, verbose=args.verbose)
    if verb is None:
        console.line(parser.format_help().rstrip())
        return UsageError.exit_code
    args.build_parser = build_parser  # for `completion`, which lies below this module
    return commands.load(verb).run(args, console)


def find_verb(argv: Sequence[str]) -> str | None:
    """The command named in `argv`, None when there is none; raise UsageError with the closest one if unknown."""
    words = iter(argv)
    for word in words:
        if word in ("-h", "--help"):
            return None
        if word in _WITH_VALUE:
            next(words, None)
        elif not word.startswith("-"):
            break
    else:
        return None
    known = commands.names()
    if word.replace("_", "-") in known:  # executables of `tools/` are named with an underscore
        return word.replace("_", "-")
    from difflib import get_close_matches

    close = get_close_matches(word, known, n=1, cutoff=0.5)
    raise UsageError(f"there is no command `{word}`", hint=f"rebasekit {close[0]}" if close else "rebasekit --help")


def build_parser(verbs: Iterable[str], *, prog: str | None = None) -> Parser:
    """The parser with the named commands; each one named is imported."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = Parser(prog="rebasekit", description=_DESCRIPTION, epilog=_EPILOG, formatter_class=raw, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"rebasekit {__version__}")
    _add_global_options(parser, default=True)
    group = parser.add_subparsers(title="commands", metavar="COMMAND", dest="verb", parser_class=Parser)
    for verb in verbs:
        command = commands.load(verb)
        example = getattr(command, "EXAMPLE", "")
        sub = group.add_parser(
            verb,
            help=command.HELP,
            description=getattr(command, "DESCRIPTION", command.HELP[:1].upper() + command.HELP[1:] + "."),
            epilog=f"example:\n  {example}" if example else None,
            formatter_class=raw,
            allow_abbrev=False,
        )
        if prog is not None:
            sub.prog = prog  # `tools/reach --help` says `reach`, not `rebasekit reach`
        command.add_arguments(sub)
        _add_global_options(sub.add_argument_group("options of every command"), default=False)
    return parser


def _add_global_options(parser: argparse._ActionsContainer, *, default: bool) -> None:
    """Add the options that may stand before and after the verb; only the first place sets their defaults."""

    def value(wanted: object) -> object:
        return wanted if default else argparse.SUPPRESS

    add = parser.add_argument
    help_text = "the patchset folder, or the folder that holds it (default: the nearest `patchset/` upwards)"
    add("-C", "--patchset", metavar="DIR", default=value(None), help=help_text)
    help_text = "where releases are stored (default: $REBASEKIT_CACHE, or rebasekit in the user's cache folder)"
    add("--cache", metavar="DIR", default=value(None), help=help_text)
    add("--color", choices=("auto", "always", "never"), default=value("auto"), help="colours (default: on a terminal)")
    add("-q", "--quiet", action="store_true", default=value(False), help="no progress and no notes")
    add("-v", "--verbose", action="count", default=value(0), help="say more; twice for timings")


def _spelled(argv: list[str], verb: str | None) -> list[str]:
    """`argv` with the verb as the parser has it: `load_multi`, an executable of `tools/`, is `load-multi`."""
    pairs = zip(["", *argv], argv, strict=False)
    return [
        verb if verb and before not in _WITH_VALUE and word.replace("_", "-") == verb else word
        for before, word in pairs
    ]


def _normalised(argv: list[str], verb: str | None) -> list[str]:
    """`argv` with a bare `--json` made explicit, so that `reach --json NAME` does not write a file called NAME.

    Reports keep the plain rule (`--json FILE`); their commands set `WRITES_REPORT`.
    """
    if verb is None or getattr(commands.load(verb), "WRITES_REPORT", False):
        return argv
    pairs = zip(["", *argv], argv, strict=False)
    return ["--json=-" if word == "--json" else word for before, word in pairs if (before, word) != ("--json", "-")]


def _surprise(error: Exception, console: Console) -> int:
    """Report what no layer below expected: the machine's fault where the error says so, else ours."""
    if isinstance(error.__cause__, KeyboardInterrupt):  # Python 3.11 wraps one that comes while a class is made
        console.error("interrupted")
        return 130
    if isinstance(error, OSError) and error.errno in _MACHINE:
        where = f"`{error.filename}`: " if error.filename else ""
        console.error(f"{where}{(error.strerror or str(error)).lower()}", hint="rebasekit doctor")
        return StateError.exit_code
    if isinstance(error, ModuleNotFoundError) and error.name and not error.name.startswith("rebasekit"):
        from rebasekit.commands._extras import installing

        package = error.name.partition(".")[0]
        console.error(f"the package `{package}` is not installed for this Python", hint=installing(package))
        return StateError.exit_code
    return _bug(error, console)


def _unraisable(caught: sys.UnraisableHookArgs) -> None:
    """^C that comes while Python clears up after an object is lost there: have it come again."""
    if caught.exc_type is KeyboardInterrupt:
        import _thread
        import threading

        again = threading.Timer(0.01, _thread.interrupt_main)  # not at once: it would be lost in here too
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(caught)


def _bug(error: Exception, console: Console) -> int:
    if os.environ.get("REBASEKIT_TRACEBACK"):
        import traceback

        traceback.print_exception(error)
    first_line = str(error).strip().partition("\n")[0]
    what = f"{type(error).__name__}: {first_line}" if first_line else type(error).__name__
    hint = "set REBASEKIT_TRACEBACK=1 and run it again to see where; please report that"
    console.error(f"this is a bug in rebasekit: {what}", hint=hint)
    return 70
