"""`nox -s docs`: the README's pictures, of a real run, so that they cannot say what the program does not."""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from rebasekit.model.tag import Tag
from rebasekit.report import page, terminal
from rebasekit.report.report import Report
from rebasekit.steps.background import background
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
    photograph(page.render(Report.of(verdict), background(space, verdict)), ROOT / "docs" / "report.png")
    return 0


def photograph(text: str, picture: Path) -> None:
    """A picture of the page with one hunk open; without Chromium the old one stays."""
    binary = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if binary is None:
        print("note: no chromium, the picture of the page is not taken anew", file=sys.stderr)
        return
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder, "report.html")
        path.write_text(text, encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=binary, args=["--no-sandbox"])
        shown = browser.new_page(viewport={"width": 1000, "height": 760}, color_scheme="light")
        shown.goto(f"{path.as_uri()}#is=relocated")
        shown.locator(".hunks summary:visible").first.click()
        shown.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    sys.exit(main())
