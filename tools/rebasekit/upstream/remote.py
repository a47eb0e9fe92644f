"""Releases from the tags of a git repository: only the tag's commit, and only the blobs below the prefix."""

from __future__ import annotations

import posixpath
from collections.abc import Generator
from pathlib import Path

from rebasekit.errors import UpstreamError, UsageError
from rebasekit.model.progress import Progress
from rebasekit.model.tag import Tag
from rebasekit.upstream import paths, transfer
from rebasekit.upstream.cache import make_bare
from rebasekit.upstream.nearest import unknown_tag
from rebasekit.upstream.objects import Objects
from rebasekit.upstream.release import HostileArchive, Member, Release
from rebasekit.upstream.tree import Entry, read_entries

_LINK, _SUBMODULE = "120000", "160000"
_FILES, _BLOB = 200_000, 256 << 20  # how many files a release may have, and how large one may be


class GitSource:
    """The tags of a repository at a URL or path; files below `prefix` are the release, the prefix taken off.

    Raises UsageError for a URL that git must not see or a prefix that is no folder.
    """

    def __init__(self, url: str, prefix: str, store: Path) -> None:
        self._url = transfer.check_url(url)
        self._prefix = prefix.strip("/")
        self._store = store
        if self._prefix and (reason := paths.refuse(self._prefix)):
            raise UsageError(f"`{prefix}` cannot be a prefix: {reason}")

    def available(self, progress: Progress, *, pre: bool = False) -> list[Tag]:
        """The remote's tags that are releases; raise UpstreamError when it cannot be reached."""
        return transfer.list_tags(self._url, pre=pre)

    def fetch(self, tag: Tag, work: Path, progress: Progress) -> Release:
        """The tag's files. Raises UpstreamError when there is no such tag, prefix or network."""
        clone = make_bare(work / "clone.git", self._store / "objects")
        filtered = transfer.fetch_tag(self._url, tag, clone, progress)
        if filtered is None:
            raise unknown_tag(tag, transfer.shown(self._url), transfer.list_tags(self._url, pre=True))
        with Objects(clone) as objects:
            found = objects.info("refs/tags/release^{commit}")
            if found is None:
                raise UpstreamError(f"`{tag}` of `{transfer.shown(self._url)}` is not the tag of a commit")
            entries = self._inside(read_entries(clone, found.id), tag)
            if filtered:
                transfer.fetch_blobs(self._url, tag, clone, self._lacking(entries), progress)
            files = _followed(entries, objects, tag, progress)
            infos = objects.infos(entry.id for entry in files.values())
        size = sum(info.size if info else 0 for info in infos)
        message = f"{tag}\n\nupstream commit {found.id}\n"
        return Release(f"{tag} of {transfer.shown(self._url)}", message, size, _members(clone, files))

    def _lacking(self, entries: dict[str, Entry]) -> list[str]:
        """The blobs that the store does not have: releases share most of theirs."""
        ids = list(dict.fromkeys(entry.id for entry in entries.values()))
        with Objects(self._store) as store:
            return [blob for blob, info in zip(ids, store.infos(ids), strict=True) if info is None]

    def _inside(self, entries: dict[str, Entry], tag: Tag) -> dict[str, Entry]:
        """The files and links below the prefix that belong into a commit."""
        start = f"{self._prefix}/" if self._prefix else ""
        inside = {path[len(start) :]: entry for path, entry in entries.items() if path.startswith(start)}
        if not inside:
            raise UpstreamError(f"`{tag}` has no files below `{self._prefix}/`")
        if len(inside) > _FILES:
            raise HostileArchive(f"`{tag}` has {len(inside)} files, more than {_FILES}")
        for path in inside:
            if reason := paths.refuse(path):
                raise HostileArchive(f"`{tag}` is not safe to store: {path!r}: {reason}")
        if pair := paths.clash(inside):
            raise HostileArchive(f"`{tag}` is not safe to store: `{pair[0]}` and `{pair[1]}` cannot both be files")
        return {p: entry for p, entry in inside.items() if entry.mode != _SUBMODULE and not paths.compiled(p)}


def _followed(entries: dict[str, Entry], objects: Objects, tag: Tag, progress: Progress) -> dict[str, Entry]:
    """The plain files; a link to one of them becomes a copy, as it is in a wheel, and other links are left out."""
    files = {path: entry for path, entry in entries.items() if entry.mode != _LINK}
    lost = []
    for path in sorted(set(entries) - set(files)):
        target = objects.read(entries[path].id).decode("utf-8", "surrogateescape")
        aim = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        if (found := entries.get(aim)) is not None and found.mode != _LINK:
            files[path] = found
        else:
            lost.append(path)
    if lost:
        progress.note(f"{len(lost)} links of `{tag}` lead to no file of it and are left out, such as `{lost[0]}`")
    return files


def _members(clone: Path, entries: dict[str, Entry]) -> Generator[Member, None, None]:
    with Objects(clone) as objects:
        contents = objects.read_many(entry.id for entry in entries.values())
        for (path, entry), (_, content) in zip(entries.items(), contents, strict=True):
            if len(content) > _BLOB:
                raise HostileArchive(f"`{path}` has {len(content)} bytes, more than {_BLOB}")
            yield Member(path, entry.mode == "100755", len(content), iter([content]))
