"""One git process with an environment that the user's shell and configuration cannot bend.

GitPython reads refs and judges URLs here (`refs.py`, `remote.py`); it cannot *remove* a variable from a child's
environment, and an inherited `GIT_DIR` or `GIT_WORK_TREE` sends a command into somebody else's repository, so
processes are started by this module.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO

from rebasekit.errors import StateError
from rebasekit.upstream import disk

# What a fetch keeps of the user's GIT_* variables: how to reach and to prove who one is, never where or what.
TRANSPORT_VARIABLES = ("GIT_SSH", "GIT_ASKPASS", "GIT_HTTP_", "GIT_PROXY_", "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_",
                       "GIT_CONFIG_VALUE_", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
                       "GIT_TRACE", "GIT_CURL_")  # fmt: skip

_CONFIG = {
    "core.hooksPath": os.devnull,
    "core.attributesFile": os.devnull,
    "core.fsmonitor": "false",
    "core.autocrlf": "false",
    "core.quotePath": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
}


class GitFailed(StateError):
    """A git command ended with an unexpected status; `code` and `stderr` are what it left."""

    def __init__(self, command: str, code: int, stderr: str) -> None:
        lines = [line for line in stderr.splitlines() if line.strip()]
        told = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[-1] if lines else "")
        super().__init__(f"`git {command}` failed with status {code}: {told.removeprefix('fatal: ') or 'no message'}")
        self.code = code
        self.stderr = stderr


def environment(git_dir: Path | None, *, user_config: bool = False, work_tree: Path | None = None) -> dict[str, str]:
    """The child's environment: no GIT_* of the caller's, and the user's configuration only for a fetch."""
    kept = TRANSPORT_VARIABLES if user_config else ()
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_") or k.startswith(kept or ("\0",))}
    if not user_config:
        env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1"}
    env |= {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_REPLACE_OBJECTS": "1", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    if git_dir is not None:
        env["GIT_DIR"] = str(git_dir)
    if work_tree is not None:
        env["GIT_WORK_TREE"] = str(work_tree)
    return env


def vector(args: Sequence[str], config: Mapping[str, str] | None = None) -> list[str]:
    """The argument vector of a git command with our configuration in front."""
    options = [part for key, value in (_CONFIG | dict(config or {})).items() for part in ("-c", f"{key}={value}")]
    return ["git", *options, *args]


def start(
    args: Sequence[str],
    *,
    git_dir: Path | None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    config: Mapping[str, str] | None = None,
    stderr: int | IO[bytes] = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    """Start a git process with pipes on standard input and output; raise StateError when git is not installed."""
    try:
        return subprocess.Popen(
            vector(args, config),
            cwd=cwd or git_dir,
            env=dict(env) if env is not None else environment(git_dir),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
        )
    except FileNotFoundError as error:
        raise _not_started(error, cwd or git_dir) from None


def run(
    args: Sequence[str],
    *,
    git_dir: Path | None,
    data: bytes = b"",
    ok: Iterable[int] = (0,),
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    config: Mapping[str, str] | None = None,
) -> bytes:
    """Run a git command to its end and return what it printed.

    Raises GitFailed for a status not in `ok`, StateError when git is missing or the disk is full.
    """
    try:
        done = subprocess.run(
            vector(args, config),
            cwd=cwd or git_dir,
            env=dict(env) if env is not None else environment(git_dir),
            input=data,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise _not_started(error, cwd or git_dir) from None
    if done.returncode not in ok:
        raise failure(args[0], done.returncode, done.stderr.decode(errors="replace"), cwd or git_dir)
    return done.stdout


def failure(command: str, code: int, stderr: str, directory: Path | None) -> StateError:
    """The error that a failed command means: a full disk is told as such."""
    if directory is not None and disk.means_full(stderr):
        return disk.full(directory)
    return GitFailed(command, code, stderr)


def _not_started(error: FileNotFoundError, directory: Path | None) -> StateError:
    if directory is not None and not directory.is_dir():
        return StateError(f"`{directory}` does not exist")
    return StateError("git is not installed, or not on PATH", hint="apt-get install git")
