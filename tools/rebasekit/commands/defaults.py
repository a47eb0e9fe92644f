"""`tools/defaults`: did a default or a registry's choice flip that a patch relies on?"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rebasekit.commands import _options, _where

if TYPE_CHECKING:
    from rebasekit.checks.defaults import Defaults, ReliedHunk
    from rebasekit.console import Console
    from rebasekit.model.tag import Tag
    from rebasekit.steps.patched import Patched
    from rebasekit.steps.workspace import Workspace

HELP = "check the defaults that patches rely on, and find hunks that a flipped one bypasses"
DESCRIPTION = """\
Evaluate every `relies` entry of the series on TAG: environment defaults, server arguments, constants, parameters
and table entries. What series.toml pins ([environment], [deployment]) decides: a flip that a pin undoes is a note,
not a finding. For a flip that nothing undoes, hunks whose functions serving reaches only through the old choice are
reported as bypassed. Exit 0: all hold or are pinned; 1: findings."""
EXAMPLE = "tools/defaults --tag v0.5.21\n  tools/defaults --tag v0.5.21 --no-pins --json"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--tag", metavar="TAG", help="the release to look at (default: the newest one stored)")
    parser.add_argument("--no-pins", action="store_true", help="as if the deployment set nothing")
    parser.add_argument(
        "--assume", metavar="NAME=VALUE", action="append", default=[], help="as if the deployment set this; repeatable"
    )
    parser.add_argument("--propose", action="store_true", help="also propose `relies` entries (takes seconds)")
    _options.add_json(parser)


def run(args: Namespace, console: Console) -> int:
    from rebasekit.checks.defaults import defaults, propose
    from rebasekit.commands import _patched
    from rebasekit.model.tag import Tag

    space = _where.workspace(args)
    tag = Tag.parse(args.tag) if args.tag else _patched.newest(space)
    pins = _pins(args, space)
    space.ensure({tag, space.series.base}, console)
    new = _patched.patched(space, tag, console)
    old = new if tag == space.series.base else _patched.patched(space, space.series.base, console)
    hunks = _hunks(new)
    found = defaults(hunks, old.facts, new.facts, pins=pins, tag=tag.name)
    proposed = propose(new.facts, hunks) if args.propose else {}
    data: dict[str, Any] = {
        "tag": tag.name,
        "findings": [asdict(f) for f in found.findings],
        "notes": list(found.notes),
        "entries": [asdict(s) for s in found.standings],
    }
    if args.propose:
        data["proposed"] = proposed
    if not _options.print_json(args, console, data):
        _show(console, tag, found, proposed)
    return 1 if found.findings else 0


def _pins(args: Namespace, space: Workspace) -> dict[str, object]:
    """What the deployment sets, by name; `--assume` wins."""
    from rebasekit.errors import UsageError

    pins: dict[str, object] = {}
    if not args.no_pins:
        pins = dict(space.series.known)
    for text in args.assume:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"`{text}` is no assumption", hint="tools/defaults --assume NAME=VALUE")
        pins[name] = value
    return pins


def _hunks(new: Patched) -> list[ReliedHunk]:
    from rebasekit.checks.defaults import ReliedHunk
    from rebasekit.model.placement import Outcome

    skipped = (Outcome.NOT_MEANT, Outcome.UPSTREAMED)
    return [
        ReliedHunk(p.patch, p.hunk, p.file, p.lines, p.form.relies if p.form else ())
        for p in new.placements.values()
        if p.outcome not in skipped
    ]


def _show(console: Console, tag: Tag, found: Defaults, proposed: dict[str, tuple[str, ...]]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from rebasekit.report.report import counted
    from rebasekit.visible import visible

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in ("relied on", "was", f"in {tag}", "pinned to", "state"):
        table.add_column(column, overflow="fold")
    styles = {"holds": "green", "pinned": "cyan", "flipped": "bold red"}
    for one in found.standings:
        cells = (one.entry, one.before or "", one.after or "nowhere", one.pin or "")
        table.add_row(*(Text(visible(cell)) for cell in cells), Text(one.state, style=styles[one.state]))
    console.show(table)
    for note in found.notes:
        console.note(note)
    for finding in found.findings:
        name = visible(f"{finding.patch}/{finding.hunk}")
        console.line(f"{finding.file}:{finding.line}: {finding.kind}: {name}: {visible(finding.message)}")
    for name, lines in sorted(proposed.items()):
        console.line(f"{visible(name)} may rely on: {visible('; '.join(lines))}")
    entries = counted(len(found.standings), "entry", "entries")
    console.note(f"{entries} on {tag}, {counted(len(found.findings), 'finding')}")
