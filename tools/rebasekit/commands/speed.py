"""`tools/speed`: how fast a server reads, starts to answer, and writes."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from rebasekit.commands import _probes

if TYPE_CHECKING:
    from rebasekit.console import Console
    from rebasekit.probes.measure.speed import Speed

HELP = "measure cold prefill, decoding, and the time to the first content of a running server"
DESCRIPTION = """\
Measure one server that nobody else uses: tokens per second of a cold long prompt and of decoding, and seconds to the
first content (not the first byte) of a short prompt, when idle and while somebody else's long prompt is being read.
The first long and the first short answer are not counted."""
EXAMPLE = "tools/speed --tokens 32000 --new 256 --json=speed.json"


def add_arguments(parser: ArgumentParser) -> None:
    positive = _probes.positive
    _probes.add_server(parser)
    add = parser.add_argument
    add("--tokens", metavar="N", type=positive, default=8000, help="length of the long prompt (default: 8000)")
    add("--short", metavar="N", type=positive, default=32, help="length of the short prompt (default: 32)")
    add("--new", metavar="N", type=positive, default=128, help="tokens to decode (default: 128)")
    add("--repeats", metavar="N", type=positive, default=3, help="answers of each kind (default: 3)")


def run(args: Namespace, console: Console) -> int:
    from rebasekit.errors import UsageError
    from rebasekit.probes.measure import plots
    from rebasekit.probes.measure.speed import Speed, measure

    if args.new < 2:
        raise UsageError("decoding has no speed with fewer than 2 tokens", hint="--new 128")
    found = Speed(args.tokens, args.short, args.new, args.repeats)
    return _probes.carry_out(args, console, found, lambda run: measure(run, found), tables, data, plots.speed)


def tables(found: Speed) -> list[Any]:
    """A row for each kind: medians, with the least and the most."""
    from rebasekit.probes.measure.speed import BEHIND, DECODE, PREFILL, SHORT, middle

    if not found.taken:
        return []
    shown = _probes.table("", "answers", "prompt", "new", "first content", "least … most", "tokens/s")
    for kind in (PREFILL, SHORT, DECODE, BEHIND):
        if rows := found.of(kind):
            firsts, rates = found.firsts(kind), found.rates(kind)
            spread = f"{_probes.seconds(min(firsts))} … {_probes.seconds(max(firsts))}"
            rate = f"{middle(rates):,.1f}" if rates else ""
            cells = (str(len(rows)), str(rows[0].prompt), str(rows[0].new), _probes.seconds(middle(firsts)))
            shown.add_row(kind, *cells, spread, rate)
    return [shown, _probes.text(found.verdict)]


def data(found: Speed) -> dict[str, Any]:
    """docs/probes.md describes it."""
    from dataclasses import asdict

    from rebasekit.probes.measure.speed import BEHIND, DECODE, PREFILL, SHORT, middle

    def of(values: list[float]) -> float | None:
        return middle(values) if values else None

    return {
        "prefill": of(found.rates(PREFILL)),
        "decode": of(found.rates(DECODE)),
        "first": {"long": of(found.firsts(PREFILL)), "short": of(found.firsts(SHORT)),
                  "short_during_prefill": of(found.firsts(BEHIND)), "long_with_short": of(found.beside)},
        "taken": [asdict(each) for each in found.taken],
        "verdict": found.verdict,
    }  # fmt: skip
