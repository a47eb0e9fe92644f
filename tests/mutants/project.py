"""A small server with a patch on it that touches everything a patch can rely on, and a release that changes nothing."""

from __future__ import annotations

import textwrap
from pathlib import Path

from harness import Case, patch_toml

SERIES = """
base = "v1.0.0"
patches = ["bits"]
entries = ["app.main"]

[upstream]
kind = "git"
url = "@UPSTREAM@"
"""


def text(source: str) -> str:
    return textwrap.dedent(source).lstrip("\n")


TREE = {
    "app/__init__.py": "",
    "app/main.py": text(
        """
        from app.config import parse
        from app.server import Server


        def main():
            server = Server(parse())
            server.run()
            return server


        if __name__ == "__main__":
            main()
        """
    ),
    "app/config.py": text(
        """
        import os
        from dataclasses import dataclass


        @dataclass
        class Config:
            size: int = 16
            kind: str = "paged"
            deep: bool = False


        def parse():
            return Config(kind=os.environ.get("APP_POOL", "paged"))
        """
    ),
    "app/util.py": text(
        """
        def clamp(value, low, high):
            return max(low, min(value, high))


        def rounded(value, step=8):
            return -(-value // step) * step


        def report(event, level="info"):
            print(level, event)
        """
    ),
    "app/modes.py": text(
        """
        import enum


        class Mode(enum.Enum):
            EAGER = "eager"
            LAZY = "lazy"
        """
    ),
    "app/state.py": text(
        """
        limit = 64


        def usable():
            return limit // 2
        """
    ),
    "app/pool.py": text(
        """
        import os

        from app.modes import Mode
        from app.util import report, rounded


        class Base:
            def __init__(self, size):
                self.size = size
                self.ratio = 0.5
                self.free = list(range(size))

            def pages(self, count):
                return rounded(count)

            def alloc(self, count, strict=False):
                return self.free[:count]


        class PagedPool(Base):
            def __init__(self, size, mode=Mode.EAGER):
                super().__init__(size)
                self.mode = mode

            def alloc(self, count, strict=False):
                count = self.pages(count)
                room = len(self.free)
                taken = super().alloc(count, strict)
                report("alloc")
                return taken

            def full(self):
                return self.ratio > 0.4


        class FlatPool(Base):
            def alloc(self, count, strict=False):
                return self.free[:count]


        POOLS = {"paged": PagedPool, "flat": FlatPool}


        def build(config):
            kind = os.environ.get("APP_POOL", "paged")
            pool = POOLS[kind](config.size)
            return pool
        """
    ),
    "app/server.py": text(
        """
        from app.pool import build
        from app.util import report


        class Server:
            def __init__(self, config):
                self.config = config
                self.pool = build(config)
                self.last = 0

            def run(self):
                for event in range(3):
                    self.step(event)

            def step(self, event):
                batch = self.collect(event)
                if self.pool.full():
                    self.last = event
                    report("full")
                self.finish(batch)

            def collect(self, event):
                batch = [event]
                self.last = event
                report("collect")
                return batch

            def finish(self, batch):
                work = self.pool.alloc(len(batch))
                report(f"finish {len(work)}")
                return work
        """
    ),
}

OURS = """
from app.modes import Mode
from app.state import limit
from app.util import clamp, report


def price(count, ratio):
    report("price", level="debug")
    return clamp(int(count * ratio), 1, limit)


def lazy(mode):
    return mode is Mode.LAZY
"""
NARROW = """
from app.pool import Base


class Narrow(Base):
    def alloc(self, count, strict=False):
        return super().alloc(count, strict)[:1]
"""


def hunk(**keys: object) -> str:
    return "\n".join(f"{k} = {v!r}" if isinstance(v, (int, list)) else f"{k} = '''{v}'''" for k, v in keys.items())


POOL, SERVER = "app/pool.py", "app/server.py"
HUNKS = (
    hunk(id="module", file="app/ours.py", place="new-file", lines=OURS.lstrip()),
    hunk(id="narrow", file="app/narrow.py", place="new-file", lines=NARROW.lstrip()),
    hunk(id="imports", file=POOL, place="import", lines="from app.ours import lazy, price"),
    hunk(id="takes-bits", file=POOL, scope="PagedPool.__init__", place="parameter", lines="bits: int = 8"),
    hunk(
        id="keeps-bits",
        file=POOL,
        scope="PagedPool.__init__",
        place="last",
        lines="self.bits = bits\nself.saved = 0",
        needs=["constructed app.pool.PagedPool"],
        relies=['default APP_POOL == "paged"', 'registry POOLS["paged"] == PagedPool'],
    ),
    hunk(
        id="count",
        file=POOL,
        scope="PagedPool.alloc",
        place="after",
        at="room = ...",
        lines="count = price(count, self.ratio)\nself.saved += min(room, count)",
    ),
    hunk(
        id="thin",
        file=POOL,
        scope="PagedPool",
        place="after",
        at="def alloc(...): ...",
        lines="\ndef thin(self, keep):\n    keep = self.pages(keep * self.bits)\n"
        "    return self.alloc(keep, strict=lazy(self.mode))",
    ),
    hunk(
        id="when-full",
        file=SERVER,
        scope="Server.step",
        place="first",
        at="if self.pool.full(): ...",
        lines="self.pool.thin(2)",
    ),
    hunk(
        id="note",
        file=SERVER,
        scope="Server.collect",
        place="after",
        at="batch = [event]",
        lines='report("ours")\nbatch.append(event)',
    ),
)

# what a good release looks like: it changes around us, and nothing that we rely on
GOOD = TREE | {
    "app/pool.py": TREE["app/pool.py"].replace('report("alloc")', 'report("alloc", level="debug")'),
    "app/server.py": TREE["app/server.py"].replace('report(f"finish', 'report(f"finished'),
    "app/new.py": "LATER = True\n",
}


def project(root: Path) -> Case:
    upstream = {"v1.0.0": TREE, "v1.1.0": GOOD}
    return Case(root, upstream, {"series.toml": SERIES, "bits/patch.toml": patch_toml(*HUNKS)})
