"""A new project: `patchset/series.toml`, and nothing that has to be typed from a manual."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from rebasekit.errors import UpstreamError, UsageError
from rebasekit.model.hunk import UpstreamSource
from rebasekit.model.progress import SILENT, Progress
from rebasekit.model.tag import Tag
from rebasekit.patches.files import Files
from rebasekit.patches.load import load_files
from rebasekit.patches.render import render
from rebasekit.patches.transaction import Transaction
from rebasekit.steps.workspace import check_pattern
from rebasekit.upstream.nearest import unknown_tag
from rebasekit.upstream.store import Store

SERIES = "patchset/series.toml"
# bodies and maps are compared byte for byte: no checkout may convert their line ends
ATTRIBUTES = "patchset/**     -text\nupstream-map/** -text\n"
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")


@dataclass(frozen=True)
class Begun:
    """What was written, and the release that the series begins on."""

    files: tuple[Path, ...]
    base: Tag


def begin(
    root: Path, cache: Path, source: str, *, base: Tag | None = None, prefix: str = "", progress: Progress = SILENT
) -> Begun:
    """Write an empty series on the newest release, or on `base`. Fetches no release.

    `source` is a package of the index, or a git URL or path; `prefix` the folder of a git repository that a wheel
    would hold. Raises UsageError when there is a series already, UpstreamError when upstream cannot be asked.
    """
    if (root / SERIES).exists():
        raise UsageError(f"there is a `{root / SERIES}` already", hint="rebasekit list")
    upstream = source_of(source, prefix)
    base = _base(cache, upstream, source, base, progress)
    root.mkdir(parents=True, exist_ok=True)
    with Transaction(root) as transaction:
        transaction.write(SERIES, _text(upstream, base))
        transaction.commit(_readable)
    files = [root / SERIES]
    if not (root / ".gitattributes").exists():
        files.append(root / ".gitattributes")
        files[-1].write_text(ATTRIBUTES)
    return Begun(tuple(files), base)


def _readable(staged: Files) -> None:
    load_files(staged, "patchset", check=check_pattern)


def source_of(source: str, prefix: str = "") -> UpstreamSource:
    """A package's name, or where a git repository is."""
    folder = Path(source).expanduser()
    if folder.is_dir():
        return UpstreamSource("git", url=str(folder.resolve()), prefix=prefix)
    if _NAME.fullmatch(source):
        if prefix:
            raise UsageError(f"`--prefix` is for a git repository, and `{source}` is a package")
        return UpstreamSource("pypi", package=source)
    return UpstreamSource("git", url=source, prefix=prefix)


def _base(cache: Path, upstream: UpstreamSource, source: str, base: Tag | None, progress: Progress) -> Tag:
    try:
        with Store.open(cache, upstream) as store:
            tags = store.available(progress, pre=base is not None)
    except UpstreamError:
        if base is None:
            raise
        progress.note(f"`{source}` cannot be asked whether it has {base}")
        return base
    if base is not None and base not in tags:
        raise unknown_tag(base, source, tags)
    if not tags:
        raise UpstreamError(f"`{source}` has no releases", hint="name its tag: `--base v1.0.0`")
    return base or max(tags)


def _text(upstream: UpstreamSource, base: Tag) -> str:
    keys = {"kind": upstream.kind, "package": upstream.package, "url": upstream.url, "prefix": upstream.prefix}
    said = "".join(f"{key:7} = {render(value)}\n" for key, value in keys.items() if value)
    return f"""\
# The series, in the order in which its patches apply.
base    = "{base}"
patches = []

# where the program starts, for the checks that follow calls from there:
# entries = ["package.module:function"]

[upstream]
{said}"""
