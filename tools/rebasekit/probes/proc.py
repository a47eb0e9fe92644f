"""Processes as /proc has them: all questions may be asked of one that is gone meanwhile."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Process:
    """What the kernel says of one process."""

    parent: int
    session: int
    born: int  # clock ticks after the start of the machine
    alive: bool


def processes() -> dict[int, Process]:
    """Every process of the machine that we may look at."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
            except OSError:
                continue  # gone meanwhile
            found[int(entry.name)] = Process(int(fields[1]), int(fields[3]), int(fields[19]), fields[0] not in "ZX")
    return found


def carrying(setting: str) -> list[int]:
    """Processes that were started with `NAME=value` in their environment."""
    needle = setting.encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if needle in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue  # gone meanwhile, or not ours
    return found


def environment_of(pid: int) -> dict[str, str]:
    """The environment that a process was started with; empty when it is gone."""
    try:
        raw = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
    except OSError:
        return {}
    return dict(part.split("=", 1) for part in raw.split("\0") if "=" in part)


def title_of(pid: int) -> str:
    """What the process calls itself; empty when it is gone."""
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return ""
    return raw.rstrip(b"\0").split(b"\0")[0].decode(errors="replace").strip()


def memory_of(pid: int) -> int:
    """Bytes that the process has alone or its share of, by the kernel's own account; 0 when it is gone."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
    except (OSError, ValueError):
        pass
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0
