"""Files of a release by the paths that people type."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

from rebasekit.errors import StateError, UsageError

if TYPE_CHECKING:
    from rebasekit.model.tag import Tag
    from rebasekit.steps.workspace import Workspace


def chosen(files: Collection[str], paths: Iterable[str], where: str) -> list[str]:
    """The files that the paths name, folders with all that is below; all files without a path.

    Raises UsageError for a path that is not there, with the closest one.
    """
    wanted = [path.removeprefix("./").rstrip("/") for path in paths]
    if not wanted or "" in wanted or "." in wanted:
        return sorted(files)
    found: set[str] = set()
    for path in wanted:
        below = {file for file in files if file == path or file.startswith(f"{path}/")}
        if not below:
            same = [file for file in sorted(files) if file.endswith(f"/{path}")]
            close = same[:1] or get_close_matches(path, files, n=1, cutoff=0.7)
            hint = f"name it as in the store: `{close[0]}`" if close else "leave the path out to read everything"
            raise UsageError(f"`{path}` is not in {where}", hint=hint)
        found |= below
    return sorted(found)


def branch(space: Workspace, tag: Tag) -> str:
    """The branch of the store that holds the series on a release; raise StateError when there is none."""
    from rebasekit.steps.rebase import branch_of

    name = branch_of(tag)
    try:
        space.store.commit(name)
    except StateError:
        raise StateError(f"the series has not been carried to {tag} yet", hint=f"rebasekit rebase {tag}") from None
    return name
