"""The head of `series.toml` alone, for commands that ask about upstream and not about patches."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rebasekit.errors import PatchsetError
from rebasekit.model.hunk import UpstreamSource


@dataclass(frozen=True)
class Brief:
    """Entry points, what is true of the deployment (its environment included), and where releases come from."""

    base: str
    source: UpstreamSource
    entries: tuple[str, ...]
    facts: dict[str, object]


def read_brief(patchset: Path) -> Brief:
    """Read without validating patches; raise PatchsetError for a file that is no series."""
    path = patchset / "series.toml"
    try:
        data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        upstream = data["upstream"]
        source = UpstreamSource(
            str(upstream["kind"]),
            str(upstream.get("package", "")),
            str(upstream.get("url", "")),
            str(upstream.get("prefix", "")),
        )
        entries = tuple(str(entry) for entry in data.get("entries", ()))
        facts = {**data.get("deployment", {}), **data.get("environment", {})}
        return Brief(str(data["base"]), source, entries, facts)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as error:
        raise PatchsetError("patchset/series.toml", f"cannot be read: {error}", hint="rebasekit list") from None
