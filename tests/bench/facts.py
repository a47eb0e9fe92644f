"""Facts and reach, timed: cold, next tag, warm as a command and in process, without an index; ripgrep beside them.

CPU seconds are of this process and its children; memory is the largest process's peak. Run it on idle cores.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rebasekit.checks.reach import Reach, reach_unindexed
from rebasekit.facts.query import Facts, open_facts
from rebasekit.facts.settings import Settings
from rebasekit.facts.source import DirectoryTree, ListingTree
from rebasekit.model.hunk import UpstreamSource
from rebasekit.model.tag import Tag
from rebasekit.upstream.cache import cache_dir
from rebasekit.upstream.store import Store

SGLANG = UpstreamSource("pypi", "sglang")
RELEASES = (Tag("v0.5.23"), Tag("v0.5.22"))

ASK = """
import sys
from pathlib import Path
from rebasekit.checks.reach import reach
from rebasekit.facts.query import open_facts
from rebasekit.facts.settings import Settings
from rebasekit.facts.source import ListingTree
tree = ListingTree(sys.argv[2], dict, lambda ids: iter(()))
print(reach(open_facts(Path(sys.argv[1]), tree, Settings((sys.argv[3],))), sys.argv[4]).verdict)
"""


@dataclass(frozen=True)
class Row:
    """One measurement; `limit` is the target, 0 when there is none."""

    what: str
    value: float
    unit: str
    limit: float

    def __str__(self) -> str:
        verdict = (
            "" if not self.limit else f"  (target {self.limit:g}: {'met' if self.value <= self.limit else 'MISSED'})"
        )
        return f"{self.what:<44}{self.value:>9.2f} {self.unit}{verdict}"


def measure(newer: Path, older: Path, name: str, entry: str) -> list[Row]:
    """Rows for two unpacked releases and one class name."""
    rows: list[Row] = []
    settings = Settings((entry,))
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        tree = DirectoryTree(newer)
        key = tree.key
        start, cpu = time.perf_counter(), _cpu()
        open_facts(cache, tree, settings).close()
        rows.append(Row(f"cold facts of {newer.name}, linked: CPU", _cpu() - cpu, "s", 20))
        rows.append(Row(f"cold facts of {newer.name}, linked: wall", time.perf_counter() - start, "s", 0))
        rows.append(Row("largest process", _peak_mb(), "MB", 300))
        rows.append(Row("facts on disk", (cache / "facts.sqlite").stat().st_size / 2**20, "MB", 300))
        cpu = _cpu()
        open_facts(cache, DirectoryTree(older), settings).close()
        rows.append(Row(f"facts of {older.name} after it: CPU", _cpu() - cpu, "s", 0))
        command = [sys.executable, "-c", ASK, str(cache), key, entry, name]
        rows.append(Row(f"reach {name}, first time, as a command", _best(lambda: _run(command), 1) * 1e3, "ms", 0))
        rows.append(Row(f"reach {name}, warm, as a command", _best(lambda: _run(command), 5) * 1e3, "ms", 150))
        facts = open_facts(cache, ListingTree(key, dict, lambda _ids: iter(())), settings)
        rows.extend(_in_process(facts, name))
        rows.append(Row(f"reach {name}, no index", _best(lambda: reach_unindexed(tree, settings, name), 2), "s", 3))
    if rg := shutil.which("rg"):
        found = _best(lambda: _run([rg, "-w", name, str(newer)]), 3)
        rows.append(Row(f"ripgrep -w {name} (text only)", found * 1e3, "ms", 0))
    return rows


def _in_process(facts: Facts, name: str) -> list[Row]:
    reach = Reach(facts)
    first = _best(lambda: reach.report(name), 1)
    return [
        Row(f"reach {name}, in process, first", first * 1e3, "ms", 0),
        Row(f"reach {name}, in process", _best(lambda: reach.report(name), 20) * 1e3, "ms", 5),
    ]


def _best(action: Callable[[], object], times: int) -> float:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        taken.append(time.perf_counter() - start)
    return min(taken)


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _cpu() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _peak_mb() -> float:
    return max(resource.getrusage(w).ru_maxrss for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024


def run(cache: Path | None) -> None:
    """The part of `nox -s bench`: two releases, one class, and what others need to look at the same tree."""
    with tempfile.TemporaryDirectory() as folder, Store.open(cache or cache_dir(), SGLANG) as store:
        for tag in RELEASES:
            store.ensure(tag)
            store.checkout(tag, Path(folder, tag.name))
        newer, older = (Path(folder, tag.name) for tag in RELEASES)
        for row in [*measure(newer, older, "MHATokenToKVPool", "sglang.launch_server"), *peers(newer)]:
            print(row)


def peers(tree: Path) -> list[Row]:
    """Wall time of tools that answer part of the question, where they are installed."""
    found = []
    for what, command in (
        (
            "ruff F821 (undefined names)",
            ["ruff", "check", "--select", "F821", "--isolated", "--exit-zero", "-q", str(tree)],
        ),
        ("pyflakes", [sys.executable, "-m", "pyflakes", str(tree)]),
        ("griffe dump (definitions)", ["griffe", "dump", "-s", str(tree), "-o", "/dev/null", "sglang"]),
    ):
        if shutil.which(command[0]):
            start = time.perf_counter()
            subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            found.append(Row(what, time.perf_counter() - start, "s", 0))
    return found


if __name__ == "__main__":
    for row in measure(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4]):
        print(row)
