"""Labels of scopes: names joined by dots, with qualifiers in brackets where a name alone means several."""

from __future__ import annotations

import re

_NAME = re.compile(r"[^.\[\]]+")
_LONG = r"'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\""
_STRING = re.compile(_LONG + r"|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)


def mark(own: tuple[str, ...], twins: list[tuple[str, ...]]) -> str:
    """The qualifiers that tell a definition from its twins: one if one does, else as many as it takes."""
    if len(twins) == 1:
        return ""
    for qualifier in own:
        if sum(qualifier in twin for twin in twins) == 1:
            return f"[{qualifier}]"
    for count in range(2, len(own) + 1):
        if sum(set(own[:count]) <= set(twin) for twin in twins) == 1:
            return "".join(f"[{qualifier}]" for qualifier in own[:count])
    return "".join(f"[{qualifier}]" for qualifier in own) or "[]"


def split_label(label: str) -> list[tuple[str, str | None]]:
    """Names with what stands in their brackets (`X][Y` for two pairs); raise ValueError."""
    parts: list[tuple[str, str | None]] = []
    at = 0
    while at < len(label):
        match = _NAME.match(label, at)
        start = at = match.end() if match else len(label) + 1
        while label.startswith("[", at):
            at = _qualifier_end(label, at)
        if not match or at > len(label) or (at < len(label) and label[at] != ".") or label.endswith(".", at):
            raise ValueError(f"`{label}` is not a scope: names joined by dots, each with an optional [qualifier]")
        parts.append((match[0], label[start + 1 : at - 1] if at > start else None))
        at += 1
    return parts


def _qualifier_end(label: str, at: int) -> int:
    """Offset after the bracket that closes the one at `at`; brackets in strings do not count."""
    depth = 0
    while at < len(label):
        if string := _STRING.match(label, at):
            at = string.end()
            continue
        depth += (label[at] == "[") - (label[at] == "]")
        at += 1
        if depth == 0:
            return at
    return len(label) + 1
