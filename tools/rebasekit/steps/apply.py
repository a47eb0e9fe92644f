"""The series onto a folder that holds a release, or out of it again: all or nothing."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from rebasekit.errors import StateError, UsageError
from rebasekit.model.progress import SILENT, Progress
from rebasekit.model.tag import Tag
from rebasekit.patches.journal import target
from rebasekit.patches.transaction import Transaction
from rebasekit.steps.export import placed
from rebasekit.steps.rebase import modes
from rebasekit.steps.workspace import Workspace

State = Mapping[str, bytes | None]


def apply(
    space: Workspace,
    tag: Tag,
    to: Path,
    *,
    only: list[str] | None = None,
    reverse: bool = False,
    dry_run: bool = False,
    progress: Progress = SILENT,
) -> list[Path]:
    """Write the patched files of `tag` below `to` and return their paths; with `reverse`, upstream's own.

    Raises StateError, and changes nothing, unless every file that the series touches has exactly the release's
    bytes (with `reverse`, exactly the patched ones). A run that was killed is completed by the next one.
    """
    if not to.is_dir():
        raise UsageError(f"`{to}` is not a folder", hint=f"pip install --no-deps --target {to} {_package(space, tag)}")
    result = placed(space, tag, only, progress)
    patched: State = result.outcomes.tree.bytes()
    pristine: State = {path: space.store.read(tag, path) for path in patched}
    have, want = (patched, pristine) if reverse else (pristine, patched)
    executable = {path for stage in result.outcomes.stages for path in modes(stage.patch, result)}
    with Transaction(to, anywhere=True) as transaction:
        _check(space, to, tag, have, want, reverse)
        changed = sorted(path for path in want if want[path] != have[path])
        for path in changed:
            data = want[path]
            if data is None:
                transaction.delete(path)
            else:
                transaction.write(path, data, mode=0o755 if path in executable and have[path] is None else None)
        if not dry_run:
            transaction.commit()
    return [to / path for path in changed]


def _package(space: Workspace, tag: Tag) -> str:
    return f"{space.series.source.package or 'PACKAGE'}=={tag.version}"


def _elsewhere(space: Workspace, tag: Tag, to: Path, have: State, reverse: bool) -> str:
    """The command for a folder nearby that has all the files; else how to see where an installed release is."""
    there = [path for path, data in have.items() if data is not None]
    for folder in _nearby(to):
        if all((folder / path).is_file() for path in there):
            return f"rebasekit apply --tag {tag} --to {shlex.quote(str(folder))}{' --reverse' if reverse else ''}"
    package = space.series.source.package
    return f"pip show -f {package}" if package else "rebasekit apply --help"


def _nearby(to: Path) -> Iterator[Path]:
    """Where the files are when the folder is the package itself, an environment, or a checkout that has a prefix."""
    above = to.absolute()
    yield from (above.parent, above.parent.parent)
    for pattern in ("*", "lib/python*/site-packages", "*/lib/python*/site-packages"):
        yield from sorted(folder for folder in to.glob(pattern) if folder.is_dir())


def _check(space: Workspace, to: Path, tag: Tag, have: State, want: State, reverse: bool) -> None:
    """Whether the folder holds what it should before; say in which way it does not."""
    found = {path: _read(to, path) for path in have}
    wrong = sorted(path for path in have if found[path] != have[path])
    if not wrong:
        return
    done = "taken out" if reverse else "applied"
    path, more = wrong[0], f" and {len(wrong) - 1} more files" if len(wrong) > 1 else ""
    if all(found[path] == want[path] for path in want):
        raise StateError(f"the series is already {done} in `{to}`")
    if all(found[path] in (have[path], want[path]) for path in want):
        raise StateError(
            f"the series is half {done} in `{to}`: {len(wrong)} of {len(have)} files are, the first is `{path}`",
            hint=f"rebasekit export --tag {tag} --diff",
        )
    data, expected = found[path], have[path]
    if data is None:
        raise StateError(
            f"`{to}` has no `{path}`{more}: it does not hold {tag}",
            hint=_elsewhere(space, tag, to, have, reverse),
        )
    if expected is None:
        raise StateError(f"`{path}`{more} is in `{to}`, where the release has no such file")
    known = "patched" if reverse else "release's"
    if data.replace(b"\r\n", b"\n") == expected.replace(b"\r\n", b"\n"):
        raise StateError(
            f"`{path}`{more} in `{to}` has the {known} text with other line ends: something converted them",
            hint="git config core.autocrlf false",
        )
    raise StateError(f"`{path}`{more} in `{to}` does not have the {known} bytes, so the series cannot be {done} there")


def _read(to: Path, path: str) -> bytes | None:
    """The file's bytes; raise StateError when it is a link or lies behind one, so would be written elsewhere."""
    try:
        return target(to, path, anywhere=True).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StateError(f"`{path}` cannot be read: {(error.strerror or str(error)).lower()}") from None
