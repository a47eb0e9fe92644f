"""Which releases `upstream-map/` has."""

from __future__ import annotations

from pathlib import Path

from rebasekit.errors import RebasekitError
from rebasekit.model.tag import Tag


def mapped_tags(root: Path) -> list[Tag]:
    """The releases that have a map, in version order."""
    found = []
    for path in (root / "upstream-map").glob("v*.toml"):
        try:
            found.append(Tag.parse(path.stem))
        except RebasekitError:
            continue  # `vendor.toml` or the like is somebody else's
    return sorted(found)
