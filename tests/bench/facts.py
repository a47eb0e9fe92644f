"""Facts and reach, timed beside the tools that answer part of the question: cold, next release, warm, without an index.

CPU seconds are of this process and its children; memory is the largest process's peak. Run it on idle cores: the load
is printed first.
"""

from __future__ import annotations

import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.bench.references import references

from rebasekit.checks.reach import Reach, reach_unindexed
from rebasekit.checks.reach.names import find
from rebasekit.facts.query import Facts, open_facts
from rebasekit.facts.settings import Settings
from rebasekit.facts.source import DirectoryTree, ListingTree
from rebasekit.model.hunk import UpstreamSource
from rebasekit.model.tag import Tag
from rebasekit.upstream.cache import cache_dir
from rebasekit.upstream.store import Store

SGLANG = UpstreamSource("pypi", "sglang")
RELEASES = (Tag("v0.5.23"), Tag("v0.5.22"))

ROOT = Path(__file__).resolve().parents[2]
NAME, DEFINED = "MHATokenToKVPool", "sglang/srt/mem_cache/memory_pool.py"


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
        return f"{self.what:<58}{self.value:>9.2f} {self.unit}{verdict}"


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
        facts = open_facts(cache, ListingTree(key, dict, lambda _ids: iter(())), settings)
        rows.extend(_in_process(facts, name))
        rows.append(Row(f"reach {name}, no index", _best(lambda: reach_unindexed(tree, settings, name), 2), "s", 3))
    return rows


def _in_process(facts: Facts, name: str) -> list[Row]:
    """Without answers that were kept: the first one reads what it needs from the database."""
    reach = Reach(facts)
    definition = find(facts, name)[0]
    first = _best(lambda: reach.of(definition), 1)
    return [
        Row(f"reach {name}, in process, first", first * 1e3, "ms", 0),
        Row(f"reach {name}, in process", _best(lambda: reach.of(definition), 20) * 1e3, "ms", 5),
    ]


def commands(cache: Path, tree: Path, name: str) -> list[Row]:
    """`tools/reach` as a whole, the interpreter's start included, on facts that are there."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # modules are compiled by the first command, not by each
    where = ["--tag", tree.name, "-C", str(ROOT), "--cache", str(cache)]
    command = [sys.executable, str(ROOT / "tools/reach"), name, *where]
    _run(command, ok=(0, 1))  # reads and links what is missing

    def fresh(asked: str = name) -> list[str]:  # a fact that nothing asks about makes it another question
        return [*command[:2], asked, *where, "--assume", f"bench_{time.time_ns()}=1"]

    once = statistics.median(_times(lambda: _run(fresh(), ok=(0, 1)), 15))
    others = sorted(_times(lambda c=asked: _run(fresh(c), ok=(0, 1)), 1)[0] for asked in _some_classes(tree))  # type: ignore[misc]
    again = statistics.median(_times(lambda: _run(command, ok=(0, 1)), 15))
    bare = statistics.median(_times(lambda: _run([sys.executable, "-c", "pass"]), 15))
    return [
        Row(f"tools/reach {name}, never asked before", once * 1e3, "ms", 150),
        Row(
            f"tools/reach, {len(others)} random classes, never asked: median",
            statistics.median(others) * 1e3,
            "ms",
            150,
        ),
        Row(f"tools/reach, {len(others)} random classes, never asked: 9 in 10 below", others[-4] * 1e3, "ms", 0),
        Row(f"tools/reach {name}, asked before", again * 1e3, "ms", 150),
        Row("the interpreter's start alone", bare * 1e3, "ms", 0),
    ]


def _some_classes(tree: Path) -> list[str]:
    """Thirty-one classes of what serves, by name; names that several classes have are left out."""
    found = Counter(_classes(tree / "sglang"))
    return random.Random(31).sample([name for name in _classes(tree / "sglang/srt") if found[name] == 1], 31)


def _classes(folder: Path) -> Iterator[str]:
    for file in sorted(folder.rglob("*.py")):
        yield from re.findall(r"^class (\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)


def _best(action: Callable[[], object], times: int) -> float:
    return min(_times(action, times))


def _times(action: Callable[[], object], times: int) -> list[float]:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        taken.append(time.perf_counter() - start)
    return taken


def _run(command: list[str], ok: tuple[int, ...] = (0,)) -> None:
    done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode not in ok:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {done.stderr}")


def _cpu() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _peak_mb() -> float:
    return max(resource.getrusage(w).ru_maxrss for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024


def run(cache: Path | None) -> None:
    """The part of `nox -s bench`: two releases, one class, and what others need to look at the same tree."""
    print(f"load before it: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    home = cache or cache_dir()
    with tempfile.TemporaryDirectory() as folder, Store.open(home, SGLANG) as store:
        for tag in RELEASES:
            store.ensure(tag)
            store.checkout(tag, Path(folder, tag.name))
        newer, older = (Path(folder, tag.name) for tag in RELEASES)
        for row in measure(newer, older, NAME, "sglang.launch_server"):
            print(row, flush=True)
        for row in [*commands(home, newer, NAME), *peers(newer)]:
            print(row, flush=True)


def peers(tree: Path) -> Iterator[Row]:
    """Wall time of tools that answer part of the question; `nox -s bench` installs them, what is missing is said."""
    yield from _ripgrep(tree)
    yield from _ty(tree)
    for what, command, ok in (
        (
            "ruff F821 (undefined names)",
            ["ruff", "check", "--select", "F821", "--isolated", "--no-cache", "--exit-zero", "-q", str(tree)],
            (0,),
        ),
        ("pyflakes (undefined names, and more)", [sys.executable, "-m", "pyflakes", str(tree)], (0, 1)),
        ("griffe dump (definitions)", ["griffe", "dump", "-s", str(tree), "-o", os.devnull, "sglang"], (0,)),
    ):
        if shutil.which(command[0]):
            yield Row(what, _best(lambda c=command, k=ok: _run(c, k), 1), "s", 0)  # type: ignore[misc]
        else:
            yield Row(f"{what}: not installed", 0, "s", 0)


def _ripgrep(tree: Path) -> Iterator[Row]:
    """Lines with the word: docstrings, imports and annotations among them."""
    if rg := shutil.which("rg"):
        yield Row(f"ripgrep -w {NAME} (text)", _best(lambda: _run([rg, "-w", NAME, str(tree)]), 5) * 1e3, "ms", 0)
    else:
        yield Row("ripgrep: not installed", 0, "ms", 0)


def _ty(tree: Path) -> Iterator[Row]:
    """References as an editor asks for them: every mention, without guards and without who runs it."""
    if ty := shutil.which("ty"):
        path = tree / DEFINED
        line = path.read_text().split(f"class {NAME}")[0].count("\n")
        count, first, again = references([ty, "server"], tree, path, line, len("class "))
        yield Row(f"ty references of {NAME} ({count}), server started", first * 1e3, "ms", 0)
        yield Row(f"ty references of {NAME}, server running", again * 1e3, "ms", 0)
    else:
        yield Row("ty: not installed", 0, "ms", 0)


if __name__ == "__main__":
    for row in measure(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4]):
        print(row)
