"""Bringing a release into the store: fetched aside, imported aside, seen only when whole."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from rebasekit.errors import UpstreamError
from rebasekit.model.progress import Progress
from rebasekit.model.tag import Tag
from rebasekit.upstream import cache, disk, importer, refs
from rebasekit.upstream.lock import held
from rebasekit.upstream.pypi import PypiSource
from rebasekit.upstream.release import BrokenArchive, Release, Source
from rebasekit.upstream.repository import Repository


def ingest(root: Path, source: Source, tag: Tag, store: Repository, progress: Progress) -> None:
    """Fetch and commit a release; the tag is the last thing written. Raises UpstreamError and StateError."""
    with _workspace(root, tag, progress) as work:
        if store.objects.info(f"refs/tags/{tag.name}^{{tree}}"):
            return  # another process was faster
        stored = refs.stored_tags(store.git_dir, store.objects)
        release = _fetch(source, tag, work, stored, progress)
        try:
            _import(root, release, tag, stored, store, work, progress)
        except BrokenArchive:
            if not release.drop():
                raise
            release = _fetch(source, tag, work, stored, progress)
            _import(root, release, tag, stored, store, work, progress)


def keep_archive(root: Path, source: PypiSource, tag: Tag, progress: Progress) -> Path:
    """Fetch a release's wheel and keep it, once every file in it has been held against its checksum."""
    with _workspace(root, tag, progress) as work:
        release = source.fetch(tag, work, progress)
        with (
            contextlib.closing(release.members) as members,
            progress.task(f"check {release.title}", release.size, "bytes") as task,
        ):
            for member in members:
                for chunk in member.chunks:
                    task.advance(len(chunk))
        release.keep()
        kept = source.kept(tag)
        assert kept is not None
        return kept


@contextlib.contextmanager
def _workspace(root: Path, tag: Tag, progress: Progress) -> Iterator[Path]:
    """An empty directory on the store's disk for the one process that fetches; removed however the block ends."""
    with held(root / "fetch.lock", f"fetches {tag}", progress):
        work = root / "tmp" / f"fetch-{tag.name}"
        try:
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir(parents=True)
            yield work
        except OSError as error:
            raise disk.explain(error, root) from None
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _fetch(source: Source, tag: Tag, work: Path, stored: list[Tag], progress: Progress) -> Release:
    try:
        return source.fetch(tag, work, progress)
    except UpstreamError as error:
        if error.message.startswith("no answer"):
            names = ", ".join(f"`{other}`" for other in stored) or "none"
            error.args = (f"{error.message}; stored releases: {names}",)
            error.message = error.args[0]
        raise


def _import(
    root: Path, release: Release, tag: Tag, stored: list[Tag], store: Repository, work: Path, progress: Progress
) -> None:
    shutil.rmtree(work / "import.git", ignore_errors=True)
    quarantine = cache.make_bare(work / "import.git", store.git_dir / "objects")
    trees = {other: store.objects.info(f"refs/tags/{other}^{{tree}}") for other in stored}
    history = [(f"{other}\n", info.id if (info := trees.get(other)) else None) for other in sorted({*stored, tag})]
    importer.write_release(quarantine, release, history, progress)
    heads = quarantine / "refs" / "heads"
    values = {
        f"refs/tags/{tag}": (heads / "release").read_text().strip(),
        refs.HISTORY: (heads / "releases").read_text().strip(),
    }
    with held(root / "write.lock", f"stores {tag}", progress):
        release.keep()
        importer.publish(quarantine, store.git_dir)
        refs.update(store.git_dir, values)
