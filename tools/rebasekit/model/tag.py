"""Release tags such as `v0.5.20`: checked before anything else sees them, ordered by PEP 440."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from rebasekit.errors import UsageError

_SHAPE = re.compile(r"v[0-9][0-9A-Za-z.+!]{0,63}")


@functools.total_ordering
@dataclass(frozen=True)
class Tag:
    """One upstream release. `name` is the tag (`v0.5.20`), `version` the package version (`0.5.20`)."""

    name: str

    @classmethod
    def parse(cls, text: str) -> Tag:
        """Read `v0.5.20` or `0.5.20`; raise UsageError for anything that is not a release version."""
        name = text if text.startswith("v") else f"v{text}"
        if not _SHAPE.fullmatch(name):
            raise UsageError(f"`{text}` is not a release tag", hint="name a release, for example `v0.5.20`")
        try:
            Version(name[1:])
        except InvalidVersion:
            raise UsageError(f"`{text}` is not a version", hint="name a release, for example `v0.5.20`") from None
        return cls(name)

    @property
    def version(self) -> str:
        return self.name[1:]

    @property
    def _key(self) -> Version:
        return Version(self.version)

    def __lt__(self, other: Tag) -> bool:
        return self._key < other._key

    def __str__(self) -> str:
        return self.name


def parse_range(text: str) -> SpecifierSet:
    """Read a range of tags such as `>=v0.5.20,<v0.5.23`; raise ValueError when it is none."""
    try:
        return SpecifierSet(re.sub(r"(?<=[<>=!~])\s*v(?=[0-9])", "", text))
    except InvalidSpecifier:
        raise ValueError(f"`{text}` is not a range of tags such as `>=v0.5.20,<v0.5.23`") from None


def in_range(tag: Tag, text: str | None) -> bool:
    """Whether `tag` lies in the range; no range means every tag."""
    return text is None or parse_range(text).contains(Version(tag.version), prereleases=True)
