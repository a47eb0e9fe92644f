"""What every reader and writer does first: bring a change that was cut short to its end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rebasekit.patches.journal import COMMIT, FOLDER, roll_forward
from rebasekit.patches.lock import locked


def recover(root: Path, *, anywhere: bool = False) -> None:
    """Complete what a process that died had committed, clean up what it had not. Safe to call at any time."""
    if not os.path.lexists(root / FOLDER):
        return
    with locked(root, exclusive=True):
        roll_forward(root, anywhere=anywhere)


@contextmanager
def reading(root: Path) -> Iterator[None]:
    """Hold writers off while the files below `root` are read, and start from a whole state."""
    tried = False
    while True:
        with locked(root, exclusive=False):
            committed = (root / FOLDER / COMMIT).exists()
            # Rubbish of an uncommitted change does not disturb; a read-only checkout may keep it.
            if not committed and (tried or not os.path.lexists(root / FOLDER)):
                yield
                return
        recover(root)
        tried = True
