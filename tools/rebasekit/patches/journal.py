"""The journal that makes many file changes one: written in full first, rolled forward by whoever comes next.

`<root>/.rebasekit-journal/` holds one file per new content and then, renamed into place as the moment of commit,
`commit.json`. Without `commit.json` nothing has happened and the folder is rubbish. With it everything has happened,
even if some files still have to be moved to where they belong; each move can be repeated.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from rebasekit.errors import StateError
from rebasekit.patches.paths import path_problem

FOLDER = ".rebasekit-journal"
COMMIT = "commit.json"
TOPS = ("patchset", "upstream-map", "kernels")


@dataclass(frozen=True)
class Step:
    """Content number `blob` of the journal goes to `path`; None deletes the file."""

    path: str
    blob: int | None


def target(root: Path, path: str, *, anywhere: bool = False) -> Path:
    """Where `path` lies; raise StateError when it is not ours to write or a link is on the way.

    `anywhere` lifts the rule that a project's files lie below `patchset/`, `upstream-map/` or `kernels/`.
    """
    message = path_problem(path)
    if message is None and not anywhere and (path.split("/")[0] not in TOPS or "/" not in path):
        message = f"is not below {', '.join(f'`{top}/`' for top in TOPS)}"
    if message is not None:
        raise StateError(f"cannot write `{path[:200]!a}`: it {message}")
    full = root
    for part in path.split("/"):
        full = full / part
        if full.is_symlink():
            raise StateError(f"cannot write `{path}`: `{full.relative_to(root)}` is a link")
    return full


def write_synced(path: Path, data: bytes, mode: int | None = None) -> None:
    """Write a new file and wait until it is on the disk."""
    with path.open("xb") as handle:
        handle.write(data)
        handle.flush()
        if mode is not None:
            os.fchmod(handle.fileno(), mode)
        os.fsync(handle.fileno())


def sync_folder(folder: Path) -> None:
    """Make renames and deletions in a folder last through a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def roll_forward(root: Path, *, anywhere: bool = False) -> None:
    """Bring a committed journal to its end, or throw an uncommitted one away. The caller holds the lock."""
    journal = root / FOLDER
    if journal.is_symlink():
        raise StateError(f"`{journal}` is a link", hint=f"rm {journal}")
    if (journal / COMMIT).exists():
        try:
            _apply(root, _read(journal), anywhere)
            (journal / COMMIT).unlink()
            sync_folder(journal)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise StateError(f"a change that was cut short cannot be completed: {reason}: `{error.filename}`") from None
    shutil.rmtree(journal, ignore_errors=True)


def _read(journal: Path) -> list[Step]:
    try:
        record = json.loads((journal / COMMIT).read_bytes())
        steps = [Step(path, blob) for path, blob in record["steps"]]
        if record["version"] != 1 or not all(
            isinstance(step.path, str) and (step.blob is None or type(step.blob) is int) for step in steps
        ):
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise StateError(f"`{journal / COMMIT}` is not a journal of this version", hint=f"rm -r {journal}") from None
    return steps


def _apply(root: Path, steps: list[Step], anywhere: bool) -> None:
    folders: set[Path] = set()
    pairs = [(step, target(root, step.path, anywhere=anywhere)) for step in steps]
    for step, full in sorted(pairs, key=lambda pair: pair[0].blob is not None):  # deletions first
        folders.update(root / parent for parent in list(Path(step.path).parents)[:-1])
        if step.blob is None:
            full.unlink(missing_ok=True)
            _prune(root, full.parent)
            continue
        content = root / FOLDER / str(step.blob)
        if content.exists():  # else it was moved before the cut
            full.parent.mkdir(parents=True, exist_ok=True)
            content.replace(full)
    for folder in sorted(folders):
        if folder.is_dir():
            sync_folder(folder)


def _prune(root: Path, folder: Path) -> None:
    while folder.parent != root and folder != root:
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent
