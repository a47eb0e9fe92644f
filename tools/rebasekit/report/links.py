"""Where upstream's source can be read."""

from __future__ import annotations

from urllib.parse import quote

from rebasekit.model.tag import Tag


def address(link: str, tag: Tag, path: str, line: int | None = None) -> str:
    """The series' own template filled in; the file as a whole without a line. Empty without a template."""
    # Quoted whole, so that nothing in a path can end the link or add to the query.
    values = {"tag": quote(tag.name, safe=""), "file": quote(path, safe="/"), "line": str(line or "")}
    for key, value in values.items():
        link = link.replace("{" + key + "}", value)
    return link
