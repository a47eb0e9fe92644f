"""Reading a bare repository: files by revision and path, searches and comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from rebasekit.model.tag import Tag
from rebasekit.upstream import compare, refs, tree
from rebasekit.upstream.objects import Objects

Revision = Tag | str


class Repository:
    """A git repository for reading. Close it, or use it as a context manager.

    A revision is a Tag, the name of a branch or tag, or a full commit id. Every method that takes one raises
    UpstreamError for a Tag that is not there and StateError for another name that is not.
    """

    def __init__(self, git_dir: Path, hint: str | None = None) -> None:
        self.git_dir = git_dir
        self.objects = Objects(git_dir, hint)
        self.listings = tree.Listings(git_dir, hint)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the processes that read the repository; another call starts new ones."""
        self.objects.close()

    def commit(self, revision: Revision) -> str:
        """The full id of a revision's commit."""
        return refs.commit_of(self.objects, revision)

    def files(self, revision: Revision) -> dict[str, str]:
        """Path to blob id of every file; the same dictionary each time, not to be changed."""
        return self.listings.ids(self.commit(revision))

    def modes(self, revision: Revision) -> dict[str, str]:
        """Path to git's mode of every file: `100644`, or `100755` for an executable."""
        return {path: entry.mode for path, entry in self.listings.entries(self.commit(revision)).items()}

    def sizes(self, revision: Revision) -> dict[str, int]:
        """Path to size in bytes of every file."""
        return tree.read_sizes(self.git_dir, self.commit(revision))

    def read(self, revision: Revision, path: str) -> bytes | None:
        """The content of a file, None when the revision has no such file."""
        blob = self.files(revision).get(path)
        return None if blob is None else self.objects.read(blob)

    def read_many(self, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Blob ids and their contents in the order asked for, through one process."""
        return self.objects.read_many(ids)

    def grep(self, revision: Revision, text: str, *, fixed: bool = True, suffix: str = ".py") -> list[tuple[str, int]]:
        """Path and line (1-based) of each line with the text, or with `fixed=False` the extended regular expression."""
        return compare.grep(self.git_dir, self.commit(revision), text, fixed=fixed, suffix=suffix)

    def diff_text(self, a: Revision, b: Revision, path: str, new_path: str | None = None) -> str:
        """The unified diff of one file between two revisions, "" when it is the same."""
        return compare.diff_text(self.git_dir, self.commit(a), self.commit(b), path, new_path or path)

    def numstat(self, a: Revision, b: Revision, paths: Iterable[str] | None = None) -> dict[str, tuple[int, int]]:
        """Changed path to lines added and removed; a renamed file is two paths, a binary one has (0, 0)."""
        return compare.numstat(self.git_dir, self.commit(a), self.commit(b), paths)

    def renames(self, a: Revision, b: Revision, similarity: int = 50) -> dict[str, str]:
        """Old to new path of files that git finds renamed, at least `similarity` percent alike."""
        return {old: new for old, (new, _) in self.rename_scores(a, b, similarity).items()}

    def rename_scores(self, a: Revision, b: Revision, similarity: int = 50) -> dict[str, tuple[str, int]]:
        """As `renames`, with the likeness in percent beside the new path."""
        return compare.renames(self.git_dir, self.commit(a), self.commit(b), similarity)
