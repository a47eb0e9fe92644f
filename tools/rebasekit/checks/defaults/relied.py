"""What a hunk relies on, as it is written in `relies`.

default NAME == literal                environment default, server argument, class field, constant
default pkg.mod.function(param) == literal
registry NAME[key] == implementation   what a table maps a key to
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

_ENTRY = re.compile(r"(default|registry)\s+(\S.*?)\s*==\s*(\S.*)", re.DOTALL)
_NAME = re.compile(r"(?:--)?[A-Za-z_][\w.-]*")
_INNER = re.compile(r"([A-Za-z_][\w.]*)(?:\(([A-Za-z_]\w*)\)|\[(.+)\])")


@dataclass(frozen=True)
class Relied:
    """One entry. `parameter` names a function's, `key` a table's; `expected` is source."""

    text: str
    kind: str  # "default" or "registry"
    name: str
    expected: str
    parameter: str = ""
    key: str = ""

    @property
    def last(self) -> str:
        """The simple name, as a deployment pins it."""
        return self.name.removeprefix("--").replace("-", "_").rpartition(".")[2]


class Malformed(ValueError):
    """An entry that says nothing that can be checked."""


def parse(text: str) -> Relied:
    """Read one entry; raise Malformed with what is wrong."""
    entry = _ENTRY.fullmatch(text.strip())
    if entry is None:
        raise Malformed('it has to read `default NAME == value` or `registry NAME["key"] == implementation`')
    kind, name, expected = entry.groups()
    try:
        ast.parse(expected, mode="eval")
    except SyntaxError:
        raise Malformed(f"`{expected}` is no value") from None
    inner = _INNER.fullmatch(name)
    if inner is None:
        if kind == "registry":
            raise Malformed('a registry needs a key, as in `registry TABLE["key"] == implementation`')
        if not _NAME.fullmatch(name):
            raise Malformed(f"`{name}` is no name")
        return Relied(text, kind, name, expected)
    outer, parameter, key = inner.groups()
    if (kind == "registry") != (key is not None):
        raise Malformed(f"`{name}` does not fit `{kind}`")
    return Relied(text, kind, outer, expected, parameter or "", key or "")


def same(one: str | None, other: str | None) -> bool:
    """Whether two pieces of source are the same value."""
    if one is None or other is None:
        return False
    try:
        left, right = ast.literal_eval(one), ast.literal_eval(other)
    except (ValueError, SyntaxError, TypeError):
        return _normal(one) == _normal(other)
    return type(left) is type(right) and bool(left == right)


def _normal(text: str) -> str:
    try:
        return ast.unparse(ast.parse(text, mode="eval"))
    except SyntaxError:
        return " ".join(text.split())


def pinned_text(value: object, expected: str) -> str:
    """What a deployment sets, as source: an environment variable is a string whatever its type in the code."""
    if not isinstance(value, str):
        return repr(value)
    try:
        wanted = ast.literal_eval(expected)
    except (ValueError, SyntaxError):
        return repr(value)
    if isinstance(wanted, bool) and value.lower() in ("1", "true", "yes", "on", "0", "false", "no", "off"):
        return repr(value.lower() in ("1", "true", "yes", "on"))
    if isinstance(wanted, (int, float)) and not isinstance(wanted, bool):
        try:
            return repr(type(wanted)(value))
        except ValueError:
            return repr(value)
    return repr(value)
