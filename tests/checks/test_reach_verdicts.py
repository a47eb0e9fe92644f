# ruff: noqa: E501 - one source per line reads better than one line per source line
"""Each verdict, the cases that real rebases taught, and the shape of the answer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from rebasekit.checks.reach import Ambiguous, NoSuchName, ReachReport, reach
from rebasekit.facts.query import Facts, open_facts
from rebasekit.facts.settings import Settings
from rebasekit.facts.source import DirectoryTree

ENTRY = "from app.work import main\n\nif __name__ == '__main__':\n    main()\n"
POOL = "class Pool:\n    def __init__(self, size=0):\n        self.size = size\n"
Answer = ReachReport | Ambiguous | NoSuchName


def facts_of(root: Path, files: Mapping[str, str | bytes]) -> Facts:
    whole = {"app/serve.py": ENTRY, "app/pool.py": POOL, **files}
    for path, text in whole.items():
        target = root / "tree" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text if isinstance(text, bytes) else text.encode())
    return open_facts(root / "cache", DirectoryTree(root / "tree"), Settings(("app.serve",)))


def ask(root: Path, files: Mapping[str, str | bytes], name: str, **assume: object) -> ReachReport:
    report = reach(facts_of(root, files), name, tag="v1", assume=assume)
    assert isinstance(report, ReachReport), report
    return report


def test_a_parameter_hides_a_package_of_its_name(tmp_path: Path) -> None:
    work = (
        "import os\nfrom app.pool import Pool\ndef main():\n    first()\n    second(Pool(1))\n"
        "def first():\n    return os.getcwd()\ndef second(os: Pool):\n    return os.read()\n"
    )
    files = {"app/work.py": work, "app/pool.py": POOL + "    def read(self):\n        return 1\n"}
    report = ask(tmp_path, files, "Pool.read")
    assert (report.verdict, [site.line for site in report.sites]) == ("live", [9])


KNOWN = {
    "attribute that starts as None": (
        "class H:\n    def __init__(self, pool):\n        self.pool: Optional[Pool] = None\n        self.pool = pool\n"
        "    def run(self):\n        return self.pool.read()\ndef main():\n    H(Pool(1)).run()\n"
    ),
    "union": "def run(pool: Union[None, Pool]):\n    return pool.read()\ndef main():\n    run(Pool(1))\n",
    "elements of a list": (
        "def run(pools: list[Pool]):\n    for pool in pools:\n        pool.read()\ndef main():\n    run([Pool(1)])\n"
    ),
    "values of a mapping": (
        "class H:\n    def __init__(self):\n        self.pools: Dict[str, Pool] = {}\n"
        "    def run(self):\n        return self.pools['a'].read(), [p.read() for p in [self.pools['a']]]\n"
        "    def one(self):\n        pool = self.pools['a']\n        return pool.read()\n"
        "def main():\n    H().one()\n    Pool(1)\n"
    ),
}


@pytest.mark.parametrize("form", KNOWN)
def test_what_an_object_is_by_its_annotation(form: str, tmp_path: Path) -> None:
    """A call on it is a call for sure of that class's method, and none of another class with such a method."""
    head = "from typing import Dict, Optional, Union\nfrom app.pool import Pool\nfrom app.other import Other\nOther()\n"
    files = {
        "app/work.py": head + KNOWN[form],
        "app/pool.py": POOL + "    def read(self):\n        return 1\n",
        "app/other.py": "class Other:\n    def read(self):\n        return 2\n",
    }
    assert "" in {site.note for site in ask(tmp_path / "a", files, "Pool.read").sites}
    assert "" not in {site.note for site in ask(tmp_path / "b", files, "Other.read").sites}


def test_last_caller_gone_is_unconstructed(tmp_path: Path) -> None:
    """Case 15."""
    report = ask(tmp_path, {"app/work.py": "def main():\n    return 1\n"}, "Pool")
    assert (report.verdict, report.sites) == ("unconstructed", ())


def test_builder_without_caller(tmp_path: Path) -> None:
    """Case 16: one construction, inside a method that nobody calls."""
    work = (
        "from app.pool import Pool\nclass Maker:\n    def _build_small(self):\n        return Pool(1)\n"
        "    def build(self):\n        return None\ndef main():\n    return Maker().build()\n"
    )
    report = ask(tmp_path, {"app/work.py": work}, "Pool")
    assert report.verdict == "builder-uncalled"
    assert [site.liveness for site in report.sites] == ["dead"]
    assert "Maker._build_small" in report.why[0]


def test_constructor_of_a_class_nobody_builds(tmp_path: Path) -> None:
    work = (
        "from app.pool import Pool\nclass Never:\n    def __init__(self):\n        self.pool = Pool(1)\n"
        "def main(x=0):\n    return isinstance(x, Never)\n"
    )
    assert ask(tmp_path, {"app/work.py": work}, "Pool").verdict == "builder-uncalled"


