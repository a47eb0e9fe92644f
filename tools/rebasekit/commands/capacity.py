"""`tools/capacity`: what a deployment holds, before it is started or while it runs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from rebasekit.commands import _options

if TYPE_CHECKING:
    from rebasekit.console import Console
    from rebasekit.probes.capacity.plan import Plan

HELP = "say how many tokens, conversations and requests a deployment holds, and what limits each"
DESCRIPTION = """\
From a model's config.json, server flags and a card's memory, or from a running server: bytes of a token in each type
of KV cache, the server's own token count with the limit that binds it, chains that fit, state slots that they need,
and the flags to change together. Pure arithmetic: nothing is started. `--max-total-tokens` is a cap, not a size.
Exit 0: it all fits; 1: it does not; sizes are written `11.3 GiB` or `575 MB`."""
EXAMPLE = """tools/capacity --profile rtx5070x2 --chain 66000 --chains 3
  tools/capacity --model DIR --free '11.3 GiB' --weights '8.3 GiB' -- --tp 2 --mem-fraction-static 0.9
  tools/capacity --url localhost:30000 --log server.log --plot card.svg"""


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    what = parser.add_argument_group("what is asked about").add_argument
    what("--profile", metavar="NAME", help="a profile of patchset/profiles/, or its file")
    what("--url", metavar="URL", help="a running server")
    what("--model", metavar="DIR", help="the model's folder or config.json")
    what("flags", metavar="-- FLAG", nargs="*", default=[], help="the server's flags, after `--`")
    memory = parser.add_argument_group("memory of one card").add_argument
    memory("--free", metavar="SIZE", help="what is free before the weights are loaded")
    memory("--weights", metavar="SIZE", help="what the weights take (default: the model's files, split over the ranks)")
    memory("--card", metavar="SIZE", help="what the card has in all")
    memory("--log", metavar="FILE", help="a server's log, which says what was free and what the weights took")
    chains = parser.add_argument_group("what it is to hold").add_argument
    chains("--chain", metavar="TOKENS", type=int, default=0, help="the length of one conversation")
    chains("--chains", metavar="N", type=int, default=0, help="how many of them are to stay cached (default: 1)")
    chains("--dense-copies", metavar="N", type=int, help="16-bit copies of a prefix that prefill makes (default: 0)")
    add("--tag", metavar="TAG", help="the release (default: the profile's or server's, else the series' base)")
    add("--pristine", action="store_true", help="as upstream counts: int8 checkpoints lie outside the budget")
    add("--plot", metavar="FILE", help="draw what share of the card each thing takes as context grows")
    _options.add_json(parser)


def run(args: Namespace, console: Console) -> int:
    from rebasekit.commands import _capacity, _plan
    from rebasekit.probes.capacity.plan import plan

    asked, reported = _capacity.asked(args)
    found = plan(asked)
    if args.plot:
        _draw(Path(args.plot), found, console)
    if not _options.print_json(args, console, _plan.data(found, reported)):
        _plan.show(console, found, reported)
    return 0 if found.ok else 1


def _draw(target: Path, found: Plan, console: Console) -> None:
    from rebasekit.probes.capacity.plot import draw

    asked = found.deployment
    title = f"{Path(asked.model.name).name}, {asked.flags.kv_cache_dtype} KV cache, {asked.ranks} ranks"
    draw(target, found.shares(), asked.memory.total or asked.memory.free, title)
    console.note(f"drawn in `{target}`")
