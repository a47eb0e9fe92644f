# ruff: noqa: E501 - one source per line reads better than one line per source line
"""Kinds that blind readings of real releases brought up: what serving builds there, and what it does not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.harness import write_tree

from rebasekit.checks.reach import Ambiguous, ReachReport, reach
from rebasekit.facts.query import open_facts
from rebasekit.facts.settings import Settings
from rebasekit.facts.source import DirectoryTree

ENTRY = "from app.work import main\n\nif __name__ == '__main__':\n    main()\n"
POOL = "class Pool:\n    def __init__(self, size=0):\n        self.size = size\n"


def ask(root: Path, files: Mapping[str, str], name: str = "Pool") -> ReachReport:
    write_tree(root / "tree", {"app/serve.py": ENTRY, "app/pool.py": POOL, **files})
    facts = open_facts(root / "cache", DirectoryTree(root / "tree"), Settings(("app.serve",)))
    report = reach(facts, name, tag="v1")
    assert isinstance(report, ReachReport), report
    return report


def lines(report: ReachReport, liveness: str = "serving") -> list[int]:
    return [site.line for site in report.sites if site.liveness == liveness]


HOLDER = (
    "from app.pool import Pool\nclass A:\n    def __init__(self, kind=None):\n"
    "        self.k = kind(1) if kind is not None else Pool(2)\n"
    "class B(A):\n    def __init__(self, kind=None):\n        super().__init__(kind=kind)\n"
)


@pytest.mark.parametrize(
    "choice",
    [
        "    cls = A if open('x') else B\n    return cls(kind=Pool)\n",
        "    if open('x'):\n        cls = A\n    else:\n        cls = B\n    return cls(kind=Pool)\n",
        "    for cls in (A, B):\n        cls(kind=Pool)\n",
    ],
    ids=["conditional", "branches", "loop"],
)
def test_arguments_of_a_local_that_holds_classes(tmp_path: Path, choice: str) -> None:
    """They arrive in the classes' parameters, so the arm for a caller without them is dead."""
    report = ask(tmp_path, {"app/work.py": HOLDER + "def main():\n" + choice})
    (site,) = (site for site in report.sites if site.liveness == "serving")
    assert (site.line > 8, [(step.scope, step.line) for step in site.calls]) == (True, [("A.__init__", 4)])
    assert lines(report, "dead") == [4]


def test_an_arm_that_some_caller_takes_is_alive(tmp_path: Path) -> None:
    work = HOLDER + "def main():\n    cls = A if open('x') else B\n    cls(kind=Pool)\n    return B()\n"
    assert lines(ask(tmp_path, {"app/work.py": work}))[0] == 4


RESULTS = (
    "from app.pool import Pool\nclass Other: pass\ndef build(kind=None):\n    if kind is None:\n        return Pool(1)\n"
    "    return kind()\n"
)


@pytest.mark.parametrize(
    ("chooser", "dead"),
    [
        ("def choose():\n    if open('x'):\n        return Other\n    return list\n", True),
        ("def choose():\n    found = lookup()\n    if found is None:\n        return Other\n    return found\n", True),
        (
            "def choose():\n    found = lookup()\n    if found is None:\n        raise ValueError\n    return found\n",
            True,
        ),
        ("def choose():\n    if open('x'):\n        return Other\n", False),
        ("def choose():\n    if open('x'):\n        return Other\n    return None\n", False),
        ("def choose():\n    found = lookup()\n    return found\n", False),
    ],
    ids=["two classes", "told by a test", "raised otherwise", "falls off its end", "None", "unknown"],
)
def test_what_a_function_returns_decides_a_guard(tmp_path: Path, chooser: str, dead: bool) -> None:
    work = RESULTS + "import outside\ndef lookup():\n    return outside.find()\n" + chooser
    report = ask(tmp_path, {"app/work.py": work + "def main():\n    return build(kind=choose())\n"})
    assert [site.liveness for site in report.sites] == (["dead"] if dead else ["serving"])


