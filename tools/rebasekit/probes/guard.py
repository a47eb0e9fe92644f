"""What ends a command's processes when this one was killed and could not: a process that waits for our end of a pipe.

`python -m rebasekit.probes.guard LEADER NAME=VALUE` reads its standard input. A byte means that all is over; the end of
the file without one means that we are gone, whatever took us (SIGKILL, the kernel short of memory, a crash).
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time

from rebasekit.probes import proc

_GRACE = 5.0  # seconds between asking and killing


class Guard:
    """Watches over the processes of one command, from a session of its own: ^C does not reach it."""

    def __init__(self, leader: int, setting: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "rebasekit.probes.guard", str(leader), setting],
            env={"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def release(self) -> None:
        """Let it go: there is nothing left to end. May be called again."""
        stream = self._process.stdin
        assert stream is not None
        if not stream.closed:
            with contextlib.suppress(OSError):  # somebody ended it
                stream.write(b".")
                stream.flush()
            with contextlib.suppress(OSError):
                stream.close()
            self._process.wait()


def main(leader: int, setting: str) -> None:
    """Wait, and end what is left when the other end of the pipe closes without a word."""
    known: dict[int, int] = {}
    born = proc.processes().get(leader)
    if born is not None:
        known[leader] = born.born
    if sys.stdin.buffer.read(1):
        return
    deadline, asked = time.monotonic() + _GRACE, set[int]()
    while left := proc.family(setting, leader, known, leads=False):
        for pid in left:
            if time.monotonic() > deadline:
                proc.end(pid, signal.SIGKILL)
            elif pid not in asked:
                proc.end(pid, signal.SIGTERM)
                asked.add(pid)
        time.sleep(0.2)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
