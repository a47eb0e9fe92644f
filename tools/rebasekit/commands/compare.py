"""`tools/compare`: whether two builds answer the same bytes, each from a cold cache."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from rebasekit.commands import _probes

if TYPE_CHECKING:
    from rebasekit.console import Console
    from rebasekit.probes.measure.compare import Comparison

HELP = "compare the answers of two running servers, byte for byte, each from a cold cache"
DESCRIPTION = """\
Ask two servers the same prompts, greedily, and compare every token. The cache is emptied before every prompt, and an
answer of which a single prompt token came from the cache ends the run: a hit may answer differently from a cold run,
so warm and cold are never compared. Each server is asked twice, since one that does not repeat itself cannot be
compared. Where both do not fit at once: keep the answers of A (`tools/compare URL --json=a.json`), and give the file
instead of its URL, or have each started in turn with --start-a and --start-b. Exit code 1 when answers differ."""
EXAMPLE = "tools/compare http://127.0.0.1:30000 http://127.0.0.1:30001\n  tools/compare a.json http://127.0.0.1:30000"


def add_arguments(parser: ArgumentParser) -> None:
    positive = _probes.positive
    add = parser.add_argument
    add("a", metavar="A", help="a server's URL, or a file with kept answers")
    add("b", metavar="B", nargs="?", help="the other server; without it, the answers of A are kept with --json=FILE")
    add("--tokens", metavar="N", type=positive, default=2000, help="length of the longest prompt (default: 2000)")
    add("--prompts", metavar="N", type=positive, default=8, help="how many, from short to long (default: 8)")
    add("--new", metavar="N", type=positive, default=64, help="tokens of each answer (default: 64)")
    add("--repeats", metavar="N", type=positive, default=2, help="how often each is asked (default: 2)")
    for side in ("a", "b"):
        help_text = f"start {side.upper()} with this, and end it when it was asked"
        add(f"--start-{side}", metavar="COMMAND", help=help_text)
    add("--ready", metavar="SECONDS", type=positive, default=900, help="for a server to start (default: 900)")
    _probes.add_asking(parser)


def run(args: Namespace, console: Console) -> int:
    from rebasekit.commands import _sides
    from rebasekit.errors import UsageError
    from rebasekit.probes.measure import plots
    from rebasekit.probes.measure.client import Client
    from rebasekit.probes.measure.compare import Comparison, Side, ask
    from rebasekit.probes.measure.run import Run
    from rebasekit.probes.measure.server import Endpoint

    old = _sides.kept(args.a)
    if args.b is None and old is not None:
        raise UsageError("there is nothing to compare the file with", hint=f"tools/compare {args.a} URL")
    repeats = 1 if args.no_flush else args.repeats  # a second time would be warm
    found = Comparison(args.tokens, args.new, args.prompts, repeats, args.seed, Side(args.a))
    if old is not None:
        found = Comparison(**{key: old[key] for key in ("tokens", "new", "prompts", "repeats", "seed")}, a=Side(args.a))
        found.a = _sides.side_of(old, args.a)
        args.seed, args.api = found.seed, found.a.api
    if args.b is not None:
        found.b = Side(args.b)
    todo: list[tuple[Side, str, Endpoint]] = []
    for side, url, start in ((found.a, args.a, args.start_a), (found.b, args.b, args.start_b)):
        if side is not None and not side.said:
            todo.append((side, start, _probes.endpoint(args, url)))

    async def measure() -> None:
        for side, start, target in todo:
            side.name = target.shown
            client = Client(target, args.api, context=args.context)
            async with _sides.running(start, target, float(args.ready), console), client:
                work = Run(client, args.seed, not args.no_flush, console)
                await work.try_reports()
                if side is found.b and client.api != found.a.api:
                    message = f"A was asked by `{found.a.api}` and B would be by `{client.api}`"
                    raise UsageError(message, hint=f"--api {found.a.api}")
                await ask(work, found, side)

    code = _probes.finish(args, console, found, measure, dict, tables, data, plots.compare)
    return code or (0 if found.same else 1)


def tables(found: Comparison) -> list[Any]:
    """A row for each prompt: its length, and where the answers part."""
    from rebasekit.probes.measure.compare import lengths

    if not found.a.said:
        return []
    shown = _probes.table("prompt", "tokens", "A repeats", "B repeats", "A = B")
    shown.add_column("parts at")
    wrong = [{each.prompt for each in found.unstable(side)} if side else set() for side in (found.a, found.b)]
    parts = {each.prompt: each for each in found.differences}
    for number, tokens in enumerate(lengths(found.tokens, found.prompts)):
        cells = [
            _mark(bool(side and len(side.of(number)) > 1), number not in bad)
            for side, bad in zip((found.a, found.b), wrong, strict=True)
        ]
        both = bool(found.a.of(number) and found.b and found.b.of(number))
        part = parts.get(number)
        where = f"{part.at + 1}: {part.a} | {part.b}" if part else ""
        shown.add_row(str(number + 1), str(tokens), *cells, _mark(both, part is None), _probes.text(where))
    sides = [f"A {found.a.name}"] + ([f"B {found.b.name}"] if found.b else [])
    return [shown, *(_probes.text(each, "dim") for each in sides), _probes.text(found.verdict)]


def _mark(known: bool, good: bool) -> str:
    return ("yes" if good else "NO") if known else ""


def data(found: Comparison) -> dict[str, Any]:
    """docs/probes.md describes it; `a` can be read again."""
    from dataclasses import asdict

    return {
        "same": found.same if found.b is not None else None,
        **asdict(found),
        "differences": [asdict(each) for each in found.differences],
        "unstable": {
            "a": [asdict(each) for each in found.unstable(found.a)],
            "b": [asdict(each) for each in found.unstable(found.b)] if found.b else [],
        },
        "verdict": found.verdict,
    }
