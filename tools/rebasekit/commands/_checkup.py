"""The checks of `rebasekit doctor`. Each looks at one thing, in a few seconds at most, and changes nothing."""

from __future__ import annotations

import os
import re
import shutil
import sys
from argparse import Namespace
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import rebasekit
from rebasekit.commands import _where
from rebasekit.commands._extras import EXTRAS
from rebasekit.errors import RebasekitError
from rebasekit.model.hunk import Series
from rebasekit.model.tag import Tag

GIT_NEEDED = (2, 38)  # `git merge-tree --write-tree`
_ROOM = 2_000_000_000  # bytes: a release's wheel, its store, and a scratch tree


@dataclass(frozen=True)
class Sign:
    """One line: `state` is ok, warn or fail; `next` a command, empty when there is nothing to do."""

    name: str
    state: str
    message: str
    next: str = ""


def version() -> str:
    return rebasekit.__version__


def examine(args: Namespace) -> list[Sign]:
    """Everything that the main job needs, then what is optional."""
    series, sign = _patchset(args)
    signs = [_python(series), _git(), _pip(), _cache(_where.cache(args))]
    tags = stored(_where.cache(args), series) if series else []
    signs += [_stored(tags), sign]
    if not args.offline and series is not None:
        from rebasekit.commands._network import reach

        signs.append(reach(series.source, bool(tags)))
    return signs + [_extra(name) for name in EXTRAS]


def _python(series: Series | None) -> Sign:
    found = ".".join(map(str, sys.version_info[:3]))
    message = f"{found} at {sys.executable}"
    if series is not None and not series.runs(found):
        return Sign(
            "python", "warn", f"{message}; the deployment runs `{series.requires_python}`, so `build` refuses this one"
        )
    return Sign("python", "ok", message)


def _git() -> Sign:
    from rebasekit.upstream import command

    try:
        text = command.run(["version"], git_dir=None).decode(errors="replace")
    except RebasekitError as error:
        return Sign("git", "fail", error.message, error.hint or "")
    numbers = re.search(r"([0-9]+)\.([0-9]+)(\.[0-9]+)?", text)
    if numbers is None:
        return Sign("git", "warn", f"cannot read the version in `{text.strip()}`")
    if (int(numbers[1]), int(numbers[2])) < GIT_NEEDED:
        needed = ".".join(map(str, GIT_NEEDED))
        return Sign("git", "fail", f"{numbers[0]} is too old, {needed} is needed", "apt-get install git")
    return Sign("git", "ok", numbers[0])


def _pip() -> Sign:
    if find_spec("pip") is None:
        message = "is not installed for this Python, so no release can be fetched from an index"
        return Sign("pip", "warn", message, f"{sys.executable} -m ensurepip")
    return Sign("pip", "ok", "present")


def _cache(folder: Path) -> Sign:
    there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    mend = "export REBASEKIT_CACHE=DIR"
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        return Sign("cache", "fail", f"`{folder}` cannot be written", mend)
    free = shutil.disk_usage(there).free
    message = f"{folder}, {free / 1e9:.1f} GB free"
    if free < _ROOM:
        return Sign("cache", "warn", f"{message}; a release with its store takes up to {_ROOM / 1e9:.0f} GB", mend)
    return Sign("cache", "ok", message)


def _patchset(args: Namespace) -> tuple[Series | None, Sign]:
    from rebasekit.patches.load import load
    from rebasekit.report.report import counted
    from rebasekit.steps.workspace import check_pattern

    try:
        root = _where.project(args)
        loaded = load(root / "patchset", check=check_pattern)
    except RebasekitError as error:
        first, _, more = error.message.partition("\n")
        rest = f" (and {len(more.splitlines())} more)" if more else ""
        return None, Sign("patchset", "fail", first + rest, "rebasekit list" if more else error.hint or "")
    series = loaded.series
    size = f"{counted(len(series.patches), 'patch', 'patches')}, {counted(len(series.hunks()), 'hunk')}"
    message = f"{root / 'patchset'}: {size}, base {series.base}"
    if loaded.warnings:
        return series, Sign("patchset", "warn", f"{message}; {loaded.warnings[0]}", "rebasekit list")
    return series, Sign("patchset", "ok", message)


def stored(cache: Path, series: Series) -> list[Tag]:
    """The stored releases, none when there is no store yet."""
    from rebasekit.upstream.cache import is_whole, store_path
    from rebasekit.upstream.store import Store

    # Not `Store.open`, which would make the store: looking changes nothing.
    store = Store(store_path(cache, series.source), series.source)
    if not is_whole(store.git_dir):
        return []
    with store:
        return store.tags()


def _stored(tags: list[Tag]) -> Sign:
    if not tags:
        return Sign("releases", "ok", "none stored yet; the first rebase fetches what it needs")
    return Sign("releases", "ok", ", ".join(tag.name for tag in tags))


def _extra(name: str) -> Sign:
    packages, use = EXTRAS[name]
    missing = [package for package in packages if find_spec(package) is None]
    if not missing:
        return Sign(f"extra {name}", "ok", "installed")
    message = f"{', '.join(missing)} not installed; only needed for {use}"
    return Sign(f"extra {name}", "ok", message, f"{sys.executable} -m pip install 'rebasekit[{name}]'")
