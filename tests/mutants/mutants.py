"""Ways to break a good rebase: what upstream does to us, and what goes wrong with our own lines.

Each is a change of the release (`upstream`) or of the patched tree before it is checked (`patched`), and the kinds of
which at least one has to be reported. `dead` are those that leave the program's output as it was until somebody calls
what is broken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Files = dict[str, str]
Change = Callable[[Files], Files]


@dataclass(frozen=True)
class Mutant:
    name: str
    change: Change
    kinds: tuple[str, ...]
    where: str = "upstream"
    dead: bool = False
    missed: str = ""  # why no check sees it


def swap(*pairs: tuple[str, str, str]) -> Change:
    """Replace texts (file, old, new), each of which is there once."""

    def change(files: Files) -> Files:
        made = dict(files)
        for path, old, new in pairs:
            assert made[path].count(old) == 1, (path, old, made[path])
            made[path] = made[path].replace(old, new)
        return made

    return change


def both(*changes: Change) -> Change:
    def change(files: Files) -> Files:
        for each in changes:
            files = each(files)
        return files

    return change


def without(path: str) -> Change:
    return lambda files: {name: text for name, text in files.items() if name != path}


def cut(path: str, start: str, end: str) -> Change:
    """Take out what stands between two texts."""

    def change(files: Files) -> Files:
        text = files[path]
        return files | {path: text[: text.index(start)] + text[text.index(end) :]}

    return change


def added(path: str, text: str) -> Change:
    return lambda files: files | {path: files.get(path, "") + text}


POOL, SERVER, UTIL = "app/pool.py", "app/server.py", "app/util.py"
OURS = "app/ours.py"

MUTANTS = (
    # ---- our own lines, badly carried ----
    Mutant("drop an import", swap((POOL, "from app.ours import lazy, price\n", "")), ("unbound",), "patched"),
    Mutant(
        "duplicate the method",
        swap((POOL, "    def full(self):", "    def thin(self, keep):\n        return keep\n\n    def full(self):")),
        ("duplicate-definition",),
        "patched",
    ),
    Mutant(
        "move a hunk to the twin",
        swap(
            (POOL, "        count = price(count, self.ratio)\n        self.saved += min(room, count)\n", ""),
            (
                POOL,
                "        return self.free[:count]\n\n\nPOOLS",
                "        count = price(count, self.ratio)\n        return self.free[:count]\n\n\nPOOLS",
            ),
        ),
        ("misplaced",),
        "patched",
    ),
    Mutant("drop a parameter that the body uses", swap((POOL, ", bits: int = 8", "")), ("unbound",), "patched"),
    Mutant(
        "take a hunk out of its branch",
        swap((SERVER, "            self.pool.thin(2)\n", "        self.pool.thin(2)\n")),
        ("misplaced",),
        "patched",
    ),
    Mutant(
        "lose part of a body",
        swap((POOL, "        self.saved += min(room, count)\n", "")),
        ("misplaced",),
        "patched",
    ),
    Mutant(
        "lose the assignment that the rest needs",
        swap((POOL, "        self.saved = 0\n", "")),
        ("unbound", "misplaced"),
        "patched",
    ),
    Mutant("lose a new file's text", lambda files: files | {OURS: ""}, ("unbound", "api-gone", "misplaced"), "patched"),
    Mutant(
        "cut a file off",
        swap((POOL, "        self.bits = bits\n", "        self.bits = (\n")),
        ("unread", "misplaced"),
        "patched",
    ),
    Mutant(
        "put our line before what it uses",
        swap(
            (POOL, "        room = len(self.free)\n", ""),
            (POOL, "        taken = super", "        room = len(self.free)\n        taken = super"),
        ),
        ("unbound-before-assignment",),
        "patched",
    ),
    # ---- names that upstream takes away ----
    Mutant(
        "rename an attribute",
        swap(
            (POOL, "        self.ratio = 0.5\n", "        self.share = 0.5\n"), (POOL, "self.ratio >", "self.share >")
        ),
        ("unbound", "api-gone"),
    ),
    Mutant(
        "rename a method",
        swap(
            (POOL, "def pages(self", "def page_count(self"), (POOL, "count = self.pages(", "count = self.page_count(")
        ),
        ("api-gone", "api-moved", "unbound"),
    ),
    Mutant(
        "rename a function",
        swap((UTIL, "def clamp(", "def limited(")),
        ("api-gone", "api-moved"),
    ),
    Mutant(
        "move a function to another module",
        both(
            swap((UTIL, "def clamp(value, low, high):\n    return max(low, min(value, high))\n\n\n", "")),
            added("app/bounds.py", "def clamp(value, low, high):\n    return max(low, min(value, high))\n"),
        ),
        ("api-moved",),
    ),
    Mutant("delete a module", without("app/state.py"), ("api-gone", "api-moved")),
    Mutant("rename an enum's member", swap(("app/modes.py", "LAZY =", "DEFERRED =")), ("value-renamed", "api-gone")),
    Mutant(
        "change the base class",
        swap(
            (
                POOL,
                "class PagedPool(Base):",
                "class Small:\n    def __init__(self, size):\n        self.size = size\n"
                "        self.free = list(range(size))\n        self.ratio = 0.5\n\n"
                "    def alloc(self, count, strict=False):\n        return self.free[:count]"
                "\n\n\nclass PagedPool(Small):",
            ),
            (POOL, "        count = self.pages(count)\n", "        count = rounded(count)\n"),
        ),
        ("api-gone", "unbound"),
    ),
    Mutant(
        "import for type checkers only",
        swap(
            (
                SERVER,
                "from app.util import report\n",
                "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from app.util import report\n",
            ),
            (SERVER, 'report("full")', 'print("info", "full")'),
            (SERVER, 'report("collect")', 'print("info", "collect")'),
            (SERVER, 'report(f"finished', 'print("info", f"finished'),
        ),
        ("type-checking-only",),
    ),
    Mutant(
        "rename the base class",
        lambda files: {p: t.replace("Base", "BasePool") for p, t in files.items()},
        ("api-gone", "api-moved"),
    ),
    Mutant(
        "change a constant", swap(("app/state.py", "limit = 64", "limit = 2")), ("value-renamed", "default-flipped")
    ),
    Mutant(
        "change a default that our call leaves out",
        swap((UTIL, 'level="info"', 'level="quiet"')),
        ("signature-changed", "default-flipped"),
    ),
    Mutant(
        "delete the function",
        swap(
            (
                SERVER,
                "    def collect(self, event):\n        batch = [event]\n        self.last = event\n"
                '        report("collect")\n        return batch\n\n',
                "",
            ),
            (SERVER, "self.collect(event)", "[event]"),
        ),
        ("missing",),
    ),
    Mutant(
        "define our name itself",
        swap((POOL, "POOLS = {", "def price(count):\n    return count\n\n\nPOOLS = {")),
        ("conflict", "duplicate-definition"),
    ),
    Mutant(
        "delete the class",
        both(cut(POOL, "class PagedPool", "class FlatPool"), swap((POOL, '"paged": PagedPool', '"paged": FlatPool'))),
        ("missing",),
    ),
    # ---- signatures ----
    Mutant(
        "a function's signature grows",
        swap((UTIL, "def clamp(value, low, high):", "def clamp(value, low, high, step):")),
        ("signature-changed",),
    ),
    Mutant(
        "rename a keyword",
        swap(
            (
                UTIL,
                'def report(event, level="info"):\n    print(level',
                'def report(event, tag="info"):\n    print(tag',
            ),
            (POOL, 'report("alloc", level="debug")', 'report("alloc", tag="debug")'),
        ),
        ("signature-changed",),
    ),
    Mutant(
        "the overridden method grows",
        swap(
            (
                POOL,
                "    def alloc(self, count, strict=False):\n        return self.free[:count]\n\n\nclass PagedPool",
                "    def alloc(self, count, strict=False, *, pin):\n        return self.free[:count]"
                "\n\n\nclass PagedPool",
            ),
            (POOL, "super().alloc(count, strict)", "super().alloc(count, strict, pin=0)"),
        ),
        ("signature-changed",),
        dead=True,
    ),
    Mutant(
        "reorder the parameters",
        swap((UTIL, "def clamp(value, low, high):", "def clamp(value, high, low):")),
        ("signature-changed",),
    ),
    Mutant(
        "make a function a coroutine",
        swap((UTIL, "def clamp(", "async def clamp(")),
        ("signature-changed",),
    ),
    Mutant(
        "make a method a property",
        swap(
            (
                POOL,
                "    def pages(self, count):\n        return rounded(count)",
                "    @property\n    def pages(self):\n        return rounded(1)",
            ),
            (POOL, "count = self.pages(count)", "count = self.pages"),
        ),
        ("signature-changed",),
    ),
    # ---- what is built, and what runs ----
    Mutant(
        "build another class",
        swap(
            (POOL, "pool = POOLS[kind](config.size)", "pool = FlatPool(config.size)"),
            (
                POOL,
                "class FlatPool(Base):",
                "class FlatPool(Base):\n    def full(self):\n        return False\n\n    def thin(self, keep):\n"
                "        return keep\n",
            ),
        ),
        ("unconstructed", "bypassed"),
    ),
    Mutant(
        "flip the default",
        swap(
            (POOL, '"APP_POOL", "paged"', '"APP_POOL", "flat"'),
            ("app/config.py", '"APP_POOL", "paged"', '"APP_POOL", "flat"'),
            (
                POOL,
                "class FlatPool(Base):",
                "class FlatPool(Base):\n    def full(self):\n        return False\n\n    def thin(self, keep):\n"
                "        return keep\n",
            ),
        ),
        ("default-flipped", "bypassed"),
    ),
    Mutant(
        "register another implementation",
        both(
            swap((POOL, '"paged": PagedPool', '"paged": FastPool')),
            swap(
                (
                    POOL,
                    "POOLS = {",
                    "class FastPool(FlatPool):\n    def full(self):\n        return False\n\n"
                    "    def thin(self, keep):\n        return keep\n\n\nPOOLS = {",
                )
            ),
        ),
        ("bypassed", "default-flipped", "unconstructed"),
    ),
    Mutant(
        "a subclass skips our constructor",
        both(
            swap((POOL, '"paged": PagedPool', '"paged": FastPool')),
            swap(
                (
                    POOL,
                    "POOLS = {",
                    "class FastPool(PagedPool):\n    def __init__(self, size):\n        self.size = size\n"
                    "        self.mode = Mode.EAGER\n        self.ratio = 0.5\n        self.free = list(range(size))"
                    "\n\n\n"
                    "POOLS = {",
                )
            ),
        ),
        ("subclass-only", "bypassed", "default-flipped"),
    ),
    Mutant(
        "stop calling the function",
        swap((SERVER, "batch = self.collect(event)", "batch = [event]")),
        ("uncalled", "builder-uncalled"),
    ),
    Mutant(
        "return before our lines",
        swap(
            (
                SERVER,
                "        batch = [event]\n",
                "        return [event]\n        batch = [event]\n",
            )
        ),
        ("misplaced", "uncalled", "ruled-out", "unreachable"),
    ),
    Mutant(
        "swallow what our lines raise",
        swap(
            (
                SERVER,
                "        batch = [event]\n",
                "        try:\n            batch = [event]\n            1 / 0\n        except Exception:\n"
                "            batch = []\n",
            ),
        ),
        ("misplaced", "conflict"),
    ),
    Mutant(
        "rebind what we imported by value",
        swap(
            (
                "app/state.py",
                "def usable():",
                "def set_limit(value):\n    global limit\n    limit = value\n\n\ndef usable():",
            ),
            (SERVER, "        self.config = config\n", "        self.config = config\n        set_limit(2)\n"),
            (SERVER, "from app.util import report\n", "from app.state import set_limit\nfrom app.util import report\n"),
        ),
        ("stale-from-import",),
        dead=True,
    ),
    Mutant(
        "define the class again below",
        swap(
            (POOL, "POOLS = {", "class PagedPool(FlatPool):\n    def full(self):\n        return False\n\n\nPOOLS = {")
        ),
        ("duplicate-definition", "unconstructed", "bypassed", "ambiguous"),
    ),
    Mutant(
        "replace the function by another after its definition",
        swap((UTIL, "def rounded(", "clamp = max\n\n\ndef rounded(")),
        ("api-gone", "signature-changed", "value-renamed"),
    ),
    Mutant(
        "return something else",
        swap((UTIL, "    return max(low, min(value, high))", "    return max(low, min(value, high)) + 1")),
        (),
        missed="the signature is the same; what a function computes is for tests to hold, not for reading",
    ),
)
