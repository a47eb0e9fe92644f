"""The forks that are carried: packages on the index that somebody else maintains on top of the upstream."""

from __future__ import annotations

from dataclasses import dataclass

from rebasekit.model.hunk import UpstreamSource
from rebasekit.model.tag import Tag

UPSTREAM = UpstreamSource(kind="pypi", package="sglang")


@dataclass(frozen=True)
class Fork:
    """`sheet` is the fork's own next version, which is the answer; without one, `hops` releases are tried."""

    package: str
    version: str
    sheet: str = ""
    hops: int = 2

    @property
    def source(self) -> UpstreamSource:
        return UpstreamSource(kind="pypi", package=self.package)

    @property
    def tag(self) -> Tag:
        return Tag.parse(self.version)

    @property
    def sheet_tag(self) -> Tag | None:
        return Tag.parse(self.sheet) if self.sheet else None

    @property
    def name(self) -> str:
        return f"{self.package} {self.version}"


FORKS = (
    Fork("lsglang", "1.6.0", sheet="1.6.1"),
    Fork("sglang-usf", "0.5.1.post2"),
    Fork("power-sglang-cuda124", "1.0.2"),
)
