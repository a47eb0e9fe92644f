"""`tools/conc`: what clients get when many ask at once, and what the cards do meanwhile."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from rebasekit.commands import _probes

if TYPE_CHECKING:
    from rebasekit.console import Console
    from rebasekit.probes.measure.load import Load

HELP = "measure a running server under N clients, with its cards' memory, utilisation, power and temperature"
DESCRIPTION = """\
Let N clients ask prompts of their own at once, for each N given, and print what they got. Every 3 seconds the cards
are looked at through NVIDIA's library (the extra `gpu`). A card whose utilisation is near 100 % while its power falls
to a fraction of its own loaded figure is named: that is the cliff, where it waits and does not work."""
EXAMPLE = "tools/conc --clients 1 2 4 8 --tokens 16000 --new 256 --plot conc.svg"


def add_arguments(parser: ArgumentParser) -> None:
    positive = _probes.positive
    _probes.add_server(parser)
    add = parser.add_argument
    add("--clients", metavar="N", type=positive, nargs="+", default=[1, 2, 4], help="how many (default: 1 2 4)")
    add("--requests", metavar="N", type=positive, default=4, help="of each client, one after another (default: 4)")
    add("--tokens", metavar="N", type=positive, default=4000, help="length of each prompt (default: 4000)")
    add("--new", metavar="N", type=positive, default=128, help="tokens of each answer (default: 128)")
    add(
        "--every", metavar="SECONDS", type=_probes.duration, default=3.0, help="between looks at the cards (default: 3)"
    )
    add("--cards", metavar="N", type=int, nargs="+", default=None, help="the server's cards (default: all)")
    help_text = "what such a card takes under load (default: the best 3 looks of this run)"
    add("--loaded", metavar="WATTS", type=positive, default=None, help=help_text)


def run(args: Namespace, console: Console) -> int:
    from rebasekit.probes.measure import plots
    from rebasekit.probes.measure.load import Load, measure

    found = Load(args.tokens, args.new, args.requests, args.every, args.loaded)
    clients = list(dict.fromkeys(args.clients))
    return _probes.carry_out(
        args, console, found, lambda run: measure(run, found, clients, args.cards), tables, data, plots.load
    )


def tables(found: Load) -> list[Any]:
    """A row for each number of clients, one for each card with it, and what the cards say."""
    if not found.served:
        return []
    columns = ("clients", "answers", "errors", "read/s", "written/s", "first content", "9 of 10", "from the cache")
    parts = [_probes.table(*columns)]
    for level in found.levels:
        firsts = (_probes.seconds(level.first), _probes.seconds(level.slowest))
        rates = (f"{level.read:,.0f}", f"{level.written:,.1f}")
        parts[0].add_row(
            str(level.clients),
            str(level.answers),
            str(level.errors or ""),
            *rates,
            *firsts,
            _probes.share(level.cached),
        )
    if found.samples:
        parts.append(_cards(found))
    said = [_probes.text(f"{count} × {words}", "red") for words, count in found.errors[:3]]
    return [*parts, *said, *(_probes.text(line) for line in found.verdict)]


def _cards(found: Load) -> Any:
    """Medians of each card at each number of clients; memory and temperature are the most that was seen."""
    import statistics

    shown = _probes.table("card", "clients", "looks", "memory", "utilisation", "power", "temperature")
    for card in found.cards:
        for level in found.levels:
            mine = [each for each in found.samples if (each.card, each.clients) == (card.number, level.clients)]
            if not mine:
                continue
            memory = [each.memory for each in mine if each.memory is not None]
            busy = [each.utilisation for each in mine if each.utilisation is not None]
            power = [each.power for each in mine if each.power is not None]
            heat = [each.temperature for each in mine if each.temperature is not None]
            shown.add_row(
                f"{card.number} {card.name}",
                str(level.clients),
                str(len(mine)),
                f"{max(memory) / 1e9:.1f} GB" if memory else "",
                f"{statistics.median(busy):.0f} %" if busy else "",
                f"{statistics.median(power):.0f} W" if power else "",
                f"{max(heat)} °C" if heat else "",
            )
    return shown


def data(found: Load) -> dict[str, Any]:
    """docs/probes.md describes it."""
    from dataclasses import asdict

    return {
        "tokens": found.tokens,
        "new": found.new,
        "requests": found.requests,
        "every": found.every,
        "levels": [asdict(level) for level in found.levels],
        "cards": [{**asdict(card), "loaded": found.loaded(card.number)} for card in found.cards],
        "cliffs": [asdict(cliff) for cliff in found.cliffs],
        "samples": [asdict(sample) for sample in found.samples],
        "served": [asdict(each) for each in found.served],
        "note": found.note,
        "verdict": found.verdict,
    }
