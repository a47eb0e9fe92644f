"""Hidden marks in bodies and comments: how the bot knows its own again, and what it said there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_MARK = re.compile(r"<!-- rebasekit (?P<kind>[a-z-]+)(?P<pairs>(?: [a-z]+=[A-Za-z0-9.+!_-]+)*) -->")
_END = "<!-- rebasekit end -->"
_VALUE = re.compile(r"[A-Za-z0-9.+!_-]+")


@dataclass(frozen=True)
class Mark:
    """`kind` says what the text is; `values` are words without blanks, such as `tag=v0.5.20`."""

    kind: str
    values: Mapping[str, str]

    def __str__(self) -> str:
        """The HTML comment that shows nowhere. Raises ValueError for a value that could end it."""
        for key, value in self.values.items():
            if not _VALUE.fullmatch(value) or "--" in value or not re.fullmatch("[a-z]+", key):
                raise ValueError(f"`{key}={value}` cannot stand in a mark")
        return f"<!-- rebasekit {self.kind}{''.join(f' {k}={v}' for k, v in self.values.items())} -->"


def read(text: str | None, kind: str) -> Mark | None:
    """The first mark of a kind in a text that anybody may have written; None when there is none."""
    for match in _MARK.finditer(text or ""):
        if match["kind"] == kind:
            return Mark(kind, dict(pair.split("=", 1) for pair in match["pairs"].split()))
    return None


def framed(mark: Mark, text: str) -> str:
    """Our part of a body, between the mark and its end; no text of others in it can pass for a mark."""
    inside = text.strip().replace("<!-- rebasekit", "<!-\u200b- rebasekit")
    return f"{mark}\n{inside}\n{_END}"


def replaced(body: str | None, mark: Mark, text: str) -> str:
    """The body with our part anew; what people wrote before and behind it stays."""
    ours = framed(mark, text)
    body = body or ""
    start = next((m.start() for m in _MARK.finditer(body) if m["kind"] == mark.kind), None)
    if start is None:
        return ours
    end = body.find(_END, start)
    return body[:start] + ours + (body[end + len(_END) :] if end >= 0 else "")
