"""A patch series as commits on top of a release, and out again as patches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rebasekit.errors import StateError, UsageError
from rebasekit.upstream import command, disk, paths
from rebasekit.upstream.importer import AUTHOR, DATE, FastImport
from rebasekit.upstream.tree import Entry

_AUTHOR = re.compile(r"[^<>\n\0]+ <[^<>\n\0]*>")
_DATE = re.compile(r"[0-9]{1,12} [+-][0-9]{4}")
_FORMAT = ("--no-renames", "--full-index", "--binary", "--no-color", "--no-ext-diff", "--no-textconv",
           "--src-prefix=a/", "--dst-prefix=b/")  # fmt: skip


@dataclass(frozen=True)
class SeriesCommit:
    """One patch as a commit: whole new contents by path, None for a removed file.

    `modes` are `100644` or `100755` where a file's mode is not to stay as it was; a new file is `100644`. The
    commit's message is `message`, or `name` when that is empty.
    """

    name: str
    message: str = ""
    changes: Mapping[str, bytes | None] = field(default_factory=dict)
    modes: Mapping[str, str] = field(default_factory=dict)


def write(
    git_dir: Path,
    base: str,
    entries: Mapping[str, Entry],
    patches: Iterable[SeriesCommit],
    ref: str,
    author: str = "",
    date: str = "",
) -> None:
    """Write the commits and set `ref`, all or nothing. Raises StateError, UsageError."""
    who = f"{author or AUTHOR} {date or DATE}"
    if not _AUTHOR.fullmatch(author or AUTHOR) or not _DATE.fullmatch(date or DATE):
        raise UsageError(f"`{who}` is not `Name <mail> seconds zone`")
    modes = {path: entry.mode for path, entry in entries.items()}
    with FastImport(git_dir, loose=True) as run:
        run.write(f"reset {ref}\nfrom {base}\n\n".encode())
        for patch in patches:
            changes = _checked(patch, modes)
            message = (patch.message or patch.name).rstrip("\n") + "\n"
            run.commit(ref, message, author=who, committer=who)
            for path, content in changes.items():
                if content is None:
                    run.delete(path)
                else:
                    run.file(path, modes[path], len(content), [content])
        run.finish()


def _checked(patch: SeriesCommit, modes: dict[str, str]) -> dict[str, bytes | None]:
    """The patch's changes, removals first; `modes` becomes what it is after them."""
    for path in {*patch.changes, *patch.modes}:
        if reason := paths.refuse(path):
            raise StateError(f"`{patch.name}` cannot write {path!r}: {reason}")
        if path not in patch.changes or (patch.changes[path] is None and path not in modes):
            raise StateError(f"`{patch.name}` changes `{path}`, which is not there")
    changes = dict(sorted(patch.changes.items(), key=lambda item: (item[1] is not None, item[0])))
    for path, content in changes.items():
        if content is None:
            del modes[path]
        else:
            modes[path] = patch.modes.get(path, modes.get(path, "100644"))
            if modes[path] not in ("100644", "100755"):
                raise StateError(f"`{patch.name}`: `{modes[path]}` is not a mode of a file")
    # fast-import would put a folder where a file is, or a file where a folder is, and say nothing.
    folders = {parent for path in modes for parent in _parents(path)}
    for path, content in changes.items():
        if content is not None and (path in folders or any(parent in modes for parent in _parents(path))):
            raise StateError(f"`{patch.name}` cannot write `{path}`: a folder and a file would have one name")
    return changes


def _parents(path: str) -> Iterable[str]:
    while path := path.rpartition("/")[0]:
        yield path


def export_patches(git_dir: Path, base: str, tip: str, directory: Path) -> list[Path]:
    """`git format-patch` into `directory`, without anything that differs from one git to the next."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise disk.explain(error, directory) from None
    target = str(directory.absolute())
    args = ["format-patch", *_FORMAT, "--no-signature", "--zero-commit", "--output-directory", target, f"{base}..{tip}"]
    out = command.run(args, git_dir=git_dir).decode("utf-8", "surrogateescape")
    return [Path(line) for line in out.splitlines()]


def export_diff(git_dir: Path, base: str, tip: str) -> bytes:
    """`git diff` from the release to the branch."""
    return command.run(["diff", *_FORMAT, base, tip, "--"], git_dir=git_dir)
