"""`tools/depth_probe`: how deep a server's cache matches a prompt that leaves a known one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from rebasekit.commands import _probes

if TYPE_CHECKING:
    from rebasekit.console import Console
    from rebasekit.probes.measure.depth import Depth

HELP = "measure how deep a running server's cache matches prompts that leave a known one"
DESCRIPTION = """\
Ask a long chain, then a prompt that leaves it after 100 %, 87.5 %, … 12.5 % of its tokens, and print how many of the
known tokens came from the cache. A cache of keys and values alone matches every token; a hybrid model can only go on
from a kept recurrent state, and reads again what lies between it and the cut. Each cut has a chain of its own, in an
empty cache; with --others, other chains are asked in between, as other users would."""
EXAMPLE = "tools/depth_probe --tokens 66000 --others 1 --plot depth.svg"


def add_arguments(parser: ArgumentParser) -> None:
    _probes.add_server(parser)
    add = parser.add_argument
    add("--tokens", metavar="N", type=_probes.positive, default=8000, help="length of a chain (default: 8000)")
    help_text = "other chains between a chain and its cut (default: 0)"
    add("--others", metavar="N", type=_probes.positive, default=0, help=help_text)


def run(args: Namespace, console: Console) -> int:
    from rebasekit.errors import UsageError
    from rebasekit.probes.measure import plots
    from rebasekit.probes.measure.depth import STEPS, Depth, measure

    if args.tokens < STEPS * 2:
        raise UsageError(f"{args.tokens} tokens are too few to cut", hint="--tokens 8000")
    found = Depth(args.tokens, args.others)
    return _probes.carry_out(args, console, found, lambda run: measure(run, found), tables, data, plots.depth)


def tables(found: Depth) -> list[Any]:
    """A row for each cut, with a bar of what was matched."""
    if not found.cuts:
        return []
    shown = _probes.table("cut", "known", "from the cache", "share", "read again", "first content", "cold")
    shown.add_column("")
    for cut in found.cuts:
        firsts = (_probes.seconds(cut.first), _probes.seconds(cut.cold))
        counts = (f"{cut.cut:,}", f"{cut.cached:,}", _probes.share(cut.share), f"{cut.again:,}")
        bar = round(20 * cut.cached / max(1, found.tokens))
        rest = round(20 * cut.cut / max(1, found.tokens)) - bar
        shown.add_row(f"{cut.eighths / 8:.1%}", *counts, *firsts, "█" * bar + "░" * rest)
    return [shown, _probes.text(found.verdict)]


def data(found: Depth) -> dict[str, Any]:
    """docs/probes.md describes it."""
    from dataclasses import asdict

    cuts = [{**asdict(cut), "share": cut.share, "again": cut.again} for cut in found.cuts]
    return {"tokens": found.tokens, "others": found.others, "cuts": cuts, "verdict": found.verdict}
