"""The series as files that git and quilt take."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

from rebasekit.errors import StateError
from rebasekit.model.progress import SILENT, Progress
from rebasekit.model.tag import Tag
from rebasekit.steps.rebase import Result, carry, write_branch
from rebasekit.steps.workspace import Workspace

_OURS = re.compile(r"[0-9]{4}-[^/\s]*\.patch")


def placed(space: Workspace, tag: Tag, only: list[str] | None, progress: Progress) -> Result:
    """The series carried to a tag; raise StateError when a hunk has no place there."""
    result = carry(space, tag, only=only, progress=progress)
    lost = [p.name for p in result.verdict.placements if p.outcome.open]
    if lost:
        count = "1 hunk has" if len(lost) == 1 else f"{len(lost)} hunks have"
        names = ", ".join(f"`{name}`" for name in lost[:3])
        raise StateError(f"{count} no place on {tag}: {names}", hint=f"rebasekit rebase {tag}")
    return result


def export(
    space: Workspace, tag: Tag, to: Path, *, only: list[str] | None = None, progress: Progress = SILENT
) -> list[Path]:
    """Write one format-patch file per patch and a quilt `series` file into `to`; return the paths.

    What an earlier export left there is replaced. Raises StateError, and writes nothing, when a hunk has no place
    or a file of that name is somebody else's.
    """
    branch = _branched(space, tag, only, progress)
    try:
        to.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise StateError(f"`{to}` is not a folder", hint="rebasekit export --help") from None
    before = _earlier(to)
    with tempfile.TemporaryDirectory(prefix=".rebasekit-export-", dir=to) as name:
        made = space.store.export_patches(tag, branch, Path(name))
        (Path(name) / "series").write_text("".join(f"{path.name}\n" for path in made))
        names = [*(path.name for path in made), "series"]
        _check_free(to, names, before)
        for old in before - set(names):
            (to / old).unlink(missing_ok=True)
        for each in names:
            (Path(name) / each).replace(to / each)
    return [to / each for each in names]


def _earlier(to: Path) -> set[str]:
    """The files that an earlier export wrote, by its `series` file; none when that is not one of ours."""
    try:
        names = (to / "series").read_text().split("\n")[:-1]
    except (OSError, UnicodeDecodeError):
        return set()
    return {"series", *names} if all(_OURS.fullmatch(name) for name in names) else set()


def _check_free(to: Path, names: Iterable[str], before: set[str]) -> None:
    for name in names:
        if name not in before and (to / name).exists():
            raise StateError(f"`{to / name}` exists and is not from an earlier export", hint=f"rm {to / name}")


def export_diff(space: Workspace, tag: Tag, *, only: list[str] | None = None, progress: Progress = SILENT) -> bytes:
    """The whole series as one diff that `git apply` and `rebasekit import` take."""
    return space.store.export_diff(tag, _branched(space, tag, only, progress))


def _branched(space: Workspace, tag: Tag, only: list[str] | None, progress: Progress) -> str:
    result = placed(space, tag, only, progress)
    return write_branch(space, result, f"rebasekit/{tag}" if only is None else f"rebasekit-export/{tag}")
