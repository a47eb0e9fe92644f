# ruff: noqa: E501 - one source per line reads better than one line per source line
"""Every way in which a class gets built, each in its own small tree, beside its twin that must not count."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from rebasekit.checks.reach import ReachReport, reach
from rebasekit.facts.query import open_facts
from rebasekit.facts.settings import Settings
from rebasekit.facts.source import DirectoryTree

ENTRY = "from app.work import main\n\nif __name__ == '__main__':\n    main()\n"
POOL = (
    "class Pool:\n    def __init__(self, size=0):\n        self.size = size\n\n    def read(self):\n        return 1\n"
)


def ask(root: Path, files: Mapping[str, str], name: str, **assume: object) -> ReachReport:
    """Reach for `name` in a tree made of `files`, with `app.serve` as the entry point."""
    whole = {"app/serve.py": ENTRY, "app/pool.py": POOL, **files}
    for path, text in whole.items():
        target = root / "tree" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(dedent(text), encoding="utf-8")
    facts = open_facts(root / "cache", DirectoryTree(root / "tree"), Settings(("app.serve",)))
    report = reach(facts, name, tag="v1", assume=assume)
    assert isinstance(report, ReachReport), report
    return report


def places(report: ReachReport, liveness: str = "serving") -> list[tuple[str, int]]:
    return [(site.file.removeprefix("app/"), site.line) for site in report.sites if site.liveness == liveness]


# form: (source of app/work.py, line of the site, a word of `how`)
FORMS = {
    "direct": ("from app.pool import Pool\ndef main():\n    return Pool(1)\n", 3, "direct"),
    "module attribute": ("import app.pool\ndef main():\n    return app.pool.Pool(1)\n", 3, "direct"),
    "import alias": ("from app.pool import Pool as P\ndef main():\n    return P(1)\n", 3, "alias"),
    "lazy import": ("def main():\n    from app.pool import Pool\n    return Pool(1)\n", 3, "lazy import"),
    "relative import": ("from .pool import Pool\ndef main():\n    return Pool(1)\n", 3, "direct"),
    "conditional expression": (
        "from app.pool import Pool\ndef main():\n    kind = Pool if open('x') else list\n    return kind(1)\n",
        3, "conditional expression",
    ),
    "local name": ("from app.pool import Pool\ndef main():\n    kind = Pool\n    return kind(1)\n", 3, "variable"),
    "walrus": ("from app.pool import Pool\ndef main():\n    if kind := Pool:\n        return kind(1)\n", 3, "variable"),
    "keyword argument": (
        "from app.pool import Pool\ndef build(kind=None):\n    return kind(1)\ndef main():\n    return build(kind=Pool)\n",
        5, "argument",
    ),
    "positional argument": (
        "from app.pool import Pool\ndef build(size, kind):\n    return kind(size)\ndef main():\n    return build(1, Pool)\n",
        5, "argument",
    ),
    "argument of a method": (
        "from app.pool import Pool\nclass B:\n    def make(self, kind):\n        return kind(1)\n"
        "def main():\n    return B().make(Pool)\n", 6, "argument",
    ),
    "argument through super": (
        "from app.pool import Pool\nclass A:\n    def __init__(self, kind):\n        self.p = kind(1)\n"
        "class B(A):\n    def __init__(self):\n        super().__init__(kind=Pool)\ndef main():\n    return B()\n",
        7, "argument",
    ),
    "default": (
        "from app.pool import Pool\ndef build(kind=Pool):\n    return kind(1)\ndef main():\n    return build()\n",
        3, "default",
    ),
    "class attribute": (
        "from app.pool import Pool\nclass H:\n    kind = Pool\n    def make(self):\n        return self.kind(1)\n"
        "def main():\n    return H().make()\n", 5, "variable",
    ),
    "instance attribute": (
        "from app.pool import Pool\nclass H:\n    def __init__(self):\n        self.kind = Pool\n    def make(self):\n"
        "        return self.kind(1)\ndef main():\n    return H().make()\n", 4, "attribute",
    ),
    "dataclass field": (
        "from dataclasses import dataclass\nfrom app.pool import Pool\n@dataclass\nclass Spec:\n    kind: type\n"
        "def make(spec: Spec):\n    return spec.kind(1)\ndef main():\n    return make(Spec(Pool))\n", 9, "argument",
    ),
    "dict": (
        "from app.pool import Pool\nTABLE = {'p': Pool}\ndef main(k='p'):\n    return TABLE[k](1)\n", 4, "registry",
    ),
    "dict get": (
        "from app.pool import Pool\nTABLE = {'p': Pool}\ndef main(k='p'):\n    return TABLE.get(k)(1)\n", 4, "registry",
    ),
    "dict copied into a local": (
        "from app.pool import Pool\nTABLE = {'p': Pool}\ndef main(k='p', more=None):\n    table = TABLE\n"
        "    if more:\n        table = {**TABLE, **more}\n    return [table[k](i) for i in k]\n", 7, "registry",
    ),
    "enum keys": (
        "from enum import Enum\nfrom app.pool import Pool\nclass K(Enum):\n    A = 1\nTABLE = {K.A: Pool}\n"
        "def main(k=K.A):\n    return TABLE[k](1)\n", 7, "registry",
    ),
    "list": (
        "from app.pool import Pool\nKINDS = [Pool]\ndef main():\n    for kind in KINDS:\n        kind(1)\n", 5, "registry",
    ),
    "subscript store": (
        "from app.pool import Pool\nTABLE = {}\nTABLE['p'] = Pool\ndef main(k='p'):\n    return TABLE[k](1)\n",
        5, "registry",
    ),
    "append": (
        "from app.pool import Pool\nKINDS = []\nKINDS.append(Pool)\ndef main():\n    return KINDS[0](1)\n", 5, "registry",
    ),
    "string registry": (
        "from app.pool import Pool\nTABLE = {}\ndef register(name, kind):\n    TABLE[name] = kind\n"
        "def get(name):\n    return TABLE.get(name)\nregister('p', Pool)\ndef main(k='p'):\n    kind = get(k)\n"
        "    return kind(1)\n", 10, "argument",
    ),
    "returned": (
        "from app.pool import Pool\ndef choose():\n    return Pool\ndef main():\n    return choose()(1)\n", 3, "returned",
    ),
    "partial": (
        "import functools\nfrom app.pool import Pool\ndef main():\n    return functools.partial(Pool, 1)()\n", 4, "partial",
    ),
    "__new__": ("from app.pool import Pool\ndef main():\n    return Pool.__new__(Pool)\n", 3, "__new__"),
    "table of a class, get": (
        "from app.pool import Pool\nclass H:\n    TABLE = {'a': Pool}\n    def make(self, k):\n"
        "        kind = self.TABLE.get(k)\n        return kind(1)\ndef main(k='a'):\n    return H().make(k)\n",
        6, "registry",
    ),
    "table of a class, keys listed too": (
        "from app.pool import Pool\nclass H:\n    TABLE = {'a': Pool}\n    def make(self, k):\n"
        "        return self.TABLE[k](1)\ndef main(k='a'):\n    print(list(H.TABLE))\n    return H().make(k)\n",
        5, "registry",
    ),
    "table of functions that return it": (
        "from app.pool import Pool\nTABLE = {}\ndef register(name):\n    def put(fn):\n        TABLE[name] = fn\n"
        "        return fn\n    return put\n@register('a')\ndef make_a():\n    return Pool\ndef pick(k):\n"
        "    kind = TABLE[k]()\n    return kind\ndef main(k='a'):\n    kind = pick(k)\n    return kind(1)\n",
        10, "returned",
    ),
    "function handed on that returns it": (
        "from app.pool import Pool\ndef make():\n    return Pool\ndef build(choose):\n    return choose()(1)\n"
        "def main():\n    return build(make)\n", 3, "returned",
    ),
    "table with a default": (
        "from collections import defaultdict\nfrom app.pool import Pool\ndef main(k='a'):\n"
        "    table = defaultdict(list, {'a': Pool})\n    kind = table[k]\n    return kind(1)\n", 4, "argument",
    ),
    "table of keywords": (
        "from app.pool import Pool\nTABLE = dict(a=Pool)\ndef main(k='a'):\n    return TABLE[k](1)\n", 4, "argument",
    ),
    "default factory": (
        "from collections import defaultdict\nfrom app.pool import Pool\ndef main(k='a'):\n"
        "    return defaultdict(Pool)[k]\n", 4, "default factory",
    ),
    "function that a table calls for a missing key": (
        "from collections import defaultdict\nfrom app.pool import Pool\ndef choose():\n    return Pool\n"
        "def main(k='a'):\n    kind = defaultdict(choose, {})[k]\n    return kind(1)\n", 4, "returned",
    ),
    "tuple assignment": (
        "from app.pool import Pool\ndef main():\n    kind, n = Pool, len\n    return kind(1)\n", 3, "variable",
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_construction_is_found(form: str, tmp_path: Path) -> None:
    source, line, how = FORMS[form]
    report = ask(tmp_path, {"app/work.py": source}, "Pool")
    assert places(report) == [("work.py", line)]
    assert how in report.sites[0].how
    assert report.verdict == "live"


# What mentions the class without building it.
MENTIONS = {
    "docstring": 'def main():\n    """Wraps (``Pool(1)``)."""\n    return 1\n',  # case 23
    "comment and string": "def main():\n    # Pool(1)\n    return 'Pool(1)'\n",
    "isinstance": "from app.pool import Pool\ndef main(x=0):\n    return isinstance(x, Pool)\n",
    "isinstance of several": "from app.pool import Pool\ndef main(x=0):\n    return isinstance(x, (Pool, int))\n",
    "type test": "from app.pool import Pool\ndef main(x=0):\n    return type(x) is Pool\n",
    "annotation": "from app.pool import Pool\ndef main(x: Pool = None) -> Pool:\n    y: Pool = x\n    return y\n",
    "except": "from app.pool import Pool\ndef main():\n    try:\n        return 1\n    except Pool:\n        return 2\n",
    "static use": "from app.pool import Pool\ndef main():\n    return Pool.read(None)\n",
    "name of another class": "class HiPool:\n    pass\ndef main():\n    return HiPool()\n",
    "typing only": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from app.pool import Pool\ndef main():\n    return 1\n",
    "replaced before the call": (
        "from app.pool import Pool\ndef main(a=0):\n    kind = Pool\n    if a:\n        kind = list\n    else:\n"
        "        kind = dict\n    return kind()\n"
    ),
    "keys of a table": "from app.pool import Pool\nTABLE = {Pool: 1}\ndef main():\n    return TABLE[int]\n",
}  # fmt: skip


@pytest.mark.parametrize("form", MENTIONS)
def test_mention_is_no_construction(form: str, tmp_path: Path) -> None:
    report = ask(tmp_path, {"app/work.py": MENTIONS[form]}, "Pool")
    assert report.sites == ()
    assert report.verdict == "unconstructed"


def test_classes_found_in_the_modules_of_a_package(tmp_path: Path) -> None:
    """A class that serving's scan picks by its base is built where the table is asked; one elsewhere is not."""
    scan = """
        import importlib, inspect, pkgutil
        from app.base import Base
        TABLE = {}

        def load(package):
            root = importlib.import_module(package)
            for _, name, _ in pkgutil.iter_modules(root.__path__, package + "."):
                members = inspect.getmembers(importlib.import_module(name), inspect.isclass)
                for cls in [member for _, member in members if issubclass(member, Base)]:
                    TABLE[cls.kind] = cls

        def main(kind="a"):
            load("app.kinds")
            return TABLE[kind](1)
    """
    files = {
        "app/work.py": scan,
        "app/base.py": "class Base:\n    kind = ''\n",
        "app/kinds/a.py": "from app.base import Base\nclass KindA(Base):\n    kind = 'a'\n"
        "    def __init__(self, size):\n        self.part = Part()\nclass Part:\n    pass\n",
        "app/kinds/b.py": "class Loner:\n    pass\n",
        "app/tests/c.py": "from app.base import Base\nclass KindC(Base):\n    kind = 'c'\n",
    }
    found = ask(tmp_path / "a", files, "KindA")
    assert (found.verdict, places(found)) == ("live", [("work.py", 15)])
    assert ask(tmp_path / "p", files, "Part").verdict == "live"  # what a found class builds is built
    assert ask(tmp_path / "b", files, "Loner").verdict == "unconstructed"
    assert ask(tmp_path / "c", files, "KindC").verdict == "unconstructed"


