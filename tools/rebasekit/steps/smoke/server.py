"""One server: started, waited for, watched while it is asked, and ended with everything that it started."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from rebasekit.model.progress import Progress
from rebasekit.probes import proc
from rebasekit.probes.proc import title_of
from rebasekit.probes.process import Group
from rebasekit.steps.smoke.client import Client, free_port
from rebasekit.steps.smoke.plan import Limits

_TAIL = 25


class Died(Exception):
    """The server is gone, or never came; the message has the end of its log."""


class Server:
    """A running server. A context manager: leaving it ends the whole process group, on ^C too."""

    def __init__(
        self, argv: Sequence[str], environ: Mapping[str, str], folder: Path, limits: Limits, port: int | None = None
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.limits = limits
        self.port = port or free_port()
        self.client = Client(self.port, limits.request)
        self.titles: dict[int, str] = {}
        command = [part.replace("{port}", str(self.port)) for part in argv]
        self.group = Group(command, environ, folder, folder / "server.log")

    @property
    def log(self) -> str:
        return self.group.log.read_text(errors="replace")

    @property
    def memory(self) -> int:
        return self.group.memory

    def look(self) -> int | None:
        """Note memory and what the processes call themselves; the exit code when the server is gone."""
        for pid in self.group.pids():
            if title := title_of(pid):
                self.titles[pid] = title
        return self.group.poll()

    def taken(self) -> bool:
        """Whether somebody else listens where this server should: what is asked there would be somebody else's."""
        socket = proc.listener(self.port)
        return socket is not None and not any(proc.holds(pid, socket) for pid in self.group.pids())

    def wait_ready(self, progress: Progress) -> float:
        """Wait until it answers; return the seconds. Raises Died when it ends before, or takes too long."""
        limit = self.limits.ready
        with progress.task("waiting for the server", limit, "s") as task:
            last = 0.0
            while self.group.seconds < limit:
                if (code := self.look()) is not None:
                    raise Died(f"ended with {code} after {self.group.seconds:.0f} s, before it was ready{self.tail()}")
                if self.taken():
                    raise Died(f"port {self.port} was taken by another process{self.tail()}")
                if self.client.ready():
                    self.group.measure()  # what is seen before may be of a process that has barely begun
                    self.look()
                    return self.group.seconds
                task.advance(self.group.seconds - last)
                last = self.group.seconds
                time.sleep(0.5)
        raise Died(f"not ready after {limit:.0f} s{self.tail()}")

    def wait_refusal(self, progress: Progress) -> str:
        """Wait until it ends by itself; return its log. Raises Died when it serves instead, or hangs."""
        limit = self.limits.refusal
        with progress.task("waiting for the refusal", limit, "s") as task:
            last = 0.0
            while self.group.seconds < limit:
                if self.look() is not None:
                    return self.log
                if not self.taken() and self.client.ready():
                    raise Died(f"serves after {self.group.seconds:.0f} s, and should have refused to start")
                task.advance(self.group.seconds - last)
                last = self.group.seconds
                time.sleep(0.5)
        raise Died(f"neither refused nor served within {limit:.0f} s{self.tail()}")

    def stop(self) -> str:
        """Ask it to end, and wait; return what is wrong with how it ended, nothing when it ended well."""
        start, pid = time.monotonic(), self.group.process.pid
        self.look()
        if self.group.process.poll() is not None:
            return f"was gone before it was asked to stop{self.tail()}"
        self.group.process.send_signal(signal.SIGTERM)
        while self.group.pids() and time.monotonic() - start < self.limits.stop:
            self.look()
            time.sleep(0.1)
        left = self.group.pids()
        if not left:
            return ""
        names = ", ".join(f"{self.titles.get(each, 'process')} ({each})" for each in left[:4])
        self.group.end(grace=0.0)
        who = "it" if left == [pid] else f"{len(left)} processes"
        return f"{who} had to be killed {self.limits.stop:.0f} s after SIGTERM: {names}"

    def tail(self, lines: int = _TAIL) -> str:
        """The end of the log, to stand behind a message."""
        shown = [line[:300] for line in self.log.splitlines()[-lines:]]
        return "".join(f"\n      | {line}" for line in shown) if shown else "; its log is empty"

    def trouble(self) -> list[str]:
        """Last lines of tracebacks in the log: a server that goes on after one has lost something."""
        found, inside = [], False
        for line in self.log.splitlines():
            text = re.sub(r"^\[[^\]]*\]\s*", "", line)
            if text.startswith("Traceback (most recent call last)"):
                inside = True
            elif inside and re.match(r"[\w.]*(Error|Exception|Interrupt|Exit)\b", text):
                found.append(text[:200])
                inside = False
        return found

    def orphans(self) -> list[int]:
        """What of ours still runs; after the end there is nothing."""
        return self.group.pids()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.group.end()
