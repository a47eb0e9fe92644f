"""The report as one HTML file that needs no network: for the bot's attachments, and for a browser beside the editor."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined

from rebasekit.report.page import view
from rebasekit.report.report import Report
from rebasekit.steps.background import Background
from rebasekit.visible import visible

_EMPTY = Background()


def render(report: Report, background: Background = _EMPTY, *, link: str = "") -> str:
    """The page as text. `link` is a URL template with `{tag}`, `{file}` and `{line}` for upstream's source, or empty.

    Text of upstream and of patches is data: it is escaped, and a content security policy lets nothing run or load but
    the page's own style and script.
    """
    style, script = _asset("style.css"), _asset("script.js")
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            page=view.page(report, background, link),
            style=style,
            script=script,
            policy=f"default-src 'none'; style-src {_source(style)}; script-src {_source(script)}; base-uri 'none'; "
            "form-action 'none'",
        )
    )


def _environment() -> Environment:
    return Environment(
        loader=FunctionLoader(_asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _source(text: str) -> str:
    """What a content security policy calls an inline text: its digest."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
