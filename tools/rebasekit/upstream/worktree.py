"""Files on disk: a plain copy of a tree, and a clone in which people edit."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from rebasekit.errors import StateError
from rebasekit.model.tag import Tag
from rebasekit.upstream import command, disk, paths
from rebasekit.upstream.cache import ATTRIBUTES
from rebasekit.upstream.objects import Objects
from rebasekit.upstream.tree import Entry


def checkout(entries: Mapping[str, Entry], objects: Objects, directory: Path, wanted: Iterable[str] | None) -> None:
    """Write files below `directory`; bytes are the blobs' own, whatever `.gitattributes` says."""
    names = list(entries) if wanted is None else list(dict.fromkeys(wanted))
    for path in names:
        if path not in entries:
            raise StateError(f"`{path}` is not in the revision")
        if (reason := paths.refuse(path)) or not entries[path].mode.startswith("100"):
            raise StateError(f"`{path}` cannot be written: {reason or 'it is not a plain file'}")
    with _appearing(directory) as fresh:
        made: set[str] = set()
        contents = objects.read_many(entries[path].id for path in names)
        for path, (_, content) in zip(names, contents, strict=True):
            target = os.path.join(fresh, path)  # noqa: PTH118 - thousands of files; Path takes twice as long
            parent = target.rpartition("/")[0]
            if parent not in made:
                os.makedirs(parent, exist_ok=True)  # noqa: PTH103
                made.add(parent)
            mode = 0o777 if entries[path].mode == "100755" else 0o666
            handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
            with open(handle, "wb") as file:  # noqa: PTH123
                file.write(content)


def clone(git_dir: Path, ref: str, tag: Tag | None, directory: Path, ready: Callable[[Path], None]) -> None:
    """A repository of its own with one branch, checked out, and the release's tag; `ready` gets it before it appears.

    GIT_DIR and GIT_WORK_TREE are given: below another checkout git would else find that one. The user's own
    configuration is left to work in it later, but not to convert the files.
    """
    with _appearing(directory) as fresh:
        repo = fresh / ".git"
        env = command.environment(repo, work_tree=fresh)
        branch = ref.removeprefix("refs/heads/")
        command.run(["init", "--quiet", "--template=", f"--initial-branch={branch}"], git_dir=None, cwd=fresh, env=env)
        (repo / "info").mkdir(exist_ok=True)
        (repo / "info" / "attributes").write_text(ATTRIBUTES)
        wanted = [f"{ref}:{ref}", *([f"refs/tags/{tag}:refs/tags/{tag}"] if tag else [])]
        fetch = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--update-head-ok", "--", str(git_dir)]
        for args in ([*fetch, *wanted], ["reset", "--quiet", "--hard"], ["config", "core.autocrlf", "false"]):
            command.run(args, git_dir=repo, cwd=fresh, env=env)
        ready(fresh)


@contextlib.contextmanager
def _appearing(directory: Path) -> Iterator[Path]:
    """A directory beside `directory` that takes its place when the block succeeds, and is removed when it fails."""
    directory = directory.absolute()
    try:
        if directory.is_symlink() or (directory.exists() and (not directory.is_dir() or any(directory.iterdir()))):
            raise StateError(f"`{directory}` is not empty", hint="name a directory that is empty or does not exist")
        directory.parent.mkdir(parents=True, exist_ok=True)
        fresh = directory.with_name(f".{directory.name}.{secrets.token_hex(6)}")
        fresh.mkdir()
    except OSError as error:
        raise disk.explain(error, directory) from None
    try:
        yield fresh
        fresh.replace(directory)
    except OSError as error:
        shutil.rmtree(fresh, ignore_errors=True)
        raise disk.explain(error, directory) from None
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
