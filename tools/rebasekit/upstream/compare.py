"""Searching one revision and comparing two, by git."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rebasekit.errors import UsageError
from rebasekit.upstream import command

_PLAIN = ("--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/")


def grep(git_dir: Path, commit: str, pattern: str, *, fixed: bool, suffix: str) -> list[tuple[str, int]]:
    """Path and line of each line that has the text or matches the extended regular expression.

    Raises UsageError for a pattern that is empty, has a line end or is no expression.
    """
    if not pattern or "\n" in pattern or "\0" in pattern:
        raise UsageError(f"`{pattern!r}` cannot be searched for: it has to be one line")
    where = [":(glob)**/*" + "".join(f"\\{c}" if c in "*?[]\\" else c for c in suffix)] if suffix else []
    args = ["grep", "-a", "-n", "-z", "--full-name", "-F" if fixed else "-E", "-e", pattern, commit, "--", *where]
    try:
        out = command.run(args, git_dir=git_dir, ok=(0, 1))
    except command.GitFailed as error:
        if "regexp" in error.stderr or "Unmatched" in error.stderr or "Invalid" in error.stderr:
            raise UsageError(f"`{pattern}` is not a regular expression: {error.message}") from None
        raise
    hits = []
    for line in out.split(b"\n")[:-1]:
        name, number, _ = line.split(b"\0", 2)
        hits.append((name.decode("utf-8", "surrogateescape").partition(":")[2], int(number)))
    return hits


def diff_text(git_dir: Path, a: str, b: str, old: str, new: str) -> str:
    """The unified diff of one file; with a new path, of the file and the one that it became."""
    if old == new:
        args = ["diff", *_PLAIN, "--no-renames", a, b, "--", f":(literal){old}"]
    else:
        args = ["diff", *_PLAIN, f"{a}:{old}", f"{b}:{new}", "--"]
    return command.run(args, git_dir=git_dir).decode("utf-8", "surrogateescape")


def numstat(git_dir: Path, a: str, b: str, paths: Iterable[str] | None) -> dict[str, tuple[int, int]]:
    """Changed path to lines added and removed, (0, 0) for a binary file."""
    wanted = None if paths is None else set(paths)
    if wanted is not None and not wanted:
        return {}
    # A long list would not fit a command line; git reads the whole tree as fast as it reads one.
    where = [f":(literal){path}" for path in sorted(wanted)] if wanted is not None and len(wanted) <= 200 else []
    args = ["diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv", a, b, "--", *where]
    counts = {}
    for line in command.run(args, git_dir=git_dir).decode("utf-8", "surrogateescape").split("\0")[:-1]:
        added, removed, path = line.split("\t", 2)
        if wanted is None or path in wanted:
            counts[path] = (0, 0) if added == "-" else (int(added), int(removed))
    return counts


def renames(git_dir: Path, a: str, b: str, similarity: int) -> dict[str, tuple[str, int]]:
    """Old path to new path and likeness in percent."""
    args = ["diff-tree", "-r", "-z", f"-M{similarity}%", "-l4000", "--diff-filter=R", "--name-status", a, b]
    fields = command.run(args, git_dir=git_dir).decode("utf-8", "surrogateescape").split("\0")[:-1]
    triples = zip(fields[::3], fields[1::3], fields[2::3], strict=True)
    return {old: (new, int(status[1:])) for status, old, new in triples}
