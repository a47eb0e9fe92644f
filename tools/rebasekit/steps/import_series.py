"""A series of diffs becomes a series of patches: a folder, a mailbox or a branch, one patch for each part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rebasekit.errors import RebasekitError, StateError, UsageError
from rebasekit.model.hunk import Patch
from rebasekit.model.progress import SILENT, Progress
from rebasekit.steps.import_ import Wanted, made, write
from rebasekit.steps.sources import pieces
from rebasekit.steps.workspace import Workspace


def import_series(space: Workspace, source: str, wanted: Wanted, progress: Progress = SILENT) -> list[Patch]:
    """Write a patch for each part of SOURCE, in order, all or none; return them.

    A part may be made on the release or on top of the parts before it. Names come from the files or the subjects.
    Raises as `import_patch`, with the part in front.
    """
    space.ensure({wanted.onto}, progress)
    parts = pieces(source, wanted.onto, space.series.source.prefix)
    if len(parts) > 1 and "title" in wanted.header:
        raise UsageError(f"{len(parts)} patches cannot have one title", hint="leave `--title` out")
    done: list[Patch] = []
    for part in parts:
        series = replace(space.series, patches=(*space.series.patches, *done))
        name = _free(part.name, [patch.name for patch in done])
        try:
            done.append(made(space.with_series(series), part, name, wanted, progress))
        except RebasekitError as error:
            if len(parts) > 1:
                error.message = f"{part.label}: {error.message}"
                if isinstance(error, StateError):  # it changes lines that a part before it put there
                    error.hint = f"rebasekit import {source} --onto {wanted.onto} --as NAME"
            raise
    write(space, done)
    return done


def _free(name: str, taken: Sequence[str]) -> str:
    number, free = 2, name
    while free in taken:
        free, number = f"{name}-{number}", number + 1
    return free
