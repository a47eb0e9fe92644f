"""Plain values to TOML text that a person would have written."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence

import tomlkit

WIDTH = 110
Value = str | bool | int | float | Sequence[str] | Mapping[str, object]
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")


def render(value: object) -> str:
    """One value; long lists take a line per item, text of several lines a multi-line literal."""
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, Mapping):
        return _inline(value)
    if isinstance(value, Sequence):
        items = [render(item) for item in value]
        line = f"[{', '.join(items)}]"
        return line if len(line) <= WIDTH else "[\n" + "".join(f"  {item},\n" for item in items) + "]"
    return str(tomlkit.item(value).as_string())


def key(name: str) -> str:
    """A key, quoted when it has to be."""
    return name if _BARE.fullmatch(name) else _string(name, one_line=True)


def pairs(values: Mapping[str, object]) -> str:
    """`key = value` lines with the equals signs below each other."""
    width = max((len(key(name)) for name in values), default=0)
    return "".join(f"{key(name):<{width}} = {render(value)}\n" for name, value in values.items())


def _inline(values: Mapping[str, object]) -> str:
    inner = ", ".join(f"{key(name)} = {_one_line(value)}" for name, value in values.items())
    return f"{{ {inner} }}" if inner else "{}"


def _one_line(value: object) -> str:
    if isinstance(value, str):
        return _string(value, one_line=True)
    if isinstance(value, Sequence):
        return f"[{', '.join(_one_line(item) for item in value)}]"
    return render(value)


def _string(text: str, *, one_line: bool = False) -> str:
    """The plainest spelling that reads back as `text`: escapes only where no literal will do."""
    multiline = "\n" in text and not one_line
    literal_fits = not _CONTROL.search(text) and not ("\n" in text and one_line)
    candidates: list[str] = []
    if multiline:
        if literal_fits and "'''" not in text and not text.endswith("'"):
            candidates.append(f"'''\n{text}'''")
        elif literal_fits:
            body = text.replace("\\", "\\\\").replace('"""', '""\\"')
            candidates.append(f'"""\n{body}"""' if not body.endswith('"') else f'"""\n{body[:-1]}\\""""')
    elif ('"' in text or "\\" in text) and "'" not in text and literal_fits and "\t" not in text:
        candidates.append(f"'{text}'")
    candidates.append(str(tomlkit.string(text).as_string()))
    for candidate in candidates:
        try:
            if tomllib.loads(f"x = {candidate}")["x"] == text:
                return candidate
        except tomllib.TOMLDecodeError:
            continue
    raise ValueError(f"{text[:40]!a} cannot be written as TOML")
