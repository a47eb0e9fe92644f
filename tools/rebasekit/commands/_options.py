"""Options and output that several commands share."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from rebasekit.errors import UsageError

if TYPE_CHECKING:
    from rebasekit.console import Console
    from rebasekit.model.verdict import Verdict
    from rebasekit.steps.workspace import Workspace


def add_json(parser: ArgumentParser) -> None:
    """Add `--json`: alone or with `-` it prints on standard output; `--json=FILE` writes a file."""
    parser.add_argument(
        "--json",
        metavar="FILE",
        nargs="?",
        const="-",
        help="write JSON to FILE, or to standard output (`-`) and only that",
    )


def add_reports(parser: ArgumentParser) -> None:
    """Add `--json`, `--markdown` and `--html`; the command's module sets `WRITES_REPORT`."""
    group = parser.add_argument_group("reports")
    add_json(group)  # type: ignore[arg-type]  # a group adds arguments like a parser
    group.add_argument(
        "--markdown", metavar="FILE", nargs="?", const="-", help="write Markdown to FILE, or to standard output (`-`)"
    )
    group.add_argument(
        "--html", metavar="FILE", help="write one page with filters, reach, churn and every hunk over all tags"
    )


def reserve(args: Namespace, console: Console) -> None:
    """Keep standard output clean when one of the reports goes there; raise UsageError when two do."""
    targets = [getattr(args, name, None) for name in ("json", "markdown", "html")]
    if targets.count("-") > 1:
        raise UsageError(
            "two reports go to standard output", hint="write one of them to a file: `--markdown report.md`"
        )
    if "-" in targets:
        console.reserve_stdout()


def print_json(args: Namespace, console: Console, data: object) -> bool:
    """Write `data` where `--json` says; False when it was not asked for."""
    if args.json is None:
        return False
    console.machine(args.json, json.dumps(data, indent=2, ensure_ascii=True))
    return True


def report(args: Namespace, console: Console, verdict: Verdict, space: Workspace) -> int:
    """Print and write a verdict wherever the options say; return its exit code."""
    from rebasekit.report import as_json, markdown, terminal
    from rebasekit.report.report import Report

    result = Report.of(verdict)
    if args.json is not None:
        console.machine(args.json, as_json.render(result))
    if args.markdown is not None:
        console.machine(args.markdown, markdown.render(result))
    if args.html is not None:
        from rebasekit.report import page
        from rebasekit.steps.background import background

        around = background(space, verdict, console)
        console.machine(args.html, page.render(result, around, link=space.series.source.link))
    console.show(*terminal.render(result, verbose=console.verbose))
    return verdict.exit_code