PROTOCOL = (
    "from typing import Protocol\nfrom app.pool import Pool\nclass Can(Protocol):\n    def make(self): ...\n"
    "class Control:\n    def __init__(self, worker: Can):\n        self.worker = worker\n"
    "    def go(self):\n        return self.worker.make()\n"
    "class Worker:\n    def __init__(self):\n        self.control = Control(self)\n"
    "    def make(self):\n        return Pool(1)\n"
)


def test_a_receiver_that_is_a_protocol(tmp_path: Path) -> None:
    assert lines(ask(tmp_path / "a", {"app/work.py": PROTOCOL + "def main():\n    Worker().control.go()\n"})) == [14]
    unused = ask(tmp_path / "b", {"app/work.py": PROTOCOL + "def main():\n    Worker()\n"})
    assert lines(unused, "dead") == [14]


def test_an_abstract_class_without_subclasses_stands_for_anything(tmp_path: Path) -> None:
    work = (
        "import abc\nfrom app.pool import Pool\nclass Can(abc.ABC):\n    @abc.abstractmethod\n    def make(self): ...\n"
        "@Can.register\nclass Worker:\n    def make(self):\n        return Pool(1)\n"
        "def go(w: Can):\n    return w.make()\ndef main():\n    return go(Worker())\n"
    )
    assert lines(ask(tmp_path, {"app/work.py": work})) == [9]


ACTOR = "import ray\nfrom app.pool import Pool\n{decorator}class Actor:\n    def __init__(self):\n        self.p = Pool(1)\n"


@pytest.mark.parametrize("decorator", ["@ray.remote\n", "@ray.remote(num_cpus=1)\n"])
@pytest.mark.parametrize("call", ["Actor.remote()", "Actor.options(n=1).remote()"])
def test_a_class_behind_a_handle_from_outside(tmp_path: Path, decorator: str, call: str) -> None:
    work = ACTOR.format(decorator=decorator) + f"def main():\n    return {call}\n"
    assert lines(ask(tmp_path, {"app/work.py": work})) == [6]
    assert (lines(ask(tmp_path, {}, "Actor")), ask(tmp_path, {}, "Actor").verdict) == ([8], "live")


@pytest.mark.parametrize("decorator", ["", "@dataclass\n"], ids=["plain", "decorator that gives back the class"])
def test_an_attribute_that_a_plain_class_lacks_builds_nothing(tmp_path: Path, decorator: str) -> None:
    work = "from dataclasses import dataclass\n" + ACTOR.format(decorator=decorator)
    assert lines(ask(tmp_path, {"app/work.py": work + "def main():\n    return Actor.remote()\n"})) == []


BY_CLASS = (
    "from app.pool import Pool\nclass Base:\n    @classmethod\n    def start(cls):\n        return cls.spawn()\n"
    "    @classmethod\n    def spawn(cls):\n        return 1\n"
    "class Sub(Base):\n    @classmethod\n    def spawn(cls):\n        return Pool(1)\n"
)


@pytest.mark.parametrize(("called", "liveness"), [("Sub", "serving"), ("Base", "dead")])
def test_a_class_method_called_on_a_subclass(tmp_path: Path, called: str, liveness: str) -> None:
    """`cls.spawn()` in the base is the subclass's, though nobody makes an instance of it."""
    report = ask(tmp_path, {"app/work.py": BY_CLASS + f"def main():\n    return {called}.start()\n"})
    assert [(site.line, site.liveness) for site in report.sites] == [(12, liveness)]


LAZY = "import importlib\nclass Lazy:\n    def __init__(self, module, name):\n        self.where = module, name\n    def __call__(self, *args):\n        return getattr(importlib.import_module(self.where[0]), self.where[1])(*args)\n"
ENGINE = "from app.pool import Pool\nclass Engine:\n    def __init__(self):\n        self.pool = Pool(1)\n"
EXPORTS = "from app.lazy import Lazy\nEngine = Lazy('app.engine', 'Engine')\n"


