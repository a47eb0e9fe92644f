"""The store: one bare repository per upstream source in the cache, one tag per release.

Each release is a root commit, so its id depends on the release alone and never changes when another is stored
before or after it. The branch `releases` has them once more as one line in version order, for `git log`; it is
written anew with each release and nothing relies on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from rebasekit.errors import UsageError
from rebasekit.model.hunk import UpstreamSource
from rebasekit.model.progress import SILENT, Progress
from rebasekit.model.tag import Tag
from rebasekit.upstream import cache, ingest, janitor, refs, series, worktree
from rebasekit.upstream.archive import Limits
from rebasekit.upstream.lock import held
from rebasekit.upstream.patchfile import FileChange, apply_diff
from rebasekit.upstream.pypi import PypiSource
from rebasekit.upstream.release import Source
from rebasekit.upstream.remote import GitSource
from rebasekit.upstream.repository import Repository, Revision
from rebasekit.upstream.series import SeriesCommit


class Store(Repository):
    """The releases of one source. Use `Store.open`."""

    def __init__(self, root: Path, source: UpstreamSource, limits: Limits | None = None) -> None:
        super().__init__(root / "repo.git", hint=f"rm -r {root / 'repo.git'}")
        self.root = root
        self.source = source
        self._pypi = PypiSource(source.package, root / "wheels", limits) if source.kind == "pypi" else None

    @classmethod
    def open(cls, cache_root: Path, source: UpstreamSource, *, limits: Limits | None = None) -> Store:
        """Open the store of `source` below the cache, making it when it is not there.

        What a killed process left is removed; a repository that is not whole is made anew (kept wheels stay, so a
        release comes back without the network). Raises StateError when that cannot be written, UsageError for a
        source that is none.
        """
        root = cache.store_path(cache_root.absolute(), source)
        store = cls(root, source, limits)
        store._source()  # a URL that git must not see is refused now
        cache.check_format(root)
        if not cache.is_whole(store.git_dir):
            with held(root / "write.lock", "makes the store"):
                if not cache.is_whole(store.git_dir):
                    cache.make_store(root, source)
        janitor.clean(root)
        return store

    def tags(self) -> list[Tag]:
        """The stored releases in version order."""
        return refs.stored_tags(self.git_dir, self.objects)

    def has(self, tag: Tag) -> bool:
        """Whether the release is stored; needs no network."""
        return self.objects.info(f"refs/tags/{tag.name}^{{tree}}") is not None

    def available(self, progress: Progress = SILENT, pre: bool = False) -> list[Tag]:
        """Upstream's releases in version order; raise UpstreamError when it cannot be asked."""
        return self._source().available(progress, pre=pre)

    def ensure(self, tag: Tag, progress: Progress = SILENT) -> None:
        """Have the release in the store: nothing to do, and no network needed, when it is there.

        Raises UpstreamError (no such release, no network, a broken or hostile archive) and StateError (disk); the
        store is then as it was.
        """
        if not self.has(tag):
            ingest.ingest(self.root, self._source(), tag, self, progress)

    def wheel(self, tag: Tag, progress: Progress = SILENT) -> Path:
        """The release's kept wheel, fetched again if somebody removed it; raise UsageError for a git source."""
        if self._pypi is None:
            raise UsageError("a release from git has no wheel", hint='set `kind = "pypi"` in patchset/series.toml')
        return self._pypi.kept(tag) or ingest.keep_archive(self.root, self._pypi, tag, progress)

    def commit_series(
        self, tag: Tag, patches: Iterable[SeriesCommit], branch: str, *, author: str = "", date: str = ""
    ) -> str:
        """Write one commit per patch on top of a release and set `branch` to the last; return its id.

        All or nothing. The ids depend on the arguments only: `author` is `Name <mail>`, `date` is
        `<seconds> <zone>`. Raises StateError for a change that cannot be made, UsageError for a name that is none.
        """
        base, ref = self.commit(tag), refs.branch_name(branch)
        with held(self.root / "write.lock", f"writes the branch {branch}"):
            series.write(self.git_dir, base, self.listings.entries(base), patches, ref, author, date)
        return self.commit(branch)

    def export_patches(self, tag: Tag, branch: str, directory: Path) -> list[Path]:
        """Write the branch as `git format-patch` files into `directory`; return them in order."""
        return series.export_patches(self.git_dir, self.commit(tag), self.commit(branch), directory)

    def export_diff(self, tag: Tag, branch: str) -> bytes:
        """The branch as one diff with full ids, which `git apply` takes for binary files too."""
        return series.export_diff(self.git_dir, self.commit(tag), self.commit(branch))

    def checkout(self, revision: Revision, directory: Path, paths: Iterable[str] | None = None) -> None:
        """Write the files, or those of `paths`, into an empty or absent directory: all or nothing.

        Raises StateError when the directory is not empty or cannot be written, or a path is not in the revision.
        """
        worktree.checkout(self.listings.entries(self.commit(revision)), self.objects, directory, paths)

    def clone_for_editing(
        self, branch: str, directory: Path, tag: Tag | None = None, ready: Callable[[Path], None] = lambda _: None
    ) -> None:
        """Make a git worktree with `branch` checked out, and `tag` in it, that does not need the store any more.

        `ready` writes what else belongs into it, in a folder of another name: it is there as a whole or not at all.

        Raises StateError when the directory is not empty or cannot be written, or there is no such branch.
        """
        self.commit(branch)
        worktree.clone(self.git_dir, refs.branch_name(branch), tag, directory, ready)

    def verify(self) -> list[str]:
        """What git finds damaged in the store, one message each; nothing when it is whole. Takes seconds."""
        return janitor.verify(self.git_dir)

    def _source(self) -> Source:
        return self._pypi or GitSource(self.source.url, self.source.prefix, self.git_dir)

    def apply_diff(self, revision: Revision, diff: bytes, *, strip: int = 1) -> list[FileChange]:
        """What a diff makes of a revision; raise UsageError when it does not fit exactly. Writes nothing."""
        return apply_diff(self.git_dir, self.commit(revision), diff, strip=strip)
