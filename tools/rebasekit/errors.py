"""Errors that end a command: lowercase, names in backquotes, no full stop, and one command as the hint."""

from __future__ import annotations


class RebasekitError(Exception):
    """A command cannot go on; `exit_code` is what the process returns.

    `hint` is one command (or one change) that gets the reader further.
    """

    exit_code = 4

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(RebasekitError):
    """The command line asks for something that cannot be meant."""

    exit_code = 2


class PatchsetError(RebasekitError):
    """A file of `patchset/` or `upstream-map/` is wrong: `where` is `file: key`."""

    exit_code = 2

    def __init__(self, where: str, message: str, *, hint: str | None = None) -> None:
        super().__init__(f"{where}: {message}", hint=hint)
        self.where = where


class UpstreamError(RebasekitError):
    """A release cannot be had: no such tag, no network, a broken or hostile archive."""

    exit_code = 4


class StateError(RebasekitError):
    """The store, a worktree or the disk is not in a state in which the command can work."""

    exit_code = 4
