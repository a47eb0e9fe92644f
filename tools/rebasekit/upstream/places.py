"""Where the cache and the stores in it lie, and what a ref of a store names: all that a warm question asks of git.

A command that only asks imports this module and no other of `upstream`: processes, locks and transfers take longer to
import than the answer takes to read.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Protocol

from rebasekit.errors import UsageError

_REF = re.compile(r"[0-9A-Za-z_][0-9A-Za-z_.+-]*(/[0-9A-Za-z_][0-9A-Za-z_.+-]*)*")
_ID = re.compile(r"[0-9a-f]{40}\n?")


class Source(Protocol):
    """What of a `model.hunk.UpstreamSource` says where its store lies."""

    @property
    def kind(self) -> str: ...

    @property
    def package(self) -> str: ...

    @property
    def url(self) -> str: ...

    @property
    def prefix(self) -> str: ...


def cache_dir() -> Path:
    """`$REBASEKIT_CACHE`, else `$XDG_CACHE_HOME/rebasekit`, else `~/.cache/rebasekit`; absolute, perhaps absent."""
    if own := os.environ.get("REBASEKIT_CACHE"):
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification: a relative path is to be ignored.
    root = Path(shared) if shared.startswith("/") else Path.home() / ".cache"
    return root / "rebasekit"


def store_path(cache: Path, source: Source) -> Path:
    """The directory of a source's store: readable, and different for different sources.

    Raises UsageError for a source whose kind, package or prefix is none.
    """
    if source.kind == "pypi":
        if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?", source.package):
            raise UsageError(f"`{source.package}` is not the name of a package")
        return cache / "upstream" / f"pypi-{_canonical(source.package)}"
    if source.kind == "git":
        import hashlib  # takes two milliseconds, and most sources are none of these

        digest = hashlib.sha256(f"{source.url}\0{source.prefix}".encode()).hexdigest()[:12]
        last = re.sub(r"[^A-Za-z0-9._-]", "-", source.url.rstrip("/").removesuffix(".git").rpartition("/")[2])
        return cache / "upstream" / f"git-{last[:40] or 'repository'}-{digest}"
    raise UsageError(f"`{source.kind}` is not a kind of upstream source", hint="use `pypi` or `git`")


def _canonical(package: str) -> str:
    """A package's name as PEP 503 writes it; `packaging` has this too, and ten milliseconds of imports."""
    return re.sub(r"[-_.]+", "-", package).lower()


def written_ref(git_dir: Path, ref: str) -> str | None:
    """The id in a ref's own file; None when git has to be asked (it is packed, symbolic, damaged, or not there)."""
    if not _REF.fullmatch(ref) or ".." in ref:
        return None
    try:
        text = (git_dir / ref).read_text("ascii")
    except (OSError, ValueError):
        return None
    return text[:40] if _ID.fullmatch(text) else None
