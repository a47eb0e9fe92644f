"""Which releases are newer than the series' base."""

from __future__ import annotations

from rebasekit.model.progress import SILENT, Progress
from rebasekit.model.tag import Tag
from rebasekit.steps.workspace import Workspace


def newer(space: Workspace, *, pre: bool = False, newest: bool = False, progress: Progress = SILENT) -> list[Tag]:
    """Upstream's releases after the base, oldest first; pre-releases only when asked for.

    Raises UpstreamError when the index or the repository cannot be asked.
    """
    found = sorted(tag for tag in space.store.available(progress, pre=pre) if tag > space.series.base)
    return found[-1:] if newest else found
