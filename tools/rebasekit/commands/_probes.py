"""What the probes share: options, the key, a run that may be interrupted, and how results go out."""

from __future__ import annotations

import os
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from rebasekit.commands import _options

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rebasekit.console import Console
    from rebasekit.probes.measure.run import Run
    from rebasekit.probes.measure.server import Endpoint

KEY = "REBASEKIT_API_KEY"
URL = "http://127.0.0.1:30000"


def add_server(parser: ArgumentParser) -> None:
    """Add the server and how to ask it."""
    parser.add_argument("url", metavar="URL", nargs="?", default=URL, help=f"the server (default: {URL})")
    add_asking(parser)


def add_asking(parser: ArgumentParser) -> None:
    """Add how to ask, and where the figures go."""
    group = parser.add_argument_group("how to ask")
    help_text = "the route: SGLang's own with token ids, or OpenAI's (default: SGLang's where the server has it)"
    group.add_argument("--api", choices=("auto", "generate", "completions", "chat"), default="auto", help=help_text)
    help_text = f"the environment variable that holds the key (default: {KEY}); never the key itself"
    group.add_argument("--api-key", metavar="NAME", default=None, help=help_text)
    help_text = "another number makes other prompts, which no cache has seen (default: 1)"
    group.add_argument("--seed", metavar="N", type=int, default=1, help=help_text)
    group.add_argument("--timeout", metavar="SECONDS", type=positive, default=900, help="for one answer (default: 900)")
    help_text = "tokens that the server takes, where it does not say so itself"
    group.add_argument("--context", metavar="TOKENS", type=positive, default=None, help=help_text)
    help_text = "leave the server's cache as it is; then a prompt that is found in it ends the run"
    group.add_argument("--no-flush", action="store_true", help=help_text)
    _options.add_json(parser)
    parser.add_argument("--plot", metavar="FILE", help="draw it: FILE.png or FILE.svg")


def positive(text: str) -> int:
    """A whole number above zero."""
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"`{text}` is not a whole number above zero")
    return int(text)


def duration(text: str) -> float:
    """Seconds, above zero."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise ArgumentTypeError(f"`{text}` is not a number of seconds above zero")
    return value


def key(args: Namespace) -> str | None:
    """The key from the environment. Raises UsageError, without repeating what was given, when it is not there."""
    from rebasekit.errors import UsageError

    found = os.environ.get(KEY if args.api_key is None else args.api_key) or None
    if found is None and args.api_key is not None:  # a key that was given on the command line must not be printed
        raise UsageError("`--api-key` has to name an environment variable that is set", hint=f"export {KEY}=…")
    if found is not None and not all("!" <= letter <= "~" for letter in found):  # httpx would say it in its error
        raise UsageError("the key has a character that a header cannot carry, a line end for example")
    return found


def endpoint(args: Namespace, url: str | None = None) -> Endpoint:
    from rebasekit.probes.measure.server import Endpoint

    return Endpoint(url or args.url, key(args), float(args.timeout))


def carry_out(
    args: Namespace,
    console: Console,
    found: Any,
    work: Callable[[Run], Awaitable[None]],
    show: Callable[[Any], list[RenderableType]],
    data: Callable[[Any], Mapping[str, Any]],
    plot: Callable[[Any, str], None],
) -> int:
    """Measure one server and print it. Interrupted, or stopped by an error, it prints what was measured so far.

    `found` is filled by `work`; the exit code is 0, 130 after ^C, and errors are raised after the printing.
    """
    from rebasekit.probes.measure.client import Client
    from rebasekit.probes.measure.run import Run

    target = endpoint(args)
    header: dict[str, Any] = {"url": target.shown, "seed": args.seed, "flushes": not args.no_flush}

    async def measure() -> None:
        async with Client(target, args.api, context=args.context) as client:
            run = Run(client, args.seed, not args.no_flush, console)
            await run.try_reports()
            header.update(server=describe(client.server), api=client.api)
            await work(run)

    return finish(args, console, found, measure, lambda: header, show, data, plot)


def finish(
    args: Namespace,
    console: Console,
    found: Any,
    measure: Callable[[], Awaitable[None]],
    header: Callable[[], Mapping[str, Any]],
    show: Callable[[Any], list[RenderableType]],
    data: Callable[[Any], Mapping[str, Any]],
    plot: Callable[[Any, str], None],
) -> int:
    """The part of `carry_out` that knows nothing of how many servers there are."""
    import asyncio

    from rebasekit.commands import _serving
    from rebasekit.errors import RebasekitError
    from rebasekit.probes.measure import plots
    from rebasekit.probes.measure.run import SCHEMA

    if args.json == "-":
        console.reserve_stdout()
    if args.plot:
        plots.check(args.plot)
    _serving.end_like_an_interrupt()
    stopped: BaseException | None = None
    try:
        asyncio.run(measure())  # type: ignore[arg-type]  # ours are coroutines
    except (KeyboardInterrupt, RebasekitError) as error:
        stopped = error
    console.close()
    interrupted = isinstance(stopped, KeyboardInterrupt)
    why = None if stopped is None else "interrupted" if interrupted else getattr(stopped, "message", "")
    head = {"schema": SCHEMA, "probe": args.verb.replace("-", "_"), "complete": stopped is None, "stopped": why}
    if parts := show(found):
        console.show(*parts)
    if stopped is not None and parts:
        console.warning("not complete: what was measured until it stopped")
    _options.print_json(args, console, {**head, **header(), **data(found)})
    if args.plot and parts:
        plot(found, args.plot)
        console.note(f"drawn: {args.plot}")
    if interrupted:
        console.error("interrupted")
        return 130
    if stopped is not None:
        raise stopped
    return 0


def describe(server: object) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(server)  # type: ignore[call-overload, no-any-return]


def table(*columns: str, title: str = "") -> Any:
    """A table whose first column is text and whose others are figures."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, title=title or None, title_justify="left")
    for number, column in enumerate(columns):
        made.add_column(column, justify="right" if number else "left", overflow="fold")
    return made


def text(words: str, style: str = "") -> Any:
    from rich.text import Text

    from rebasekit.visible import visible

    return Text(visible(words), style=style)


def seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.3g} s" if value >= 1 else f"{value * 1000:.0f} ms"


def share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"
