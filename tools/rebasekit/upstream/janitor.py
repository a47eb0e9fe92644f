"""Removing what killed processes left, only where no living one can be at work."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from rebasekit.upstream import command
from rebasekit.upstream.lock import held_if_free


def clean(root: Path) -> None:
    """Remove stale work below a store. Never fails, never waits: what cannot be removed is left."""
    leftovers = list((root / "tmp").glob("*")) if (root / "tmp").is_dir() else []
    fetched = [path for path in leftovers if path.name.startswith("fetch-")]
    if fetched:
        _remove(root / "fetch.lock", fetched)
    written = [path for path in leftovers if path not in fetched]
    # Only the write lock's holder writes into the repository, so with the lock in hand any lock file of git's is
    # stale. Looked for again then: what was seen before may have been a living writer's.
    if written or any(_litter(root / "repo.git")):
        _remove(root / "write.lock", written, root / "repo.git")


def verify(git_dir: Path) -> list[str]:
    """What `git fsck` finds wrong, one message each."""
    try:
        out = command.run(["fsck", "--full", "--no-progress", "--no-dangling"], git_dir=git_dir)
    except command.GitFailed as error:
        return error.stderr.strip().splitlines() or [error.message]
    return out.decode(errors="replace").splitlines()


def _remove(lock: Path, paths: list[Path], git_dir: Path | None = None) -> None:
    with held_if_free(lock) as free:
        if not free:
            return
        for path in [*paths, *(_litter(git_dir) if git_dir else ())]:
            with contextlib.suppress(OSError):
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)


def _litter(git_dir: Path) -> Iterator[Path]:
    """Lock files, unfinished objects and packs, and crash reports in a repository."""
    yield from git_dir.glob("*.lock")
    yield from git_dir.glob("refs/**/*.lock")
    yield from git_dir.glob("fast_import_crash_*")
    yield from git_dir.glob("objects/[0-9a-f][0-9a-f]/tmp_obj_*")
    yield from git_dir.glob("objects/pack/tmp_*")
    for pack in git_dir.glob("objects/pack/pack-*"):
        if pack.suffix in (".pack", ".rev", ".keep") and not pack.with_suffix(".idx").exists():
            yield pack