def test_subclass_is_built_instead(tmp_path: Path) -> None:
    """Case 17."""
    work = (
        "from app.pool import Pool\nclass SubPool(Pool):\n    def __init__(self):\n        super().__init__(1)\n"
        "def main():\n    return SubPool()\n"
    )
    report = ask(tmp_path, {"app/work.py": work}, "Pool")
    assert report.verdict == "subclass-only"
    assert report.subclasses == ("app.work.SubPool",)
    assert [(site.line, site.how) for site in report.sites] == [(4, "super().__init__")]
    assert [(step.line, step.scope) for step in report.sites[0].calls] == [(6, "main")]


def test_simulation_only(tmp_path: Path) -> None:
    pool = POOL + "    @classmethod\n    def create_simulated(cls):\n        return Pool(1)\n"
    work = "from app.pool import Pool\ndef main():\n    return Pool.create_simulated()\n"
    report = ask(tmp_path, {"app/pool.py": pool, "app/work.py": work}, "Pool")
    assert report.verdict == "simulation-only"
    assert {site.liveness for site in report.sites} == {"simulation"}


def test_tests_and_scripts_do_not_serve(tmp_path: Path) -> None:
    build = "from app.pool import Pool\ndef make():\n    return Pool(1)\n"
    files = {
        "app/work.py": "def main():\n    return 1\n",
        "app/test/helper.py": build,
        "app/unit_test.py": build,
        "app/tool.py": build + "if __name__ == '__main__':\n    make()\n    Pool(2)\n",
    }
    report = ask(tmp_path, files, "Pool")
    assert report.verdict == "unconstructed"
    assert [(site.file, site.liveness) for site in report.sites] == [
        ("app/tool.py", "script"), ("app/tool.py", "script"), ("app/test/helper.py", "test"), ("app/unit_test.py", "test"),
    ]  # fmt: skip
    assert report.sites[1].scope == "<module>"
    assert report.sites[1].guards == ("__name__ == '__main__'",)


GUARDED = (
    "from app.pool import Pool\ndef main(ctx=None):\n    if ctx.is_hybrid_ssm and ctx.size == 0:\n        return None\n"
    "    if not ctx.args.enable_pool:\n        return None\n    return build(ctx)\n"
    "def build(ctx):\n    if ctx.kind == 'int2':\n        return Pool(1)\n    return None\n"
)


@pytest.mark.parametrize(
    ("assume", "verdict"),
    [
        ({}, "live"),
        ({"enable_pool": False}, "ruled-out"),  # in the caller, by an early return
        ({"args.enable_pool": False}, "ruled-out"),
        ({"other.enable_pool": False}, "live"),
        ({"kind": "fp8"}, "ruled-out"),
        ({"kind": "int2", "enable_pool": True}, "live"),
        ({"is_hybrid_ssm": True}, "live"),  # the other half of the test is not known
        ({"is_hybrid_ssm": True, "size": 0}, "ruled-out"),
    ],
)
def test_deployment_facts(assume: dict[str, object], verdict: str, tmp_path: Path) -> None:
    report = ask(tmp_path, {"app/work.py": GUARDED}, "Pool", **assume)
    assert report.verdict == verdict
    assert report.sites[0].guards == ("ctx.kind == 'int2'",)
    assert bool(report.sites[0].ruled_out) is (verdict == "ruled-out")


def test_argument_that_no_caller_leaves_out(tmp_path: Path) -> None:
    """A branch for a missing class is dead when every caller hands one over, through locals and conditionals."""
    work = (
        "from app.pool import Pool\nclass Other:\n    pass\nclass Holder:\n    def __init__(self, kind=None):\n"
        "        if kind is not None:\n            made = kind\n        else:\n            made = Pool\n"
        "        self.pool = made()\n"
        "def main(a=0):\n    chosen = Other if a else list\n    return Holder(kind=chosen)\n"
    )
    assert ask(tmp_path, {"app/work.py": work}, "Pool").verdict == "builder-uncalled"
    twin = work + "def also():\n    return Holder()\n"
    assert ask(tmp_path / "b", {"app/work.py": twin.replace("chosen)", "chosen), also()")}, "Pool").verdict == "live"


SWITCH = (
    "class Settings:\n    CORE_BACKEND = Text('{default}')\nsettings = Settings()\nTABLE = {{}}\n"
    "def register(name, factory):\n    TABLE[name] = factory\n"
    "class SlowCore:\n    def __init__(self, part):\n        self.part = part\n    def evict(self):\n"
    "        return self.part.evict_part()\n"
    "class FastCore:\n    def evict(self):\n        return 0\n"
    "class Part:\n    def evict_part(self):\n        return helper()\n    def used_by_both(self):\n        return 2\n"
    "def helper():\n    return 1\n"
    "def slow_factory(part):\n    return SlowCore(part)\ndef fast_factory(part):\n    return FastCore()\n"
    "register('slow', slow_factory)\nregister('fast', fast_factory)\n"
    "def create(name, part):\n    return TABLE[name](part)\n"
    "def main():\n    part = Part()\n    part.used_by_both()\n    return create(settings.CORE_BACKEND.get(), part).evict()\n"
)