def test_a_factory_of_a_class_from_a_table(tmp_path: Path) -> None:
    """Both the call and the construction in the factory are shown; a method that builds nothing is none."""
    files = {
        "app/kinds.py": "class Kind:\n    @classmethod\n    def make(cls):\n        return cls()\n"
        "    @classmethod\n    def names(cls):\n        return []\n",
        "app/work.py": "from app.kinds import Kind\nTABLE = {'a': Kind}\ndef main(k='a'):\n"
        "    kind = TABLE[k]\n    kind.names()\n    return kind.make()\n",
    }
    report = ask(tmp_path, files, "Kind")
    assert (report.verdict, places(report)) == ("live", [("kinds.py", 4), ("work.py", 6)])


def test_a_factory_that_hands_its_class_on(tmp_path: Path) -> None:
    """The class may be replaced on the way; others that go the same way are not built there."""
    files = {
        "app/kinds.py": "def chosen(default):\n    return default\nclass Kind:\n    @classmethod\n    def make(cls):\n"
        "        kind = chosen(cls)\n        return kind()\nclass Other:\n    @classmethod\n    def make(cls):\n"
        "        kind = chosen(cls)\n        return kind()\n",
        "app/work.py": "from app.kinds import Kind\ndef main():\n    return Kind.make()\n",
    }
    report = ask(tmp_path / "a", files, "Kind")
    assert (report.verdict, places(report)) == ("live", [("kinds.py", 7), ("work.py", 3)])
    assert ask(tmp_path / "b", files, "Other").verdict != "live"


