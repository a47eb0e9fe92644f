"""The whole report as files, for what does not fit into a pull request."""

from __future__ import annotations

from rebasekit.report import as_json, markdown, page
from rebasekit.report.report import Report
from rebasekit.steps.background import Background


def files(report: Report, background: Background, link: str = "") -> dict[str, bytes]:
    """Name to content. `link` is the template for lines of upstream's source, "" for none."""
    texts = {
        "report.md": markdown.render(report),
        "report.json": as_json.render(report),
        "report.html": page.render(report, background, link=link),
    }
    return {name: text.encode("utf-8", "backslashreplace") for name, text in texts.items()}