@pytest.mark.parametrize(
    ("default", "assume", "verdict"),
    [
        ("slow", {}, "live"),
        ("fast", {}, "bypassed"),
        ("fast", {"CORE_BACKEND": "slow"}, "live"),
        ("slow", {"CORE_BACKEND": "fast"}, "bypassed"),
    ],
)
def test_default_chooses_another_implementation(
    default: str, assume: dict[str, object], verdict: str, tmp_path: Path
) -> None:
    """Case 20: the method is called, but by the core that the default no longer picks."""
    files = {"app/work.py": SWITCH.format(default=default)}
    report = ask(tmp_path, files, "Part.evict_part", **assume)
    assert report.verdict == verdict
    assert ask(tmp_path, files, "helper", **assume).verdict == verdict
    assert ask(tmp_path, files, "Part.used_by_both", **assume).verdict == "live"
    if verdict == "bypassed":
        assert "app.work.FastCore" in report.instead[0]
        assert "app/work.py:2" in report.instead[0]


@pytest.mark.parametrize("broken", ["def main(:\n    Pool(1)\n", b"Pool = '\xff\xfe'\n", b"Pool\0()\n"])
def test_unread_file_is_no_pass(broken: str | bytes, tmp_path: Path) -> None:
    """Case 22: what could not be read might build the class, so nothing is said to be dead."""
    files: dict[str, str | bytes] = {"app/work.py": "def main():\n    return 1\n", "app/broken.py": broken}
    report = ask(tmp_path, files, "Pool")
    assert report.verdict == "unknown"
    assert "app/broken.py" in report.why[0]


def test_unread_caller_of_a_builder(tmp_path: Path) -> None:
    files = {
        "app/work.py": "def main():\n    return 1\n",
        "app/make.py": "from app.pool import Pool\ndef outer():\n    return inner()\ndef inner():\n    return Pool(1)\n",
        "app/broken.py": "outer(\n",
    }
    assert ask(tmp_path, files, "Pool").verdict == "unknown"
    assert ask(tmp_path, {**files, "app/broken.py": "other(\n"}, "Pool").verdict == "builder-uncalled"


def test_unread_file_elsewhere_does_not_matter(tmp_path: Path) -> None:
    files = {"app/work.py": "def main():\n    return 1\n", "app/broken.py": "nothing(\n"}
    assert ask(tmp_path, files, "Pool").verdict == "unconstructed"


def test_functions(tmp_path: Path) -> None:
    work = (
        "class Core:\n    def step(self):\n        return self._inner()\n    def _inner(self):\n        return 1\n"
        "    def unused(self):\n        return 2\n    @property\n    def size(self):\n        return 3\n"
        "def main():\n    core = Core()\n    return core.step() + core.size\n"
    )
    facts = facts_of(tmp_path, {"app/work.py": work})
    answers = {name: reach(facts, name) for name in ("Core._inner", "Core.unused", "Core.size", "main")}
    assert {n: getattr(a, "verdict", None) for n, a in answers.items()} == {
        "Core._inner": "live", "Core.unused": "uncalled", "Core.size": "live", "main": "live",
    }  # fmt: skip
    inner = answers["Core._inner"]
    assert isinstance(inner, ReachReport)
    assert [(site.line, site.scope, site.how) for site in inner.sites] == [(3, "Core.step", "call")]


def test_names(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, {
        "app/work.py": "class A:\n    def go(self):\n        pass\nclass B:\n    def go(self):\n        pass\ndef main():\n    pass\n",
    })  # fmt: skip
    several = reach(facts, "go")
    assert isinstance(several, Ambiguous)
    assert [match.name for match in several.matches] == ["app.work.A.go", "app.work.B.go"]
    for name in ("B.go", "work.B.go", "app.work.B.go", "app/work.py:B.go"):
        found = reach(facts, name)
        assert isinstance(found, ReachReport)
        assert found.name == "app.work.B.go"
    missing = reach(facts, "pol")
    assert isinstance(missing, NoSuchName)
    assert missing.closest == ("Pool",)


def test_json_shape_is_stable_and_kept_answers_are_the_same(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, {"app/work.py": GUARDED})
    first, again = reach(facts, "Pool", tag="v1"), reach(facts, "Pool", tag="v1")
    assert isinstance(first, ReachReport)
    assert first == again
    data = first.to_json()
    assert list(data)[:4] == ["name", "tag", "verdict", "sites"]
    assert list(data["sites"][0])[:6] == ["file", "line", "scope", "how", "guards", "liveness"]
    assert ReachReport.from_json(data) == first
