"""`tools/survive`: does every upstream API that our lines use still exist, with a signature that fits?"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from typing import TYPE_CHECKING

from rebasekit.commands import _options, _where

if TYPE_CHECKING:
    from rebasekit.checks.survive import Counted
    from rebasekit.console import Console
    from rebasekit.model.finding import Finding
    from rebasekit.model.tag import Tag
    from rebasekit.steps.patched import Patched
    from rebasekit.steps.workspace import Workspace

HELP = "check that every upstream API that our lines use is still there and still fits"
DESCRIPTION = """\
For each hunk, find the upstream APIs that its own lines use: imports, attributes and methods of objects whose class
is known, calls with their arguments, overridden methods, and what the hunk lists under `uses`. Compare the release
of the hunk's pin with TAG and report what is gone, what moved and where to, calls that no longer fit, overrides
whose base grew, and values that are no longer accepted. Uses of objects whose class is not known are counted, not
judged. Exit 0: everything survived; 1: findings."""
EXAMPLE = "tools/survive --tag v0.5.20\n  tools/survive --from v0.5.19 --tag v0.5.21 int2-pool --json"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("patches", metavar="PATCH", nargs="*", help="only the hunks of these patches")
    parser.add_argument("--tag", metavar="TAG", help="the release to look at (default: the newest one stored)")
    parser.add_argument("--from", dest="start", metavar="TAG", help="compare with this release, not each hunk's pin")
    _options.add_json(parser)


def run(args: Namespace, console: Console) -> int:
    from rebasekit.checks.survive import survive
    from rebasekit.commands import _patched
    from rebasekit.model.tag import Tag
    from rebasekit.steps.checking import used

    space = _where.workspace(args)
    tag = Tag.parse(args.tag) if args.tag else _patched.newest(space)
    start = Tag.parse(args.start) if args.start else None
    wanted = {space.patch(name).name for name in args.patches}
    space.ensure({tag, *([start] if start else [])}, console)
    new = _patched.patched(space, tag, console)
    findings: list[Finding] = []
    counted: list[Counted] = []
    for pin, names in sorted(_pins(space, tag, start, new, wanted).items()):
        old = new if pin == tag else _patched.patched(space, pin, console)
        hunks = [used(name, old, new) for name in names]
        found = survive(hunks, old.facts, new.facts, tag=tag.name)
        findings += found.findings
        counted += found.hunks
    data = {"tag": tag.name, "findings": [asdict(f) for f in findings], "hunks": [asdict(c) for c in counted]}
    if not _options.print_json(args, console, data):
        _show(console, tag, findings, counted)
    return 1 if findings else 0


def _pins(space: Workspace, tag: Tag, start: Tag | None, new: Patched, wanted: set[str]) -> dict[Tag, list[str]]:
    """Hunks that may have a place on the tag, by the release on which they were reviewed."""
    from rebasekit.model.placement import Outcome
    from rebasekit.steps.workspace import pin_tag

    found: dict[Tag, list[str]] = {}
    for hunk in space.series.hunks():
        selected = hunk.form_for(tag)
        gone = new.placements[hunk.name].outcome in (Outcome.NOT_MEANT, Outcome.UPSTREAMED)
        if selected is not None and not gone and (not wanted or hunk.patch in wanted):
            found.setdefault(start or pin_tag(selected[1], space.series.base), []).append(hunk.name)
    return found


def _show(console: Console, tag: Tag, findings: list[Finding], counted: list[Counted]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from rebasekit.report.report import counted as plural
    from rebasekit.visible import visible

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("hunk", overflow="fold")
    table.add_column("uses", justify="right")
    table.add_column("not known", justify="right")
    table.add_column("findings", overflow="fold")
    for row in counted:
        kinds = dict.fromkeys(f.kind for f in findings if (f.patch, f.hunk) == (row.patch, row.hunk))
        cells = (f"{row.patch}/{row.hunk}", str(row.checked), str(row.unresolved or ""), ", ".join(kinds))
        table.add_row(*(Text(visible(cell)) for cell in cells))
    console.show(table)
    for one in findings:
        console.line(f"{one.file}:{one.line}: {one.kind}: {visible(one.message)}")
    total = plural(sum(row.checked for row in counted), "use")
    unknown = sum(row.unresolved for row in counted)
    console.note(
        f"{total} compared with {tag}, {plural(len(findings), 'finding')}; "
        f"{unknown} more not judged: the class of their object is not known"
    )
