"""One TOML table, read key by key; what is missing, mistyped or unknown becomes a problem with its key."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any

from rebasekit.patches.paths import line_problem, prose_problem
from rebasekit.patches.problems import Problems, short

_KINDS = {bool: "a boolean", int: "a whole number", float: "a fraction", str: "a string"}
_KINDS |= {list: "a list", dict: "a table"}


class Table:
    """Typed access to a table. Call `close()` at the end: it reports keys that nothing asked for."""

    def __init__(self, data: Mapping[str, Any], where: str, problems: Problems) -> None:
        self.data = data
        self.where = where
        self.problems = problems
        self._asked: set[str] = set()

    def problem(self, key: str, message: str, *, hint: str | None = None) -> None:
        self.problems.add(f"{self.where}: {key}" if key else self.where, message, hint=hint)

    def has(self, key: str) -> bool:
        self._asked.add(key)
        return key in self.data

    def _get(self, key: str, kind: type, required: bool) -> Any:
        if not self.has(key):
            if required:
                self.problem(key, "is missing")
            return None
        value = self.data[key]
        if type(value) is not kind:
            self.problem(key, f"must be {_KINDS[kind]}, is {_KINDS.get(type(value), 'a date or time')}")
            return None
        return value

    def text(
        self, key: str, *, required: bool = False, check: Callable[[str], str | None] = line_problem, default: str = ""
    ) -> str:
        """A string that passes `check`; `default` (and a problem) when it does not."""
        value: str | None = self._get(key, str, required)
        if value is None:
            return default
        message = check(value)
        if message is None and required and not value.strip():
            message = "is empty"
        if message is not None:
            shown = short(value) if value else ""
            self.problem(key, f"{shown} {message}".strip())
            return default
        return value

    def prose(self, key: str, *, required: bool = False) -> str:
        return self.text(key, required=required, check=prose_problem)

    def raw(self, key: str) -> str | None:
        """A string as it is, or None."""
        value: str | None = self._get(key, str, False)
        return value

    def choice(self, key: str, choices: tuple[str, ...], *, required: bool = False, default: str = "") -> str:
        value: str | None = self._get(key, str, required)
        if value is None or value in choices:
            return default if value is None else value
        near = difflib.get_close_matches(value[:100], choices, 1)
        guess = f"; did you mean `{near[0]}`?" if near else ""
        listed = ", ".join(f"`{choice}`" for choice in choices if choice)
        self.problem(key, f"{short(value)} is none of {listed}{guess}")
        return default

    def number(self, key: str, low: int, high: int, *, required: bool = False, default: int = 0) -> int:
        value: int | None = self._get(key, int, required)
        if value is None:
            return default
        if not low <= value <= high:
            # A hostile number may be too long to be printed at all.
            self.problem(key, f"must be between {low} and {high}")
            return default
        return value

    def texts(
        self, key: str, *, required: bool = False, check: Callable[[str], str | None] = line_problem
    ) -> tuple[str, ...]:
        """A list of strings without repetition."""
        value: list[Any] | None = self._get(key, list, required)
        found: dict[str, None] = {}
        for number, item in enumerate(value or [], 1):
            if not isinstance(item, str):
                self.problem(key, f"item {number} must be a string")
            elif not item.strip():
                self.problem(key, f"item {number} is empty")
            elif (message := check(item)) is not None:
                self.problem(key, f"{short(item)} {message}")
            elif item in found:
                self.problem(key, f"{short(item)} is there twice")
            else:
                found[item] = None
        return tuple(found)

    def table(self, key: str, *, required: bool = False) -> Table | None:
        value: dict[str, Any] | None = self._get(key, dict, required)
        return None if value is None else Table(value, f"{self.where}: {key}", self.problems)

    def tables(self, key: str) -> list[dict[str, Any]]:
        value: list[Any] = self._get(key, list, False) or []
        if any(not isinstance(item, dict) for item in value):
            self.problem(key, f"must be tables, written as `[[{key}]]`")
            return []
        return value

    def close(self) -> None:
        for key in self.data:
            if key not in self._asked:
                near = difflib.get_close_matches(key[:100], sorted(self._asked), 1)
                self.problem(short(key)[1:-1], "is not a known key" + (f"; did you mean `{near[0]}`?" if near else ""))
