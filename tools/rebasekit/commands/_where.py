"""Where a command works: the project that holds `patchset/`, and the cache."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from rebasekit.errors import UsageError

if TYPE_CHECKING:
    from rebasekit.steps.workspace import Workspace

SERIES = "patchset/series.toml"
STATE = ".git/rebasekit.json"


def project(args: Namespace) -> Path:
    """The folder that holds `patchset/` and `upstream-map/`; raise UsageError when there is none."""
    if args.patchset is None:
        here = Path.cwd()
        for folder in (here, *here.parents):
            if (folder / SERIES).is_file():
                return folder
            if (folder / STATE).is_file():  # a worktree of `edit` knows whose it is
                import json

                return Path(json.loads((folder / STATE).read_text())["root"])
        raise UsageError(
            f"there is no `{SERIES}` here or above", hint="name its folder: `rebasekit -C DIR …`, or `rebasekit init`"
        )
    given = Path(args.patchset).absolute()
    for folder in (given, given.parent):
        if (folder / SERIES).is_file() and (folder == given or given.name == "patchset"):
            return folder
    raise UsageError(f"there is no `{SERIES}` in `{args.patchset}`", hint="name the folder that holds `patchset/`")


def cache(args: Namespace) -> Path:
    """The cache folder, which need not exist: the option, `$REBASEKIT_CACHE`, or the user's cache folder."""
    if args.cache:
        return Path(args.cache).absolute()
    from rebasekit.upstream.places import cache_dir

    return cache_dir()


def workspace(args: Namespace) -> Workspace:
    """The project and the cache as the steps take them."""
    from rebasekit.steps.workspace import Workspace

    return Workspace(root=project(args), cache=cache(args))
