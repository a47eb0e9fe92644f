"""`rebasekit show`: one hunk or patch in full."""

from __future__ import annotations

import textwrap
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from rebasekit.commands import _options, _standing, _where
from rebasekit.visible import visible

if TYPE_CHECKING:
    from rebasekit.console import Console
    from rebasekit.model.hunk import Form, Hunk, Patch

HELP = "show one hunk or patch: why it exists, its lines, and where it stands on each release"
EXAMPLE = "rebasekit show int2-pool/dtype-name\n  rebasekit show int2-pool"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="HUNK", help="`patch/id`, an id that only one patch has, or a patch")
    _options.add_json(parser)


def run(args: Namespace, console: Console) -> int:
    from rebasekit.model.hunk import Patch
    from rebasekit.patches.load import load_series
    from rebasekit.patches.names import find

    root = _where.project(args)
    found = find(load_series(root / "patchset"), args.name)
    hunks = found.hunks if isinstance(found, Patch) else (found,)
    maps = _standing.every(root)
    if args.json is not None:
        header = _header(found) if isinstance(found, Patch) else {}
        _options.print_json(args, console, {**header, "hunks": [_data(hunk, maps) for hunk in hunks]})
        return 0
    if isinstance(found, Patch):
        console.line(f"{found.name}: {found.title}")
        for key, value in _header(found).items():
            if value and key not in ("patch", "title"):
                text = ", ".join(value) if isinstance(value, list) else str(value).strip()
                console.line(f"  {key}: {text}".replace("\n", "\n    "))
        console.line()
    for hunk in hunks:
        _show(hunk, maps, console)
    return 0


def _header(patch: Patch) -> dict[str, Any]:
    return {
        "patch": patch.name,
        "title": patch.title,
        "why": patch.why,
        "origin": patch.origin,
        "forwarded": patch.forwarded,
        "removal": patch.removal,
        "depends": list(patch.depends),
    }


def _data(hunk: Hunk, maps: list[_standing.Standing]) -> dict[str, Any]:
    stands = {standing.tag.name: standing.of(hunk.name) for standing in maps}
    return {
        "patch": hunk.patch,
        "id": hunk.id,
        "why": hunk.why,
        "decision": hunk.decision,
        "forms": [_form(form) for form in hunk.forms],
        "tags": {tag: entry for tag, entry in stands.items() if entry is not None},
    }


def _form(form: Form) -> dict[str, Any]:
    return {
        "tags": form.tags,
        "file": form.file,
        "scope": form.scope,
        "place": form.place.value,
        "at": form.at,
        "count": form.count,
        "to": form.to,
        "lines": form.lines,
        "uses": list(form.uses),
        "needs": list(form.needs),
        "relies": list(form.relies),
        "pin": form.pin.tag if form.pin else None,
    }


def _show(hunk: Hunk, maps: list[_standing.Standing], console: Console) -> None:
    from rich.text import Text

    console.show(Text(visible(hunk.name), style="bold"))
    for key, value in (("why", hunk.why), ("decision", hunk.decision)):
        if value:
            console.line(f"  {key}: {value.strip()}")
    for form in hunk.forms:
        console.line(f"  {_sentence(form)}")
        console.show(_lines(form))
    for standing in maps:
        entry = standing.of(hunk.name)
        if entry is not None:
            where = f"{entry['file']}:{entry['line']}" if entry["line"] else entry["file"]
            console.line(f"  {standing.tag}: {_standing.words(entry)}, {where}")
    console.line()


def _sentence(form: Form) -> str:
    """`replace "x = $A" in f() of file.py, tags >=v0.5.20, pinned at v0.5.19`."""
    from rebasekit.report.report import sentence

    tags = f", tags {form.tags}" if form.tags else ""
    return sentence(form) + tags + (f", pinned at {form.pin.tag}" if form.pin else ", not pinned")


def _lines(form: Form) -> Any:
    """Our lines, indented, coloured as Python where they are Python."""
    from rich.syntax import Syntax
    from rich.text import Text

    text = textwrap.indent(visible(form.lines.rstrip("\n")), "      ")
    if not form.file.endswith((".py", ".pyi")) or form.place.value in ("edit", "text"):
        return Text(text)
    shown = Syntax("", "python", theme="ansi_dark", background_color="default").highlight(text)
    shown.rstrip()
    return shown
