"""`rebasekit list`: the series at a glance."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from rebasekit.commands import _options, _standing, _where

if TYPE_CHECKING:
    from rebasekit.console import Console
    from rebasekit.model.hunk import Hunk, Series

HELP = "list the patches and hunks in order, and where they stand on the newest release"
DESCRIPTION = """\
List every patch and hunk in the order in which they apply: the place, the file and scope it anchors in, the
release it was last reviewed on (pin), and what happened to it on the newest release in upstream-map/."""
EXAMPLE = "rebasekit list\n  rebasekit list int2-pool --json | jq -r '.patches[].hunks[].file' | sort -u"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("patches", metavar="PATCH", nargs="*", help="only these patches")
    _options.add_json(parser)


def run(args: Namespace, console: Console) -> int:
    from rebasekit.patches.load import load
    from rebasekit.patches.names import find_patch

    root = _where.project(args)
    loaded = load(root / "patchset")
    for warning in loaded.warnings:
        console.warning(str(warning))
    wanted = {find_patch(loaded.series, name).name for name in args.patches}
    patches = [patch for patch in loaded.series.patches if not wanted or patch.name in wanted]
    newest = _standing.newest(root)
    if args.json is not None:
        data = [{"name": p.name, "title": p.title, "hunks": [_data(hunk, newest) for hunk in p.hunks]} for p in patches]
        _options.print_json(args, console, {"base": loaded.series.base.name, "patches": data})
        return 0
    _show(console, loaded.series, {patch.name for patch in patches}, newest)
    return 0


def _data(hunk: Hunk, newest: _standing.Standing | None) -> dict[str, Any]:
    form = hunk.forms[0]
    stands = newest.of(hunk.name) if newest else None
    return {
        "id": hunk.id,
        "place": form.place.value,
        "file": form.file,
        "scope": form.scope,
        "variants": [variant.tags for variant in hunk.forms[1:]],
        "pin": form.pin.tag if form.pin else None,
        "newest": {"tag": newest.tag.name, **stands} if newest and stands else None,
    }


def _show(console: Console, series: Series, wanted: set[str], newest: _standing.Standing | None) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from rebasekit.visible import visible

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in ("hunk", "place", "file", "scope", "pin", newest.tag.name if newest else ""):
        table.add_column(column, overflow="fold")
    for patch in series.patches:
        if patch.name not in wanted:
            continue
        table.add_row(Text(visible(patch.name), style="bold"), "", Text(visible(patch.title), style="dim"))
        for hunk in patch.hunks:
            form = hunk.forms[0]
            pins = [form.pin.tag for form in hunk.forms if form.pin]
            stands = newest.of(hunk.name) if newest else None
            word = _standing.words(stands) if stands else ""
            cells = (f"  {hunk.id}", form.place.value, form.file, form.scope, pins[-1] if pins else "", word)
            table.add_row(*(Text(visible(cell)) for cell in cells))
        table.add_section()
    console.show(table)
    if not series.patches:
        console.note("no patches yet: `rebasekit import SOURCE --onto TAG`, or `rebasekit edit NAME --new`")
    elif newest is None:
        console.note("nothing is known about any release yet: `rebasekit rebase TAG` finds out")
