"""The first half of a commit: everything that can fail, before the moment at which it has happened."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from rebasekit.errors import StateError
from rebasekit.patches.journal import COMMIT, FOLDER, Step, sync_folder, target, write_synced


def prepare(
    root: Path, contents: Mapping[str, bytes | None], modes: Mapping[str, int | None], *, anywhere: bool = False
) -> list[Step]:
    """Do all that can fail for want of space or rights, then commit. On StateError nothing has happened."""
    steps: list[Step] = []
    try:
        (root / FOLDER).mkdir()
        for number, (path, data) in enumerate(sorted(contents.items())):
            full = target(root, path, anywhere=anywhere)
            if data is not None:
                _check_parent(root, full)
                write_synced(root / FOLDER / str(number), data, modes[path])
            steps.append(Step(path, None if data is None else number))
        _commit(root, steps)
    except OSError as error:
        _abandon(root)
        full_disk = error.errno in (errno.ENOSPC, errno.EDQUOT)
        reason = "the disk is full" if full_disk else (error.strerror or str(error)).lower()
        look = f"df -h {root}" if full_disk else f"ls -ld {root}"
        raise StateError(f"cannot write below `{root}`: {reason}; nothing was changed", hint=look) from None
    except StateError:
        _abandon(root)
        raise
    return steps


def _check_parent(root: Path, full: Path) -> None:
    folder = full.parent
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir() or full.is_dir():
        raise StateError(f"cannot write `{full}`: a file and a folder would have the same name")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, f"`{folder}` cannot be written")
    if folder.stat().st_dev != root.stat().st_dev:
        raise StateError(f"`{folder}` lies on another file system than `{root}`, so a change cannot be atomic")


def _commit(root: Path, steps: list[Step]) -> None:
    """Write the commit record; from the rename on, the change has happened."""
    journal = root / FOLDER
    record = {"version": 1, "steps": [[step.path, step.blob] for step in steps]}
    draft = journal / "draft.json"
    write_synced(draft, json.dumps(record).encode())
    sync_folder(journal)
    sync_folder(root)
    draft.replace(journal / COMMIT)
    sync_folder(journal)


def _abandon(root: Path) -> None:
    """Throw a journal away. The record goes first: without the contents beside it, it must never be found."""
    (root / FOLDER / COMMIT).unlink(missing_ok=True)
    shutil.rmtree(root / FOLDER, ignore_errors=True)
