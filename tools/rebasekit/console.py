"""The only printer: results on standard output, everything about the work on standard error."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO

from rebasekit.visible import visible

if TYPE_CHECKING:  # rich takes longer to import than most commands take to run
    from rich.console import Console as RichConsole
    from rich.console import RenderableType

    from rebasekit.bars import Bars
    from rebasekit.model.progress import Task

_PIPE_WIDTH = 10_000  # a table in a pipe is as wide as it needs to be: nothing is wrapped before grep sees it

Choice = Literal["auto", "always", "never"]


def wants_color(stream: TextIO, choice: Choice) -> bool:
    """Whether to colour `stream`: the option, NO_COLOR, CLICOLOR_FORCE, CLICOLOR=0, then whether it is a terminal."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb" and os.environ.get("CLICOLOR") != "0"


class Console:
    """Prints for one command; also the `Progress` that libraries report to."""

    def __init__(self) -> None:
        self.quiet = False
        self.verbose = 0
        self._choice: Choice = "auto"
        self._reserved = False
        self._rich: dict[TextIO, RichConsole] = {}
        self._bars: Bars | None = None
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")  # a Latin-1 terminal must not end a rebase

    def configure(self, *, color: Choice = "auto", quiet: bool = False, verbose: int = 0) -> None:
        """Take over the options of the command line."""
        self._choice, self.quiet, self.verbose = color, quiet, verbose
        self._rich.clear()

    def reserve_stdout(self) -> None:
        """Keep standard output for machine output: everything else then goes to standard error."""
        self._reserved = True

    @property
    def out(self) -> TextIO:
        """Where results for people go."""
        return sys.stderr if self._reserved else sys.stdout

    def line(self, text: str = "") -> None:
        """Print plain text without loading rich; control characters are written out."""
        print(visible(text), file=self.out)

    def show(self, *renderables: RenderableType) -> None:
        """Print tables and styled text."""
        for renderable in renderables:
            self.rich(self.out).print(renderable)

    def machine(self, target: str, text: str) -> None:
        """Write machine output to standard output (`-`) or to a file, whole or not at all."""
        text = text if text.endswith("\n") else text + "\n"
        if target == "-":
            sys.stdout.write(text)
            return
        path = Path(target)
        if path.exists() and not path.is_file():  # a pipe or a device: there is nothing to replace
            path.write_text(text, encoding="utf-8")
            return
        partial = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            partial.write_text(text, encoding="utf-8")
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)

    def machine_bytes(self, data: bytes) -> None:
        """Write a diff to standard output, byte for byte."""
        sys.stdout.flush()
        sys.stdout.buffer.write(data)

    def note(self, message: str) -> None:
        """Say something that the user may want to know; part of `Progress`."""
        if not self.quiet:
            self._say("note", "2", message)

    def warning(self, message: str) -> None:
        self._say("warning", "1;33", message)

    def error(self, message: str, *, hint: str | None = None) -> None:
        self._say("error", "1;31", message)
        if hint:
            self._say("hint", "1;36", hint)

    def _say(self, word: str, code: str, message: str) -> None:
        head = f"\x1b[{code}m{word}:\x1b[0m" if wants_color(sys.stderr, self._choice) else f"{word}:"
        for line in message.splitlines() or [""]:
            print(head, visible(line), file=sys.stderr)

    def task(self, label: str, total: float | None = None, unit: str = "") -> Task:
        """A bar on a terminal, one line in a pipe, and nothing for work that is over at once; part of `Progress`."""
        from rebasekit import bars
        from rebasekit.model.progress import SILENT

        if self.quiet:
            return SILENT.task(label, total, unit)
        if self._bars is None:
            self._bars = bars.Bars(self)
        return self._bars.task(label, total, unit)

    def rich(self, stream: TextIO) -> RichConsole:
        """The rich console of a stream, made when the first table or bar needs it."""
        if stream not in self._rich:
            from rich.console import Console as RichConsole

            color, terminal = wants_color(stream, self._choice), stream.isatty()
            self._rich[stream] = RichConsole(
                file=stream,
                force_terminal=terminal,
                color_system="auto" if color and terminal else "standard" if color else None,
                no_color=not color,
                width=None if terminal else int(os.environ.get("COLUMNS") or _PIPE_WIDTH),
                markup=False,
                emoji=False,
                highlight=False,
            )
        return self._rich[stream]

    def close(self) -> None:
        """Take all bars off the terminal."""
        if self._bars is not None:
            self._bars.close()

    def flush(self) -> None:
        sys.stdout.flush()

    def reader_gone(self) -> bool:
        """Whether standard output is a pipe that nobody reads any more."""
        import select

        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))

    def abandon_output(self) -> None:
        """Point standard output at nothing, so that Python's own flush at exit does not complain."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