def test_a_scan_of_one_package_builds_nothing_of_another(tmp_path: Path) -> None:
    scan = """
        import importlib, pkgutil
        def load():
            package = "app.kinds"
            for _, name, _ in pkgutil.iter_modules(importlib.import_module(package).__path__, package + "."):
                module = importlib.import_module(name)
                yield module.ENTRY
        def main():
            return [kind(1) for kind in load()]
    """
    files = {
        "app/kinds/a.py": "class KindA:\n    pass\nENTRY = KindA\n",
        "app/others/b.py": "class KindB:\n    pass\nENTRY = KindB\n",
        "app/work.py": scan,
    }
    assert ask(tmp_path / "a", files, "KindA").verdict == "live"
    assert ask(tmp_path / "b", files, "KindB").verdict == "unconstructed"


def test_classmethod_factory(tmp_path: Path) -> None:
    pool = "class Pool:\n    @classmethod\n    def make(cls):\n        return cls()\n"
    work = "from app.pool import Pool\ndef main():\n    return Pool.make()\n"
    report = ask(tmp_path, {"app/pool.py": pool, "app/work.py": work}, "Pool")
    assert places(report) == [("pool.py", 4), ("work.py", 3)]
    assert {site.how for site in report.sites} == {"cls", "factory"}


def test_nested_function_and_loop(tmp_path: Path) -> None:
    work = "from app.pool import Pool\ndef main():\n    def mk(n):\n        return Pool(n)\n    return [mk(i) for i in [1]]\n"
    report = ask(tmp_path, {"app/work.py": work}, "Pool")
    assert places(report) == [("work.py", 4)]
    assert report.sites[0].scope == "main.mk"