def test_a_lazily_exported_class_is_built_by_whoever_uses_the_name(tmp_path: Path) -> None:
    files = {"app/lazy.py": LAZY, "app/engine.py": ENGINE, "app/api.py": EXPORTS}
    idle = {**files, "app/work.py": "import app.api\ndef main():\n    return 1\n"}
    assert lines(ask(tmp_path / "a", idle), "dead") == [4]
    used = {**files, "app/work.py": "import app.api\ndef main():\n    return app.api.Engine()\n"}
    assert lines(ask(tmp_path / "b", used)) == [4]
    assert lines(ask(tmp_path / "b", used, "Engine")) == [3]


@pytest.mark.parametrize(
    ("text", "liveness"),
    [
        ("importlib.import_module('app.other')", "serving"),
        ("'app.other' in sys.modules", "dead"),
        ("name in ('app.other', 'x')", "dead"),
        ("sys.modules.get('app.other')", "dead"),
        ("sys.modules['app.other']", "dead"),
        ("logging.getLogger('app.other')", "dead"),
    ],
)
def test_a_module_that_is_only_asked_for_is_not_imported(tmp_path: Path, text: str, liveness: str) -> None:
    work = f"import importlib, logging, sys\nname = ''\ndef main():\n    return {text}\n"
    report = ask(tmp_path, {"app/work.py": work, "app/other.py": "from app.pool import Pool\nPOOL = Pool(1)\n"})
    assert [site.liveness for site in report.sites] == [liveness]


@pytest.mark.parametrize(
    ("call", "fits"),
    [
        ("kind()", False), ("kind(1)", False), ("kind(1, 2, 3)", False), ("kind(1, other=2)", False),
        ("kind(1, 2, '*')", False),
        ("kind(1, 2)", True), ("kind(1, b=2)", True), ("kind(*[1])", True), ("kind(1, **{})", True),
    ],
)  # fmt: skip
def test_out_of_a_table_only_what_can_take_the_arguments_is_built(tmp_path: Path, call: str, fits: bool) -> None:
    work = (
        "from app.pool import Pool\nclass Other: pass\nTABLE = {'pool': Pool, 'other': Other}\n"
        f"def main(name='pool'):\n    kind = TABLE[name]\n    return {call}\n"
    )
    pool = "class Pool:\n    def __init__(self, a, b):\n        self.a = a\n"
    assert lines(ask(tmp_path, {"app/work.py": work, "app/pool.py": pool})) == ([6] if fits else [])


KEYED = (
    "from app.pool import Pool\nclass Other: pass\nTABLE = {'pool': Pool, 'other': Other}\n"
    "def pick(name):\n    return TABLE[name]\ndef make(name):\n    return TABLE[name]()\n"
)


@pytest.mark.parametrize(
    ("body", "built"),
    [
        ("    kind = pick(cfg.kind)\n    if cfg.kind == 'other':\n        return kind()\n", False),
        ("    kind = pick(cfg.kind)\n    if cfg.kind.startswith('oth'):\n        return kind()\n", False),
        ("    kind = TABLE.get(cfg.kind)\n    if cfg.kind != 'pool':\n        return kind()\n", False),
        ("    kind = pick(cfg.kind)\n    if cfg.kind.startswith('po'):\n        return kind()\n", True),
        ("    kind = pick(cfg.kind)\n    if cfg.more == 'other':\n        return kind()\n", True),
        ("    kind = pick(cfg.kind) if cfg else pick(cfg.more)\n    if cfg.kind == 'other':\n        return kind()\n", True),
        ("    name = cfg.kind\n    kind = pick(name)\n    name = 'other'\n    if name == 'other':\n        return kind()\n", True),
    ],
    ids=["another key", "another beginning", "get", "its beginning", "another name", "two keys", "a variable"],
)  # fmt: skip
def test_the_key_of_a_table_decides_tests_on_it(tmp_path: Path, body: str, built: bool) -> None:
    report = ask(tmp_path, {"app/work.py": KEYED + "def main(cfg=None):\n" + body})
    assert bool(lines(report)) is built


