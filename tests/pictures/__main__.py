"""`nox -s docs`: the README's picture, of a real run, so that it cannot say what the program does not."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from rich.console import Console

from rebasekit.model.tag import Tag
from rebasekit.report import terminal
from rebasekit.report.report import Report
from rebasekit.steps.rebase import carry, checked
from rebasekit.steps.workspace import Workspace
from rebasekit.upstream.cache import cache_dir

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    tag = Tag.parse(sys.argv[1] if len(sys.argv) > 1 else "v0.5.20")
    space = Workspace(ROOT, cache_dir())
    verdict = checked(space, carry(space, tag))
    console = Console(record=True, width=140, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(f"[dim]$[/] nox -s rebase -- {tag}", highlight=False)
    for part in terminal.render(Report.of(verdict)):
        console.print(part)
    # a picture loads nothing from elsewhere: the reader's own monospaced font will do
    svg = re.sub(r"@font-face \{.*?\}", "", console.export_svg(title="rebasekit"), flags=re.DOTALL)
    (ROOT / "docs" / "rebase.svg").write_text(svg, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