@pytest.mark.parametrize(
    ("init", "counts"),
    [
        ("", True),  # inherited
        ("    def __init__(self):\n        super().__init__(1)\n", True),
        ("    def __init__(self):\n        Pool.__init__(self, 1)\n", True),
        ("    def __init__(self):\n        super(Pool, self).__init__()\n", False),
        ("    def __init__(self):\n        self.size = 2\n", False),
    ],
)
def test_subclass_counts_only_if_the_constructor_runs(init: str, counts: bool, tmp_path: Path) -> None:
    work = f"from app.pool import Pool\nclass Sub(Pool):\n    x = 1\n{init}def main():\n    return Sub()\n"
    report = ask(tmp_path, {"app/work.py": work}, "Pool")
    assert bool(places(report)) is counts
    assert report.verdict == ("subclass-only" if counts else "unconstructed")


REACHED = {
    "process target": "from multiprocessing import Process\ndef main():\n    Process(target=run).start()\n",
    "context process": (
        "import multiprocessing as mp\ndef main():\n    mp.get_context('spawn').Process(target=run).start()\n"
    ),
    "thread": "import threading\ndef main():\n    threading.Thread(target=run).start()\n",
    "executor": "def main(pool=None):\n    pool.submit(run)\n",
    "partial": "from functools import partial\ndef main():\n    return partial(run)\n",
    "dispatch table": "def main(k='a'):\n    return {'a': run}[k]()\n",
    "table at module level": "def main(k='a'):\n    return TABLE[k]()\n",
    "decorator registry": "def main(k='a'):\n    return HANDLERS[k]()\n",
    "returned callback": "def main():\n    return hook()\ndef hook():\n    return run\n",
    "dotted string": "import importlib\ndef main():\n    return resolve('app.work.run')\ndef resolve(s):\n    return s\n",
}  # fmt: skip


