"""Names in the store: tags, branches, and what a revision means. GitPython reads the refs."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from rebasekit.errors import StateError, UpstreamError, UsageError
from rebasekit.model.tag import Tag
from rebasekit.upstream import command
from rebasekit.upstream.objects import Objects

_REVISION = re.compile(r"[0-9A-Za-z_][0-9A-Za-z_./+-]{0,200}")
HISTORY = "refs/heads/releases"


def stored_tags(git_dir: Path, objects: Objects) -> list[Tag]:
    """The stored releases in version order; a ref that is damaged or leads nowhere does not count."""
    import git  # a tenth of a second, which `rebasekit --help` need not pay

    # Only names are taken from it: reading an object would ask a git that inherits GIT_DIR.
    with git.Repo(git_dir, expand_vars=False) as repo:
        names = [ref.name for ref in repo.tags]
    tags = []
    for name in names:
        with contextlib.suppress(UsageError):
            tag = Tag.parse(name)
            if tag.name == name and objects.info(f"refs/tags/{name}^{{tree}}"):
                tags.append(tag)
    return sorted(tags)


def branch_name(branch: str) -> str:
    """The full ref of a branch of the store; raise UsageError for a name that git refuses or that is ours."""
    ref = f"refs/heads/{branch}"
    wrong = not _REVISION.fullmatch(branch) or any(s in branch for s in ("..", "//", "/.", ".lock/")) or ref == HISTORY
    if wrong or branch.endswith((".lock", ".", "/")):
        raise UsageError(f"`{branch}` cannot be the name of a branch")
    return ref


def commit_of(objects: Objects, revision: Tag | str) -> str:
    """The full id of the commit that a tag, branch or id names.

    Raises UpstreamError for a tag that is not stored, StateError for any other name, UsageError for no name.
    """
    if isinstance(revision, Tag):
        found = objects.info(f"refs/tags/{revision.name}^{{commit}}")
        if found is None:
            raise UpstreamError(f"`{revision}` is not in the store", hint=f"rebasekit rebase {revision}")
        return found.id
    if not _REVISION.fullmatch(revision) or ".." in revision:
        raise UsageError(f"`{revision}` is not a revision")
    whole = re.fullmatch(r"[0-9a-f]{40}", revision)
    for name in [revision] if whole else [f"refs/tags/{revision}", f"refs/heads/{revision}"]:
        if (found := objects.info(f"{name}^{{commit}}")) is not None:
            return found.id
    raise StateError(f"the store has no tag, branch or commit `{revision}`")


def update(git_dir: Path, values: dict[str, str]) -> None:
    """Set refs to ids, all of them or none. A ref file that a crash left empty is replaced, which git refuses to."""
    for ref in values:
        with contextlib.suppress(OSError):
            if not re.fullmatch(r"[0-9a-f]{40}\n?", (git_dir / ref).read_text(errors="replace")):
                (git_dir / ref).unlink()
    lines = "".join(f"update {ref} {value}\n" for ref, value in values.items())
    command.run(["update-ref", "--stdin"], git_dir=git_dir, data=f"start\n{lines}commit\n".encode())
