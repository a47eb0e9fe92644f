"""A process with everything it starts: watched, limited, and ended as a whole.

Servers start ranks in sessions of their own and write over their environment, so neither a process group nor a mark
is enough: what is in our session, carries our mark, or was started by such a process is ours, and stays ours. A guard
beside us ends it when we are killed.
"""

from __future__ import annotations

import signal
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from rebasekit.probes import proc
from rebasekit.probes.guard import Guard

MARK = "REBASEKIT_MARK"
_GRACE = 10.0  # seconds between asking and killing
_SAMPLE = 1.0  # seconds between looks at the memory: the kernel walks every page for one


@dataclass(frozen=True)
class Done:
    """How a command ended: its exit code (None when it was ended at its limit), seconds, and most memory in bytes."""

    code: int | None
    seconds: float
    memory: int
    log: Path

    def tail(self, lines: int = 20) -> str:
        return tail(self.log, lines)


def tail(log: Path, lines: int) -> str:
    """The last lines of a log, of which at most 64 KiB are read."""
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, log.stat().st_size - (64 << 10)))
            return "\n".join(stream.read().decode(errors="replace").splitlines()[-lines:])
    except OSError:
        return ""


class Group:
    """A running command. A context manager: leaving it, by whatever way, ends every process that it started."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], cwd: Path, log: Path) -> None:
        self.mark = uuid.uuid4().hex
        self.log = log
        self.memory = 0  # the most that was seen
        self._cpu: dict[int, float] = {}  # by process, as it was seen last
        self._measured = 0.0
        self._known: dict[int, int] = {}  # processes seen, with when each began: a number is used again
        self.start = time.monotonic()
        with log.open("wb") as stream:
            self.process = subprocess.Popen(
                argv,
                env={**env, MARK: self.mark},
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # ^C goes to us, and we end the group
            )
        try:
            self._guard = Guard(self.process.pid, f"{MARK}={self.mark}")
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.start

    @property
    def cpu(self) -> float:
        """Seconds of processor time of all processes, of each what it had when it was looked at last."""
        return sum(self._cpu.values())

    def poll(self) -> int | None:
        """The exit code, None while it runs; looks at memory and time as well, but not more often than is worth it."""
        if time.monotonic() - self._measured >= _SAMPLE:
            self.measure()
        return self.process.poll()

    def measure(self) -> None:
        """Look at memory and time now."""
        ours = self.pids()
        self.memory = max(self.memory, sum(proc.memory_of(pid) for pid in ours))
        self._cpu |= {pid: max(proc.cpu_of(pid), self._cpu.get(pid, 0.0)) for pid in ours}
        self._measured = time.monotonic()

    def wait(self, limit: float, every: float = 0.2) -> int | None:
        """Wait at most until `limit` seconds after the start; None when the time is over."""
        while (code := self.poll()) is None and self.seconds < limit:
            time.sleep(every)
        return code

    def lines(self, limit: float, every: float = 0.1) -> Iterator[str]:
        """The lines that it prints, as they are complete, until it ends or `limit` seconds after the start are over."""
        with self.log.open(errors="replace") as stream:
            rest, over = "", False
            while not over:
                over = self.poll() is not None or self.seconds >= limit
                rest += stream.read()
                *complete, rest = rest.split("\n")
                yield from complete
                if not over:
                    time.sleep(every)

    def pids(self) -> list[int]:
        """Our live processes; dead ones that nobody waited for do not count."""
        leads = self.process.returncode is None
        return proc.family(f"{MARK}={self.mark}", self.process.pid, self._known, leads=leads)

    def end(self, grace: float = _GRACE) -> list[int]:
        """Ask everything to end, kill after `grace` seconds what did not, and wait; return what had to be killed."""
        for pid in self.pids():
            proc.end(pid, signal.SIGTERM)
        deadline = time.monotonic() + grace
        while self.pids() and time.monotonic() < deadline:
            self.process.poll()
            time.sleep(0.1)
        stubborn = self.pids()
        while left := self.pids():  # what was started meanwhile, too
            for pid in left:
                proc.end(pid, signal.SIGKILL)
            self.process.poll()
            time.sleep(0.05)
        self.process.wait()
        self._guard.release()
        return stubborn

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()


def run(argv: Sequence[str], env: Mapping[str, str], cwd: Path, log: Path, limit: float) -> Done:
    """Run a command to its end, or end it at `limit` seconds."""
    with Group(argv, env, cwd, log) as group:
        code = group.wait(limit)
        seconds = group.seconds
    return Done(code, seconds, group.memory, log)
