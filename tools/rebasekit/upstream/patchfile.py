"""What a diff makes of a release, without a worktree: exact lines at exact places, all or nothing."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rebasekit.errors import UpstreamError, UsageError
from rebasekit.upstream import command
from rebasekit.upstream.paths import refuse

_CHECKING = re.compile(r"^Checking patch (.*)\.\.\.$")
_OFFSET = re.compile(r"Hunk #(\d+) succeeded at (\d+) \((?:offset|fuzz)[^)]*\)")
_WORDS = (
    (r"patch failed: (.*):(\d+)", r"`\1` is not, at line \2, what the diff was made on"),
    (r"(.*): does not exist in index", r"the release has no `\1`"),
    (r"(.*): already exists in index", r"the release has a file `\1` already"),
    (r"cannot apply binary patch to '(.*)' without full index line", r"`\1` is binary, which cannot be carried"),
    (r"corrupt (?:binary )?patch at (?:line |.*:)(\d+)", r"the diff is damaged at line \1: lines were lost or wrapped"),
    (r"invalid path '(.*)'", r"`\1` is not a path that may be written"),
)


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
    with tempfile.TemporaryDirectory(prefix="rebasekit-apply-") as name:
        env = command.environment(git_dir) | {
            "GIT_INDEX_FILE": str(Path(name, "index")),
            "GIT_OBJECT_DIRECTORY": str(Path(name, "objects")),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(git_dir / "objects"),
        }
        Path(name, "objects").mkdir()
        command.run(["read-tree", commit], git_dir=git_dir, env=env)
        _apply(git_dir, env, diff, strip)
        tree = command.run(["write-tree"], git_dir=git_dir, env=env).decode().strip()
        return _changes(git_dir, env, commit, tree)


def _git_apply(git_dir: Path, env: dict[str, str], diff: bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
    args = ["apply", "--cached", "--verbose", "--whitespace=nowarn", "--unidiff-zero", *options, "-"]
    vector = command.vector(args, {"apply.whitespace": "nowarn"})
    return subprocess.run(vector, env=env, cwd=git_dir, input=diff, capture_output=True, check=False)


def _apply(git_dir: Path, env: dict[str, str], diff: bytes, strip: int) -> None:
    done = _git_apply(git_dir, env, diff, f"-p{strip}")
    told = done.stderr.decode(errors="replace").splitlines()
    if done.returncode:
        errors = [line.removeprefix("error: ") for line in told if line.startswith("error: ")]
        if _git_apply(git_dir, env, diff, f"-p{strip}", "--reverse", "--check").returncode == 0:
            raise UsageError("the release has the diff's change already")
        hint = None
        if (
            b"\r\n" in diff
            and _git_apply(git_dir, env, diff.replace(b"\r\n", b"\n"), f"-p{strip}", "--check").returncode == 0
        ):
            errors, hint = ["its line ends were converted to CRLF"], "dos2unix DIFF"
        raise UsageError(f"the diff does not fit: {_said(errors)}", hint=hint or "name its release with `--onto`")
    path = ""
    for line in told:
        if checked := _CHECKING.match(line):
            path = checked[1].partition(" => ")[2] or checked[1]
        if moved := _OFFSET.search(line):
            raise UsageError(
                f"hunk {moved[1]} of `{path}` fits only at line {moved[2]}, not where it says: it was made on another"
                " release or on top of another patch",
                hint="name its release with `--onto`",
            )


def _said(errors: list[str]) -> str:
    """git's complaints in our words, each file once."""
    said: list[str] = []
    for error in errors:
        if re.fullmatch(r".*: patch does not apply", error):
            continue  # comes after `patch failed`
        for pattern, words in _WORDS:
            if re.search(pattern, error):
                error = re.sub(f".*?{pattern}.*", words, error)
                break
        said.append(error)
    return "; ".join(said[:3]) or "git refused it"


def _changes(git_dir: Path, env: dict[str, str], commit: str, tree: str) -> list[FileChange]:
    out = command.run(["diff-tree", "-r", "-z", "--no-renames", commit, tree], git_dir=git_dir, env=env)
    parts = out.decode("utf-8", "surrogateescape").split("\0")[:-1]
    changes = []
    for head, path in zip(parts[::2], parts[1::2], strict=True):
        before, mode, old, new, _ = head.lstrip(":").split(" ")
        if reason := refuse(path):
            raise UsageError(f"the diff changes `{path}`, which cannot be carried: it has {reason}")
        if {before, mode} - {"000000", "100644", "100755"}:
            what = "a link" if "120000" in (before, mode) else "not a plain file"
            raise UsageError(f"the diff changes `{path}`, which cannot be carried: it is {what}")
        if "000000" not in (before, mode) and before != mode:
            raise UsageError(f"the diff changes the mode of `{path}`, which can be carried for a new file only")
        blobs = [
            None if set(blob) == {"0"} else command.run(["cat-file", "blob", blob], git_dir=git_dir, env=env)
            for blob in (old, new)
        ]
        changes.append(FileChange(path, blobs[0], blobs[1], mode == "100755"))
    return changes


def branch_diff(repository: str, branch: str, tag: str, prefix: str) -> bytes:
    """The diff from a release to a branch in somebody's repository, below `prefix`; raise UpstreamError.

    The repository has to be a local path: fetching a fork is `git fetch`'s work.
    """
    return _asked(repository, branch, tag, prefix, "diff", f"{tag}^{{commit}}", f"{branch}^{{commit}}")


def branch_mails(repository: str, branch: str, tag: str, prefix: str) -> bytes:
    """The commits from a release to a branch as mails, merges left out; raise as `branch_diff`."""
    return _asked(repository, branch, tag, prefix, "format-patch", "--stdout", f"{tag}^{{commit}}..{branch}^{{commit}}")


def _asked(repository: str, branch: str, tag: str, prefix: str, verb: str, *what: str) -> bytes:
    folder = Path(repository).absolute()
    if not folder.is_dir():
        raise UpstreamError(f"`{repository}` is not a folder", hint=f"git clone {repository} DIR")
    env = command.environment(None) | {"GIT_CEILING_DIRECTORIES": os.fspath(folder.parent)}
    args = [verb, "--binary", "--full-index", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv"]
    args += ["--src-prefix=a/", "--dst-prefix=b/", *([f"--relative={prefix}"] if prefix else [])]
    for name in (tag, branch):
        if name.startswith("-") or not re.fullmatch(r"[0-9A-Za-z_./+~^@{}-]{1,200}", name):
            raise UsageError(f"`{name}` is not a revision")
    try:
        return command.run([*args, *what, "--"], git_dir=None, cwd=folder, env=env)
    except command.GitFailed as error:
        raise UpstreamError(f"`{repository}` has no diff from `{tag}` to `{branch}`: {error.message}") from None
