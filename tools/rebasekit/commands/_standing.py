"""Where hunks stand on the releases in `upstream-map/`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rebasekit.model.tag import Tag
from rebasekit.patches.mapped import mapped_tags

if TYPE_CHECKING:
    from rebasekit.patches import MapEntry, TagMap


class Standing:
    """One release's map: what happened to each hunk there."""

    def __init__(self, tag: Tag, found: TagMap) -> None:
        self.tag = tag
        self._entries = {f"{entry.patch}/{entry.id}": entry for entry in found.hunks}

    def of(self, hunk: str) -> dict[str, Any] | None:
        """Placement, spot and findings of `patch/id`, None when the map does not know it."""
        entry = self._entries.get(hunk)
        return None if entry is None else _data(entry)


def _data(entry: MapEntry) -> dict[str, Any]:
    return {
        "placement": entry.placement.value,
        "file": entry.file,
        "scope": entry.scope,
        "line": entry.line,
        "decision": entry.decision,
        "remembered": entry.remembered,
        "findings": [finding.kind for finding in entry.findings],
    }


def words(stands: dict[str, Any]) -> str:
    """`shifted (remembered), 2 findings` for a table cell."""
    number = len(stands["findings"])
    mark = " (remembered)" if stands["remembered"] else ""
    findings = f", {number} finding{'s' if number > 1 else ''}" if number else ""
    return f"{stands['placement']}{mark}{findings}"


def read(root: Path, tag: Tag) -> Standing | None:
    """One release's map; raise PatchsetProblems when it cannot be read."""
    from rebasekit.patches import load_map

    found = load_map(root, tag)
    return Standing(tag, found) if found is not None else None


def every(root: Path) -> list[Standing]:
    """All maps of the project in version order."""
    return [found for tag in mapped_tags(root) if (found := read(root, tag)) is not None]


def newest(root: Path) -> Standing | None:
    """The map of the newest release."""
    known = mapped_tags(root)
    return read(root, known[-1]) if known else None
