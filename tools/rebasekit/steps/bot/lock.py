"""One publisher at a time, on whatever machine: the remote decides, by a ref that only one push can make.

Without it, two runs could both find no comment and both write one.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rebasekit.errors import StateError
from rebasekit.model.progress import SILENT, Progress
from rebasekit.upstream.project import Project, Push

REF = "refs/rebasekit/lock"  # outside refs/heads: no workflow starts, and no branch shows


@dataclass(frozen=True)
class Times:
    """Seconds: after `stale` a lock is one that a killed run left; `patience` is how long we wait; `poll` between."""

    stale: float = 960.0
    patience: float = 1020.0
    poll: float = 3.0
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.time


class Occupied(StateError):
    """Another run keeps the lock; what it does is its own to tell."""


class PushRefused(StateError):
    """The remote does not take a push; `said` is its reason, which somebody else wrote."""

    def __init__(self, ref: str, said: str) -> None:
        hint = "give the token write access to contents, and leave the branch unprotected"
        super().__init__(f"the push to `{ref}` was refused: {said}", hint=hint)
        self.said = said


@contextmanager
def alone(project: Project, times: Times, progress: Progress = SILENT) -> Iterator[None]:
    """Hold the lock for the block. Raises Occupied when another run keeps it, PushRefused without the right."""
    start, told = times.clock(), False
    who = f"{platform.node()} {os.getpid()} {os.urandom(8).hex()}"
    while True:
        held = project.heads(REF).get(REF, "")
        if not held or _stale(project, times):
            mine = project.note(f"{who}\n", int(times.clock()))
            pushed = project.push(REF, mine.id, held)
            if pushed.outcome is Push.DONE:
                break
            if pushed.outcome is Push.REFUSED:
                raise PushRefused(REF, pushed.message)
        if times.clock() - start > times.patience:
            raise Occupied("another run of the bot does not come to its end", hint="rebasekit bot")
        if not told:
            progress.note("another run of the bot is publishing; waiting for it")
            told = True
        times.sleep(times.poll)
    try:
        yield
    finally:
        project.push(REF, "", mine.id)  # one that has been taken over by then is not ours to remove


def _stale(project: Project, times: Times) -> bool:
    holder = project.fetched(REF)
    return holder is not None and times.clock() - holder.time > times.stale
