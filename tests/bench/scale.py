"""How time and memory grow with the series: a fork of other people's, and synthetic hunks over synthetic files.

The fork's hunks are carried as a command with the base's facts known, as after a first carry.

Each size is a git upstream of its own with two releases; two thirds of the files change between them, some beside our
lines. `import` and `rebase` (placing, proof and all checks) run as commands, in processes of their own, and the
exponents of growth are fitted to CPU time and memory.
"""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from tests.backtest.carried import rebased, series_of
from tests.backtest.forks import FORKS
from tests.backtest.run import prepared
from tests.bench import measured

from rebasekit.console import Console as Terminal
from rebasekit.upstream.cache import cache_dir

SIZES = (250, 500, 1000, 2000)
FILES_PER_HUNK = 2.5
STEEP = 1.25  # an exponent above it grows faster than its input


@dataclass(frozen=True)
class Measured:
    """One command on one size; `left` are hunks that need a person, which only a rebase has."""

    hunks: int
    command: str
    seconds: float
    cpu: float
    megabytes: float
    code: int


def run(cache: Path | None, sizes: Sequence[int] = SIZES) -> None:
    """The fork comes out of `cache`; the synthetic upstreams are nobody's releases and stay out of it."""
    console = Terminal()
    with prepared(FORKS[0], cache or cache_dir(), console) as fork:
        hunks = len(series_of(fork.space).hunks())
        rebased(fork.space, fork.base)
        ran = rebased(fork.space, fork.targets[0])
        console.close()
        print(f"{FORKS[0].name} to {fork.targets[0]}, {hunks} hunks, checks included: "
              f"{ran.seconds:.1f} s ({ran.cpu:.1f} s of CPU), {ran.megabytes:.0f} MB")  # fmt: skip
    grown(sizes)


