"""Lines added and removed per file, as `git diff --numstat` counts them, and per scope."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from rebasekit.checks.churn.lines import changed_lines, scopes_of
from rebasekit.upstream.repository import Repository, Revision


@dataclass(frozen=True)
class ScopeChurn:
    """Lines of one scope: `scope` is its name with the qualifiers that it needs, "" for the module's own lines."""

    scope: str
    added: int
    removed: int


@dataclass(frozen=True)
class FileChurn:
    """Lines of one file; those of its scopes add up to them. A renamed file is two, one gone and one new."""

    file: str
    added: int
    removed: int
    scopes: tuple[ScopeChurn, ...] = ()


def churn(
    repository: Repository,
    a: Revision,
    b: Revision,
    paths: Iterable[str] | None = None,
    scopes: Collection[str] | None = None,
) -> tuple[FileChurn, ...]:
    """How the files changed from `a` to `b`, by path; `paths` and `scopes` narrow what is counted.

    A line belongs to the innermost scope that holds it: in `a` when it was removed, in `b` when it was added. With
    `paths`, a named file that did not change has zeros. Files that are no Python, or cannot be parsed, are one scope.
    Raises UpstreamError or StateError for a revision that is not there.
    """
    wanted = None if paths is None else sorted(set(paths))
    counts = repository.numstat(a, b, wanted)
    result = []
    for path in sorted(counts) if wanted is None else wanted:
        added, removed = counts.get(path, (0, 0))
        inner = _scopes(repository, a, b, path) if added or removed else ()
        if scopes is not None:
            inner = tuple(one for one in inner if one.scope in scopes)
        result.append(FileChurn(path, added, removed, inner))
    return tuple(result)


def _scopes(repository: Repository, a: Revision, b: Revision, path: str) -> tuple[ScopeChurn, ...]:
    """The scopes of one file with changed lines, in source order."""
    gone, new = changed_lines(repository.diff_text(a, b, path))
    old_scopes, new_scopes = scopes_of(repository.read(a, path), path), scopes_of(repository.read(b, path), path)
    removed = Counter(old_scopes.at(line) for line in gone)
    added = Counter(new_scopes.at(line) for line in new)
    order = {name: position for position, name in enumerate([*new_scopes.names, *old_scopes.names][::-1])}
    names = sorted({*removed, *added}, key=lambda name: -order.get(name, 0))
    return tuple(ScopeChurn(name, added[name], removed[name]) for name in names)
