"""Processes as /proc has them: all questions may be asked of one that is gone meanwhile."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICK = os.sysconf("SC_CLK_TCK")


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


def family(setting: str, leader: int, known: dict[int, int], *, leads: bool) -> list[int]:
    """Live processes that a command started; dead ones that nobody waited for do not count.

    What is in the leader's session, carries `setting` in its environment, or was started by such a process is of the
    family, and stays so: `known` has when each was born, and grows. `leads`: the leader's number is still its own.
    """
    table = processes()
    mine = {pid for pid, born in known.items() if pid in table and table[pid].born == born}
    if mine or leads:  # a session's number is free again when its last member is gone
        mine |= {pid for pid, each in table.items() if each.session == leader}
    mine |= set(carrying(setting))
    while more := {pid for pid, each in table.items() if each.parent in mine and pid not in mine}:
        mine |= more
    mine &= table.keys()
    known.update({pid: table[pid].born for pid in mine})
    return sorted(pid for pid in mine if table[pid].alive)


def end(pid: int, number: int) -> None:
    """Send a signal to a process that may be gone."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


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


def cpu_of(pid: int) -> float:
    """Seconds of processor time that the process has had; 0 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICK


def listener(port: int) -> int | None:
    """The socket that listens on a TCP port of this machine, by its inode; None when there is none."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            rows = [line.split() for line in Path(table).read_text().splitlines()[1:]]
        except OSError:
            continue
        for row in rows:
            if row[3] == "0A" and int(row[1].rpartition(":")[2], 16) == port:
                return int(row[9])
    return None


def holds(pid: int, inode: int) -> bool:
    """Whether a process has a socket open."""
    try:
        return any(entry.readlink().name == f"socket:[{inode}]" for entry in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False  # gone meanwhile


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