def grown(sizes: Sequence[int]) -> None:
    """Each size measured, and the exponents."""
    found: list[Measured] = []
    for size in sizes:
        print(f"{size} hunks over {int(size * FILES_PER_HUNK)} files …", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="rebasekit-scale-") as name:
            found += measure(Path(name), size)
    table = Table(title="growth with the series")
    for column in ("hunks", "command", "s", "CPU s", "MB", "exit"):
        table.add_column(column, justify="right")
    for each in sorted(found, key=lambda m: (m.command, m.hunks)):
        cells = (f"{each.seconds:.1f}", f"{each.cpu:.1f}", f"{each.megabytes:.0f}", str(each.code))
        table.add_row(str(each.hunks), each.command, *cells)
    Console().print(table)
    for command in dict.fromkeys(m.command for m in found):
        mine = [m for m in found if m.command == command]
        for what, values in (("CPU time", [m.cpu for m in mine]), ("memory", [m.megabytes for m in mine])):
            if len(mine) > 1:
                power = exponent([m.hunks for m in mine], values)
                verdict = "FASTER THAN ITS INPUT" if power > STEEP else "no faster than its input"
                print(f"{command}: {what} grows with hunks to the power of {power:.2f}: {verdict}")


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The slope of a line through the logarithms."""
    xs, ys = [math.log(s) for s in sizes], [math.log(v) for v in values]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum((a - x) ** 2 for a in xs)


def measure(folder: Path, hunks: int) -> list[Measured]:
    """Make an upstream and a diff, import the diff, and carry it."""
    upstream, project, diff = folder / "upstream", folder / "project", folder / "ours.diff"
    make_upstream(upstream, hunks)
    make_diff(upstream, diff, hunks)
    (project / "patchset").mkdir(parents=True)
    series = f'base = "v1.0.0"\npatches = []\nentries = ["pkg.m0"]\n\n[upstream]\nkind = "git"\nurl = "{upstream}"\n'
    (project / "patchset" / "series.toml").write_text(series)
    common = ["--cache", str(folder / "cache"), "-C", str(project), "-q"]
    runs = [
        ("import", ["import", str(diff), "--onto", "v1.0.0", "--as", "ours"]),
        ("rebase, first", ["rebase", "v1.1.0", "--json", os.devnull]),
        ("rebase, again", ["rebase", "v1.1.0", "--json", os.devnull]),
    ]
    return [timed(hunks, label, [*common, *arguments]) for label, arguments in runs]


def timed(hunks: int, label: str, arguments: Sequence[str]) -> Measured:
    """Run the command line in a process of its own."""
    used = measured.rebasekit(arguments)
    if used.code not in (0, 1, 3):
        raise SystemExit(f"rebasekit {' '.join(arguments)} ended with {used.code}: {used.told}")
    return Measured(hunks, label, used.seconds, used.cpu, used.megabytes, used.code)


def make_upstream(folder: Path, hunks: int) -> None:
    """A repository with the tags v1.0.0 and v1.1.0."""
    count = int(hunks * FILES_PER_HUNK)
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    old = [module(number, random.Random(number)) for number in range(count)]
    new = [moved_on(text, random.Random(~number)) if number % 3 else text for number, text in enumerate(old)]
    stream = []
    for mark, (tag, texts) in enumerate((("v1.0.0", old), ("v1.1.0", new)), 1):
        date = 1_700_000_000 + mark
        stream.append(f"commit refs/heads/main\nmark :{mark}\ncommitter bench <bench@example.invalid> {date} +0000\n"
                      f"data {len(tag)}\n{tag}\n")  # fmt: skip
        for number, text in enumerate(texts):
            stream.append(f"M 100644 inline {path(number)}\ndata {len(text.encode())}\n{text}\n")
        stream.append(f"reset refs/tags/{tag}\nfrom :{mark}\n\n")
    git(folder, "fast-import", "--quiet", data="".join(stream).encode())


def make_diff(upstream: Path, diff: Path, hunks: int) -> None:
    """Ours: a statement behind another, an argument, or a new function, each in a file of its own."""
    git(upstream, "checkout", "-q", "v1.0.0")
    for number in range(hunks):
        file = upstream / path(number)
        lines = file.read_text().split("\n")
        kind = number % 3
        if kind == 0:
            at = next(i for i, line in enumerate(lines) if line.startswith("        total = "))
            lines.insert(at + 1, f"        total = total + ours_{number}(total)")
            lines.insert(0, f"def ours_{number}(value):\n    return value * {number}\n\n")
        elif kind == 1:
            at = lines.index("        self.limit = limit")
            lines[at] = f"        self.limit = limit or {number}"
        else:
            at = next(i for i, line in enumerate(lines) if line.startswith("def helper"))
            lines[at:at] = [f"def added_{number}(x):", "    return helper_0(x, 1)", "", ""]
        file.write_text("\n".join(lines))
    diff.write_bytes(git(upstream, "diff"))
    git(upstream, "checkout", "-q", "-f", "main")


def path(number: int) -> str:
    return f"pkg/g{number // 100}/m{number}.py"


def module(number: int, dice: random.Random) -> str:
    """A class with some methods and functions beside it, some hundred lines."""
    head = f'"""Module {number}."""\n\nimport math\n\n\nclass Pool{number}:\n'
    parts = [head, "    def __init__(self, limit, size=8):\n        self.limit = limit\n        self.size = size\n"]
    for method in range(dice.randint(3, 8)):
        body = "".join(f"            total += x * {dice.randint(1, 99)}\n" for _ in range(dice.randint(1, 8)))
        parts.append(f"\n    def step_{method}(self, items):\n        total = self.limit\n        for x in items:\n")
        parts.append(f"{body}        return math.floor(total)\n")
    for helper in range(dice.randint(2, 5)):
        parts.append(f"\n\ndef helper_{helper}(a, b):\n    value = a * {dice.randint(2, 9)}\n    return value + b\n")
    return "".join(parts)


def moved_on(text: str, dice: random.Random) -> str:
    """The next release's text: new lines, renamed values, a method more."""
    lines = text.split("\n")
    for _ in range(dice.randint(1, 6)):
        at = dice.choice([i for i, line in enumerate(lines) if line.startswith("            total +=")])
        lines[at] = f"            total += x * {dice.randint(100, 999)}"
    if dice.random() < 0.3:
        at = next(i for i, line in enumerate(lines) if line.startswith("def helper"))
        lines[at:at] = ["def fresh(a):", "    return a", "", ""]
    if dice.random() < 0.2:
        lines = [line.replace("value", "result") for line in lines]
    return "\n".join(lines)


def git(folder: Path, *args: str, data: bytes | None = None) -> bytes:
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(["git", *args], cwd=folder, env=env, input=data, capture_output=True, check=True).stdout
