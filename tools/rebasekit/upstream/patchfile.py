"""What a diff makes of a release, without a worktree: exact lines at exact places, all or nothing."""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rebasekit.errors import UpstreamError, UsageError
from rebasekit.upstream import command
from rebasekit.upstream.paths import refuse

_PATHS = re.compile(rb"^(?:--- |\+\+\+ |diff --git )", re.MULTILINE)
_OFFSET = re.compile(r"Hunk #(\d+) succeeded at (\d+) \((?:offset|fuzz)[^)]*\)")


@dataclass(frozen=True)
class FileChange:
    """A file before and after; None where there is none. `executable` is of the new file."""

    path: str
    old: bytes | None
    new: bytes | None
    executable: bool = False


def apply_diff(git_dir: Path, commit: str, diff: bytes, *, strip: int = 1) -> list[FileChange]:
    """The files that a unified or git diff changes, by path; raise UsageError when it does not fit exactly.

    Nothing is written to the store: objects go to a temporary folder that borrows the store's.
    """
    if not _PATHS.search(diff):
        raise UsageError("there is no diff in it", hint="name a unified diff, a format-patch file or a quilt patch")
    with tempfile.TemporaryDirectory(prefix="rebasekit-apply-") as name:
        env = command.environment(git_dir) | {
            "GIT_INDEX_FILE": str(Path(name, "index")),
            "GIT_OBJECT_DIRECTORY": str(Path(name, "objects")),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(git_dir / "objects"),
        }
        Path(name, "objects").mkdir()
        command.run(["read-tree", commit], git_dir=git_dir, env=env)
        verbose = _apply(git_dir, env, diff, strip)
        moved = _OFFSET.search(verbose)
        if moved:
            raise UsageError(
                f"hunk {moved[1]} of the diff fits only at line {moved[2]}, not where it says: it was made on another release",
                hint="name the release it was made on with `--onto`",
            )
        tree = command.run(["write-tree"], git_dir=git_dir, env=env).decode().strip()
        return _changes(git_dir, env, commit, tree)


def _apply(git_dir: Path, env: dict[str, str], diff: bytes, strip: int) -> str:
    import subprocess

    args = ["apply", "--cached", "--verbose", "--whitespace=nowarn", "--unidiff-zero", f"-p{strip}", "-"]
    done = subprocess.run(
        command.vector(args, {"apply.whitespace": "nowarn"}), env=env, cwd=git_dir, input=diff, capture_output=True, check=False
    )
    told = done.stderr.decode(errors="replace")
    if done.returncode:
        lines = [line.removeprefix("error: ") for line in told.splitlines() if line.startswith("error: ")]
        raise UsageError(f"the diff does not fit: {'; '.join(lines[:3]) or 'git apply refused it'}")
    return told


def _changes(git_dir: Path, env: dict[str, str], commit: str, tree: str) -> list[FileChange]:
    out = command.run(["diff-tree", "-r", "-z", "--no-renames", commit, tree], git_dir=git_dir, env=env)
    parts = out.decode("utf-8", "surrogateescape").split("\0")[:-1]
    changes = []
    for head, path in zip(parts[::2], parts[1::2], strict=True):
        _, mode, old, new, _ = head.lstrip(":").split(" ")
        if (reason := refuse(path)) or mode not in ("000000", "100644", "100755"):
            raise UsageError(f"the diff changes `{path}`, which cannot be carried: {reason or f'mode {mode}'}")
        blobs = [
            None if set(blob) == {"0"} else command.run(["cat-file", "blob", blob], git_dir=git_dir, env=env)
            for blob in (old, new)
        ]
        changes.append(FileChange(path, blobs[0], blobs[1], mode == "100755"))
    return changes


def paths_of(diff: bytes) -> list[str]:
    """The new (or for deletions the old) paths that a diff names, with their first component."""
    found = []
    for match in re.finditer(rb"^--- ([^\t\r\n]+).*\r?\n\+\+\+ ([^\t\r\n]+)", diff, re.MULTILINE):
        old, new = (part.decode("utf-8", "surrogateescape").strip('"') for part in match.groups())
        found.append(old if new == "/dev/null" else new)
    return found


def branch_diff(repository: str, branch: str, tag: str, prefix: str) -> bytes:
    """The diff from a release to a branch in somebody's repository, below `prefix`; raise UpstreamError.

    The repository has to be a local path: fetching a fork is `git fetch`'s work.
    """
    folder = Path(repository).absolute()
    if not folder.is_dir():
        raise UpstreamError(f"`{repository}` is not a folder", hint="git clone URL DIR, then name DIR#BRANCH")
    env = command.environment(None) | {"GIT_CEILING_DIRECTORIES": os.fspath(folder.parent)}
    args = ["diff", "--binary", "--full-index", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv"]
    args += ["--src-prefix=a/", "--dst-prefix=b/", *([f"--relative={prefix}"] if prefix else [])]
    for name in (tag, branch):
        if name.startswith("-") or not re.fullmatch(r"[0-9A-Za-z_./+~^-]{1,200}", name):
            raise UsageError(f"`{name}` is not a revision")
    try:
        return command.run([*args, f"{tag}^{{commit}}", f"{branch}^{{commit}}", "--"], git_dir=None, cwd=folder, env=env)
    except command.GitFailed as error:
        raise UpstreamError(f"`{repository}` has no diff from `{tag}` to `{branch}`: {error.message}") from None