APART = {
    "app/work.py": "import tools.parts\ndef main(thing=None):\n    tools.parts.ready()\n    return thing.forward()\n",
    "tools/parts.py": "def ready():\n    import other.model\n    return other.model.MODEL.{called}()\n",
    "other/model.py": "from app.pool import Pool\nclass Model:\n    def forward(self):\n        return Pool(1)\n    def ok(self):\n        return 1\nMODEL = Model()\n",
}


@pytest.mark.parametrize(
    ("called", "imports", "liveness"),
    [
        ("ok", "", "dead"),  # what `app` calls on an unknown object is nothing of `other`'s
        ("forward", "", "serving"),
        ("ok", "import other.model\n", "serving"),  # `app` knows `other`, so it may hold its objects
        ("ok", "PLUGINS = ['other.model']\n", "serving"),
        ("ok", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import other.model\n", "dead"),
    ],
)
def test_another_program_is_not_reached_by_the_name_of_a_method_alone(
    tmp_path: Path, called: str, imports: str, liveness: str
) -> None:
    files = {path: text.format(called=called) for path, text in APART.items()}
    files["app/work.py"] = "import app.more\n" + files["app/work.py"]
    report = ask(tmp_path, {**files, "app/more.py": imports + "MORE = 1\n"})
    assert [site.liveness for site in report.sites] == [liveness]


def test_a_library_that_does_not_build_on_serving_is_no_program(tmp_path: Path) -> None:
    files = {path: text.format(called="ok") for path, text in APART.items()}
    files["other/model.py"] = files["other/model.py"].replace("app.pool", "other.pool")
    assert lines(ask(tmp_path, {**files, "other/pool.py": POOL, "app/pool.py": ""})) == [4]


BELOW = "class Sub(Pool):\n    def __init__(self):\n        super().__init__(3)\n"


def test_a_subclass_is_cited_where_it_is_built_if_its_base_is_built_in_several_places(tmp_path: Path) -> None:
    """One name that is handed to two callers is two constructions."""
    work = (
        "from app.pool import Pool\n"
        + BELOW
        + "def one(kind):\n    return kind(1)\ndef two(kind):\n    return kind(2)\n"
        "def main():\n    kind = Pool\n    one(kind)\n    {more}return Sub()\n"
    )
    both = ask(tmp_path / "a", {"app/work.py": work.format(more="two(kind)\n    ")})
    assert lines(both) == [10, 13]
    once = ask(tmp_path / "b", {"app/work.py": work.format(more="")})
    assert lines(once) == [4, 10]
    assert [step.line for site in once.sites if site.line == 4 for step in site.calls] == [12]


def test_the_way_that_fewest_tests_pick_is_shown(tmp_path: Path) -> None:
    """What is chosen by default stands last, in the `else` branch."""
    go = "from app.pool import Pool\ndef go():\n    build()\ndef build():\n    Pool(1)\n"
    files = {"app/common.py": go}
    for name in ("rare", "usual"):
        files[f"app/{name}.py"] = "from app.common import build\nSTART = build\n"
    files["app/work.py"] = (
        "def main(rare=False):\n    if rare:\n        from app.rare import START\n    else:\n"
        "        from app.usual import START\n    START()\n"
    )
    (site,) = ask(tmp_path, files).sites
    assert [step.file for step in site.chain][-1] == "app/usual.py"


def test_what_is_spread_over_the_arguments_may_be_anything(tmp_path: Path) -> None:
    work = (
        "from app.pool import Pool\ndef build(kind=None, other=None):\n    if other is not None:\n        return Pool(1)\n"
        "def main(things=()):\n    return build({call})\n"
    )
    assert lines(ask(tmp_path / "a", {"app/work.py": work.format(call="*things")})) == [4]
    assert lines(ask(tmp_path / "b", {"app/work.py": work.format(call="things")}), "dead") == [4]


def test_an_argument_of_a_protocols_method_arrives_where_it_is_implemented(tmp_path: Path) -> None:
    work = (
        "from typing import Protocol\nfrom app.pool import Pool\nclass Can(Protocol):\n    def make(self, kind): ...\n"
        "class Worker:\n    def make(self, kind):\n        return kind(1)\n"
        "def go(worker: Can):\n    return worker.make(Pool)\ndef main():\n    return go(Worker())\n"
    )
    (site,) = ask(tmp_path, {"app/work.py": work}).sites
    assert (site.line, site.liveness, [step.line for step in site.calls]) == (9, "serving", [7])


@pytest.mark.parametrize("callee", ["(kind or Held)", "(kind if kind else Held)", "[Held][0]"])
def test_methods_of_what_an_expression_builds_run(tmp_path: Path, callee: str) -> None:
    work = (
        "from app.pool import Pool\nclass Held:\n    def make(self):\n        return Pool(1)\n"
        f"def go(held):\n    return held.make()\ndef main(kind=None):\n    return go({callee}())\n"
    )
    assert lines(ask(tmp_path, {"app/work.py": work})) == [4]


REGISTER = (
    "from app.pool import Pool\nclass Shelf:\n    kept = {{}}\n    @classmethod\n    def keep(cls, name, made):\n"
    "        {body}\n"
    "def register(name):\n    def decorator(made):\n        Shelf.keep(name, {how})\n        return made\n    return decorator\n"
    "@register('a')\ndef build():\n    return Pool(1)\ndef main():\n    return [make() for make in Shelf.kept.values()]\n"
)


@pytest.mark.parametrize(
    ("how", "body", "found"),
    [
        ("made", "cls.kept[name] = made", [14]),
        ("made=made", "cls.kept[name] = made", [14]),
        ("made", "print(name, made)", []),
    ],
)
def test_a_decorator_that_hands_on_to_what_keeps(tmp_path: Path, how: str, body: str, found: list[int]) -> None:
    assert lines(ask(tmp_path, {"app/work.py": REGISTER.format(how=how, body=body)})) == found


def test_an_enumeration_is_made_with_its_class(tmp_path: Path) -> None:
    work = "import enum\nclass Kind(enum.Enum):\n    A = 1\ndef main():\n    return {body}\n"
    report = ask(tmp_path / "a", {"app/work.py": work.format(body="Kind.A")}, "Kind")
    assert (report.verdict, report.sites, len(report.why)) == ("live", (), 1)
    unread = {"app/work.py": "def main():\n    return 1\n", "app/kind.py": work.format(body=1)}
    assert ask(tmp_path / "b", unread, "Kind").verdict == "unconstructed"


@pytest.mark.parametrize(
    ("test", "text"),
    [
        ("a is None", "a is not None"), ("a is not None", "a is None"), ("a == 'b'", "a != 'b'"),
        ("a not in ('b', 'c')", "a in ('b', 'c')"), ("a < 1", "not (a < 1)"), ("a == 1 and b", "not (a == 1 and b)"),
        ("0 == a == 1", "not (0 == a == 1)"), ("a", "not a"), ("f(a == 1)", "not (f(a == 1))"),
    ],
)  # fmt: skip
def test_what_must_not_hold_is_shown_as_what_must(test: str, text: str, tmp_path: Path) -> None:
    work = f"from app.pool import Pool\ndef f(x):\n    return x\ndef main(a=None, b=None):\n    if {test}:\n        return 1\n    return Pool(1)\n"
    (site,) = ask(tmp_path, {"app/work.py": work}).sites
    assert site.guards == (text,)


def test_of_several_definitions_those_that_serving_knows_come_first(tmp_path: Path) -> None:
    files = {"app/work.py": "import app.b\ndef main():\n    return app.b.Twin()\n"}
    for name in ("a", "b"):
        files[f"app/{name}.py"] = "class Twin:\n    pass\n"
    ask(tmp_path, files)
    facts = open_facts(tmp_path / "cache", DirectoryTree(tmp_path / "tree"), Settings(("app.serve",)))
    several = reach(facts, "Twin")
    assert isinstance(several, Ambiguous)
    assert [match.name for match in several.matches] == ["app.b.Twin", "app.a.Twin"]