@pytest.mark.parametrize("way", REACHED)
def test_builder_is_reached(way: str, tmp_path: Path) -> None:
    runner = "def run():\n    return Pool(1)\n"
    tail = ""
    if way == "table at module level":
        tail = "TABLE = {'a': run}\n"
    if way == "decorator registry":
        runner = (
            "HANDLERS = {}\ndef register(name):\n    def wrap(f):\n        HANDLERS[name] = f\n        return f\n"
            "    return wrap\n@register('a')\ndef run():\n    return Pool(1)\n"
        )
    work = f"from app.pool import Pool\n{runner}{tail}{REACHED[way]}"
    report = ask(tmp_path, {"app/work.py": work}, "Pool")
    assert report.verdict == "live"
    assert [step.scope for step in report.sites[0].chain][:1] == ["<module>"]


def test_plain_decorator_reaches_nothing(tmp_path: Path) -> None:
    work = (
        "from app.pool import Pool\ndef quiet(f):\n    def inner():\n        return f()\n    return inner\n"
        "@quiet\ndef run():\n    return Pool(1)\ndef main():\n    return 1\n"
    )
    report = ask(tmp_path, {"app/work.py": work}, "Pool")
    assert report.verdict == "builder-uncalled"


def test_override_in_a_built_subclass_is_reached(tmp_path: Path) -> None:
    work = (
        "from app.pool import Pool\nclass Base:\n    def go(self):\n        return self.step()\n    def step(self):\n"
        "        return None\nclass Built(Base):\n    def step(self):\n        return Pool(1)\n"
        "class Never(Base):\n    def step(self):\n        return Pool(2)\ndef main():\n    return Built().go()\n"
    )
    report = ask(tmp_path, {"app/work.py": work}, "Pool")
    assert places(report) == [("work.py", 9)]
    assert places(report, "dead") == [("work.py", 12)]


def test_module_and_name_in_strings(tmp_path: Path) -> None:
    work = (
        "import importlib\nTABLE = {}\ndef register(key, module, name):\n    TABLE[key] = (module, name)\n"
        "register('p', 'app.pool', 'Pool')\ndef main(k='p'):\n    module, name = TABLE[k]\n"
        "    return getattr(importlib.import_module(module), name)()\n"
    )
    report = ask(tmp_path, {"app/work.py": work}, "Pool")
    assert (report.verdict, places(report)) == ("live", [("work.py", 5)])
    assert report.sites[0].how == "string registry"


def test_every_module_of_a_scanned_package(tmp_path: Path) -> None:
    work = (
        "import importlib, pkgutil\ndef load(package):\n    table = {}\n"
        "    for info in pkgutil.iter_modules(importlib.import_module(package).__path__):\n"
        "        module = importlib.import_module(info.name)\n        table[info.name] = module.EntryClass\n"
        "    return table\ndef main(k='p'):\n    kind = load('app.models')[k]\n    return kind(1)\n"
    )
    model = "from app.pool import Pool\nclass Model:\n    def __init__(self, n):\n        self.pool = Pool(n)\nEntryClass = Model\n"
    files = {"app/work.py": work, "app/models/one.py": model}
    assert places(ask(tmp_path, files, "Model")) == [("work.py", 10)]
    assert places(ask(tmp_path, files, "Pool")) == [("models/one.py", 4)]
    unscanned = {**files, "app/work.py": "def main():\n    return 'app.models'\n"}
    assert ask(tmp_path / "b", unscanned, "Pool").verdict == "builder-uncalled"


def test_names_shared_by_many_definitions_are_told_apart(tmp_path):
    from rebasekit.checks.reach.names import find

    for n in range(30):
        path = tmp_path / "tree" / "pkg" / f"m{n}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"class C:\n    def run(self):\n        return {n}\n\n\ndef run():\n    return {n}\n")
    facts = open_facts(tmp_path / "facts", DirectoryTree(tmp_path / "tree"), Settings(("pkg.m0",)))
    for n in (0, 7, 29):
        assert [facts.dotted(d) for d in find(facts, f"pkg.m{n}.run")] == [f"pkg.m{n}.run"]
        assert [facts.dotted(d) for d in find(facts, f"m{n}.C.run")] == [f"pkg.m{n}.C.run"]
    assert len(find(facts, "C.run")) == len(find(facts, "run")) == 30
    assert find(facts, "m99.run") == []
