"""Running pip, so that the user's index, proxy, certificates and credentials hold, and reading what it says."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rebasekit.errors import UpstreamError
from rebasekit.model.progress import Progress, Task
from rebasekit.upstream import disk

_POLL = 0.1
_BEGIN = re.compile(r"\s*Downloading (?:\S*/)?(\S+\.whl)\S* \(([0-9.]+) (bytes|[kMG]B)\)")
_UNREACHED = re.compile(
    r"Retrying \(Retry|Connection(Reset|Aborted)?Error|NewConnectionError|ReadTimeout|ConnectTimeout|Read timed out|"
    r"ProxyError|SSLError|Could not fetch URL|Temporary failure in name resolution|IncompleteRead|IncompleteDownload"
)
_UNITS = {"bytes": 1, "kB": 1000, "MB": 1000**2, "GB": 1000**3}


@dataclass(frozen=True)
class PipRun:
    """What a pip run printed, and its status."""

    code: int
    text: str

    @property
    def unreached(self) -> bool:
        """Whether pip could not talk to an index."""
        return bool(_UNREACHED.search(self.text))

    @property
    def errors(self) -> str:
        """pip's last `ERROR:` line, or its last line."""
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        told = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
        return (told or lines or ["no message"])[-1][:500]


def run(args: Sequence[str], work: Path, progress: Progress, label: str) -> PipRun:
    """Run pip with its temporary files below `work`, showing a bar of bytes while a wheel comes in.

    Raises UpstreamError when this Python has no pip, StateError when the disk is full.
    """
    temporary = work / "pip"
    try:
        temporary.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise disk.explain(error, work) from None
    own = {"TMPDIR": str(temporary), "NO_COLOR": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONUNBUFFERED": "1"}
    env = {k: v for k, v in os.environ.items() if k not in ("PIP_QUIET", "PIP_VERBOSE", "PIP_LOG")} | own
    # -P: a folder `pip` in the current directory is not to be run.
    vector = [sys.executable, "-P", "-m", "pip", *args, "--no-input", "-vv"]
    process = subprocess.Popen(
        vector, cwd=temporary, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        text = _follow(process, temporary, progress, label)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
    if "No module named pip" in text:
        raise UpstreamError(f"`{sys.executable}` has no pip", hint=f"{sys.executable} -m ensurepip")
    if process.returncode != 0 and disk.means_full(text):
        raise disk.full(work)
    return PipRun(process.returncode, text)


def _follow(process: subprocess.Popen[bytes], temporary: Path, progress: Progress, label: str) -> str:
    lines: list[str] = []
    begun: list[float] = []
    retried = threading.Event()

    def read() -> None:
        assert process.stdout is not None
        for raw in process.stdout:
            line = raw.decode(errors="replace")
            lines.append(line)
            if found := _BEGIN.match(line):
                begun.append(float(found[2]) * _UNITS[found[3]])
            if "Retrying (Retry" in line and not retried.is_set():
                retried.set()
                progress.note("the package index does not answer; pip tries again")

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    with contextlib.ExitStack() as stack:
        task: Task | None = None
        shown = 0
        while reader.is_alive():
            reader.join(_POLL)
            if begun and task is None:
                task = stack.enter_context(progress.task(label, begun[-1], "bytes"))
            if task is not None:
                arrived = max(shown, _arrived(temporary))
                task.advance(arrived - shown)
                shown = arrived
        if task is not None:
            task.advance(max(0, begun[-1] - shown))
    return "".join(lines)


def _arrived(temporary: Path) -> int:
    with contextlib.suppress(OSError):  # pip removes files while we look
        return sum(file.stat().st_size for file in temporary.rglob("*.whl"))
    return 0
