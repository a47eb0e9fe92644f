"""`tools/churn`: how much files and their scopes changed between two releases."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from rebasekit.commands import _options, _paths, _standing, _where

if TYPE_CHECKING:
    from rebasekit.checks.churn import FileChurn
    from rebasekit.console import Console
    from rebasekit.model.tag import Tag
    from rebasekit.steps.workspace import Workspace

HELP = "show how much files and their scopes changed between two releases"
DESCRIPTION = """\
Count the lines that upstream added and removed from release A to release B, per file as `git diff --numstat` counts
them, and per class and function. Without PATH: the files that the series touches, moved ones under both names."""
EXAMPLE = "tools/churn v0.5.19 v0.5.20\n  tools/churn v0.5.19 v0.5.20 sglang/srt/mem_cache --json"
_BAR = 24  # columns of the widest bar
_TOP = 5  # scopes shown per file


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", help="the earlier release")
    parser.add_argument("b", metavar="B", help="the later release")
    parser.add_argument("paths", metavar="PATH", nargs="*", help="files or folders as in the store")
    _options.add_json(parser)


def run(args: Namespace, console: Console) -> int:
    from rebasekit.checks.churn import churn
    from rebasekit.model.tag import Tag

    a, b, space = Tag.parse(args.a), Tag.parse(args.b), _where.workspace(args)
    space.ensure({a, b}, console)
    if args.paths:
        known = {**space.store.files(a), **space.store.files(b)}
        changed = set(space.store.numstat(a, b)) | set(args.paths)
        paths = [path for path in _paths.chosen(known, args.paths, f"{a} or {b}") if path in changed]
    else:
        paths = touched(space, a, b)
    found = churn(space.store, a, b, paths)
    if not _options.print_json(args, console, {"files": [_data(one) for one in found]}):
        _show(console, found, f"{a}…{b}")
    return 0


def touched(space: Workspace, a: Tag, b: Tag) -> list[str]:
    """Files of the releases in which the series has hunks: as the forms say, where hunks landed, where they moved."""
    paths = {form.file for hunk in space.series.hunks() for form in hunk.forms}
    paths |= {form.pin.file for hunk in space.series.hunks() for form in hunk.forms if form.pin and form.pin.file}
    for tag in (a, b):
        standing = _standing.read(space.root, tag)
        for hunk in space.series.hunks() if standing is not None else ():
            entry = standing.of(hunk.name) if standing is not None else None
            if entry is not None and entry["file"]:
                paths.add(entry["file"])
    moved = space.store.renames(a, b)
    paths |= {moved[path] for path in paths if path in moved}
    known = {**space.store.files(a), **space.store.files(b)}
    return sorted(path for path in paths if path in known)


def _data(one: FileChurn) -> dict[str, Any]:
    scopes = [{"scope": s.scope, "added": s.added, "removed": s.removed} for s in one.scopes]
    return {"file": one.file, "added": one.added, "removed": one.removed, "scopes": scopes}


def _show(console: Console, files: tuple[FileChurn, ...], title: str) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from rebasekit.visible import visible

    if not files:
        console.note("the series touches no file of these releases; name some: `tools/churn A B PATH`")
        return
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column(title, overflow="fold")
    for column in ("added", "removed"):
        table.add_column(column, justify="right")
    table.add_column("")
    most = max(one.added + one.removed for one in files)
    for one in files:
        cells = (f"+{one.added}", f"−{one.removed}", _bar(one.added, one.removed, most))
        table.add_row(Text(visible(one.file), style="bold"), *cells)
        largest = sorted(one.scopes, key=lambda scope: -(scope.added + scope.removed))
        shown = largest if console.verbose else largest[:_TOP]
        for scope in shown:
            name = Text(f"  {visible(scope.scope) or '(module)'}", style="dim")
            table.add_row(name, f"+{scope.added}", f"−{scope.removed}", _bar(scope.added, scope.removed, most))
        if len(shown) < len(largest):
            table.add_row(
                Text(f"  … {len(largest) - len(shown)} more scopes, see them with -v", style="dim"), "", "", ""
            )
    console.show(table)


def _bar(added: int, removed: int, most: int) -> Any:
    """Green for added, red for removed lines; signs where there is no colour, at least one for any change."""
    from rich.text import Text

    def width(lines: int) -> int:
        return max(1, round(_BAR * lines / most)) if lines else 0

    return Text.assemble(("+" * width(added), "green"), ("-" * width(removed), "red"))
