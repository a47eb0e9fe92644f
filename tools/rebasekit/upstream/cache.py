"""Making an empty store; `places` says where stores live."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

from rebasekit.errors import StateError
from rebasekit.model.hunk import UpstreamSource
from rebasekit.upstream import disk
from rebasekit.upstream.places import cache_dir, store_path

__all__ = ["cache_dir", "check_format", "is_whole", "make_bare", "make_store", "store_path"]

_CONFIG = """[core]
\trepositoryformatversion = 0
\tbare = true
\tfilemode = true
[gc]
\tauto = 0
[pack]
\twindow = 0
[fastimport]
\tunpackLimit = 100
"""
# Above every .gitattributes of a release: bytes are upstream's, on the way in and on the way out.
ATTRIBUTES = "* -text !eol -ident -filter !working-tree-encoding !diff !merge !export-ignore !export-subst\n"


def make_bare(path: Path, alternates: Path | None = None) -> Path:
    """Make an empty bare repository at `path`, without a process and without the user's templates."""
    for part in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info"):
        (path / part).mkdir(parents=True, exist_ok=True)
    (path / "config").write_text(_CONFIG)
    (path / "info" / "attributes").write_text(ATTRIBUTES)
    if alternates is not None:
        (path / "objects" / "info" / "alternates").write_text(f"{alternates}\n")
    (path / "HEAD").write_text("ref: refs/heads/releases\n")  # last: git takes a directory with HEAD for a repository
    return path


def is_whole(path: Path) -> bool:
    """Whether `path` has everything that git asks of a repository."""
    try:
        head = (path / "HEAD").read_text()
        whole = head.startswith("ref: refs/heads/") and "bare = true" in (path / "config").read_text()
        return whole and all((path / part).is_dir() for part in ("objects", "refs/tags"))
    except (OSError, UnicodeDecodeError):
        return False


def make_store(root: Path, source: UpstreamSource) -> None:
    """Make the store's directory, or the part of it that is missing or broken; the wheels in it are kept.

    The repository is made beside its place and renamed, so that a half-made one is never seen. Raises StateError
    when the cache cannot be written. Call it with the store's write lock held.
    """
    repo, fresh = root / "repo.git", root / "tmp" / f"new-{os.getpid()}"
    try:
        shutil.rmtree(fresh, ignore_errors=True)
        make_bare(fresh)
        if repo.exists():
            repo.rename(root / "tmp" / f"broken-{os.getpid()}")
        fresh.rename(repo)
        url = re.sub(r"//[^/@]*@", "//", source.url)
        about = {"format": 1, "kind": source.kind, "package": source.package, "url": url, "prefix": source.prefix}
        (root / "source.json").write_text(json.dumps(about, indent=1) + "\n")
        shutil.rmtree(root / "tmp" / f"broken-{os.getpid()}", ignore_errors=True)
    except OSError as error:
        raise disk.explain(error, root) from None


def check_format(root: Path) -> None:
    """Raise StateError when the store was written by a newer rebasekit."""
    try:
        written = json.loads((root / "source.json").read_text())["format"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    if written != 1:
        raise StateError(f"`{root}` was written by a newer rebasekit", hint="pip install --upgrade rebasekit")
