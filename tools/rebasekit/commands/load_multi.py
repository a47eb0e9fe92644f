"""`tools/load_multi`: what a server's cache keeps of several long chains that are asked in turn."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from rebasekit.commands import _probes

if TYPE_CHECKING:
    from rebasekit.console import Console
    from rebasekit.probes.measure.retention import Retention

HELP = "measure what a running server's cache keeps of several long chains asked in turn"
DESCRIPTION = """\
Ask K different long prompts in turn, for several laps, and print for each lap how many of the prompt tokens came from
the cache. Below what the cache holds a later lap is near 100 %; with one chain more a cache that drops the oldest
loses each just before it is asked again, and the share falls to about zero. The server's cache is emptied first."""
EXAMPLE = "tools/load_multi --chains 2 3 4 --tokens 66000 --laps 3 --plot retention.svg"


def add_arguments(parser: ArgumentParser) -> None:
    positive = _probes.positive
    _probes.add_server(parser)
    add = parser.add_argument
    add("--chains", metavar="K", type=positive, nargs="+", default=[2, 3, 4], help="how many (default: 2 3 4)")
    add("--tokens", metavar="N", type=positive, default=8000, help="length of each chain (default: 8000)")
    add("--laps", metavar="N", type=positive, default=3, help="how often each is asked (default: 3)")
    help_text = "tokens that each lap adds to a chain, as a conversation does (default: 0, the same prompt again)"
    add("--grow", metavar="N", type=positive, default=0, help=help_text)
    add("--new", metavar="N", type=positive, default=1, help="tokens of each answer (default: 1)")


def run(args: Namespace, console: Console) -> int:
    from rebasekit.probes.measure import plots
    from rebasekit.probes.measure.retention import Retention, measure

    found = Retention(args.tokens, args.new, args.laps, args.grow)
    chains = list(dict.fromkeys(args.chains))
    return _probes.carry_out(
        args, console, found, lambda run: measure(run, found, chains), tables, data, plots.retention
    )


def tables(found: Retention) -> list[Any]:
    """Retention by lap, and what bounds it."""
    if not found.asked:
        return []
    laps = range(1, found.laps + 1)
    names = ("chains", *(f"lap {lap}" for lap in laps), "first content, lap 1", f"first content, lap {found.laps}")
    shown = _probes.table(*names, title=f"prompt tokens from the cache, {found.tokens:,} tokens a chain")
    shown.add_column("bound")
    for chains in found.sweep:
        shares = [_probes.share(found.share(chains, lap)) for lap in laps]
        firsts = [_probes.seconds(found.first(chains, lap)) for lap in (1, found.laps)]
        shown.add_row(str(chains), *shares, *firsts, found.bound(chains))
    return [shown, _probes.text(found.verdict)]


def data(found: Retention) -> dict[str, Any]:
    """docs/probes.md describes it."""
    from dataclasses import asdict

    sweep = [
        {
            "chains": chains,
            "tokens": chains * found.tokens,
            "retention": [found.share(chains, lap) for lap in range(1, found.laps + 1)],
            "first": [found.first(chains, lap) for lap in range(1, found.laps + 1)],
            "bound": found.bound(chains),
        }
        for chains in found.sweep
    ]
    kept = {key: getattr(found, key) for key in ("tokens", "new", "laps", "grow", "best", "verdict")}
    return {**kept, "sweep": sweep, "asked": [asdict(each) for each in found.asked]}
