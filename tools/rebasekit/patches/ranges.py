"""Tags and ranges of tags as a file may write them. A range is one interval, so that overlaps can be told."""

from __future__ import annotations

import re
from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

from rebasekit.errors import UsageError
from rebasekit.model.tag import Tag, parse_range
from rebasekit.patches.table import Table

_PART = re.compile(r"\s*(>=|<=|==|>|<)\s*(v?[0-9][0-9A-Za-z.+!]{0,63})\s*")


@dataclass(frozen=True)
class Interval:
    """From `low` to `high`, None for no bound; each bound belongs to the interval or not."""

    low: Version | None = None
    low_in: bool = True
    high: Version | None = None
    high_in: bool = True

    def narrowed(self, low: Version | None, low_in: bool, high: Version | None, high_in: bool) -> Interval:
        mine = self
        if low is not None and (mine.low is None or (low, not low_in) > (mine.low, not mine.low_in)):
            mine = Interval(low, low_in, mine.high, mine.high_in)
        if high is not None and (mine.high is None or (high, high_in) < (mine.high, mine.high_in)):
            mine = Interval(mine.low, mine.low_in, high, high_in)
        return mine

    @property
    def empty(self) -> bool:
        if self.low is None or self.high is None:
            return False
        return self.low > self.high or (self.low == self.high and not (self.low_in and self.high_in))

    def overlaps(self, other: Interval) -> bool:
        return not self.narrowed(other.low, other.low_in, other.high, other.high_in).empty


def interval(text: str) -> Interval:
    """Read a range such as `>=v0.5.20,<v0.5.23`; raise ValueError when it is none or holds no tag."""
    if len(text) > 200:
        raise ValueError("is longer than 200 characters")
    parts = text.split(",")
    found = Interval()
    for part in parts:
        match = _PART.fullmatch(part)
        if not match:
            raise ValueError("is not a range of tags such as `>=v0.5.20,<v0.5.23`")
        try:
            version = Version(match[2].removeprefix("v"))
        except InvalidVersion:
            raise ValueError(f"has `{match[2]}`, which is not a version") from None
        sign = match[1]
        if sign == "<" and not version.is_prerelease and not version.is_postrelease:
            version = Version(f"{version.epoch}!{version.base_version.split('!')[-1]}.dev0")  # `<1.0` leaves out 1.0rc1
        if sign in (">", ">=", "=="):
            found = found.narrowed(version, sign != ">", None, True)
        if sign in ("<", "<=", "=="):
            found = found.narrowed(None, True, version, sign != "<")
    if found.empty:
        raise ValueError("holds no tag: its lower end lies above its upper end")
    parse_range(text)
    return found


def range_problem(text: str) -> str | None:
    """Why `text` is not a range of tags, or None."""
    try:
        interval(text)
    except ValueError as error:
        return str(error)
    return None


def read_tag(table: Table, key: str) -> Tag | None:
    """A release tag; None (and a problem) when the key holds none."""
    text = table.text(key, required=True)
    if not text:
        return None
    try:
        return Tag.parse(text)
    except UsageError as error:
        table.problem(key, error.message if len(text) <= 80 else "is not a release tag")
        return None
