"""The head of `series.toml` alone, for commands that ask about upstream and not about patches."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rebasekit.errors import PatchsetError

if TYPE_CHECKING:
    from rebasekit.model.hunk import UpstreamSource


class Brief(NamedTuple):
    """Entry points, what is true of the deployment (its environment included), and where releases come from."""

    base: str
    kind: str
    package: str
    url: str
    prefix: str
    entries: tuple[str, ...]
    facts: dict[str, object]

    @property
    def source(self) -> UpstreamSource:
        from rebasekit.model.hunk import UpstreamSource

        return UpstreamSource(self.kind, self.package, self.url, self.prefix)


def read_brief(patchset: Path) -> Brief:
    """Read without validating patches; raise PatchsetError for a file that is no series."""
    path = patchset / "series.toml"
    try:
        data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        upstream = data["upstream"]
        entries = tuple(str(entry) for entry in data.get("entries", ()))
        facts = {**data.get("deployment", {}), **data.get("environment", {})}
        package, url, prefix = (str(upstream.get(key, "")) for key in ("package", "url", "prefix"))
        return Brief(str(data["base"]), str(upstream["kind"]), package, url, prefix, entries, facts)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as error:
        raise PatchsetError("patchset/series.toml", f"cannot be read: {error}", hint="rebasekit list") from None
