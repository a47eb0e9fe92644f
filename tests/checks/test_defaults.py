"""Defaults that a patch relies on: holding, pinned, flipped, and the hunks that a flip bypasses (case 20)."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from difflib import unified_diff
from pathlib import Path

import pytest
from harness import Case, patch_toml, series

from rebasekit.checks.defaults import Defaults, ReliedHunk, defaults, propose
from rebasekit.checks.defaults.relied import Malformed, parse
from rebasekit.facts.lazy import lazy_facts
from rebasekit.facts.query import Facts, open_facts
from rebasekit.facts.scan import Scanner
from rebasekit.facts.settings import Settings
from rebasekit.facts.source import ListingTree, blob_id, listing_key
from rebasekit.steps.relying import _told

Tree = Mapping[str, str]
ENTRY = 'default CORE_BACKEND == "python"'


def facts_of(tree: Tree, cache: Path) -> Facts:
    data = {path: textwrap.dedent(text).encode() for path, text in tree.items()}
    blobs = {blob_id(content): content for content in data.values()}
    listing = {path: blob_id(content) for path, content in data.items()}
    source = ListingTree(listing_key(listing), listing, lambda ids: ((i, blobs[i]) for i in ids))
    return lazy_facts(cache, source, Settings(entries=("pkg.main",)))


ENVIRON = """
    class EnvStr:
        def __init__(self, default): ...
        def get(self): ...
    class Envs:
        CORE_BACKEND = EnvStr("{default}")
    envs = Envs()
    """
REGISTRY = """
    from typing import Callable
    _CORES: dict[str, Callable] = {}

    def register(name, factory):
        _CORES[name] = factory

    def _python_core(parts) -> "Core":
        from pkg.core import PythonCore
        return PythonCore(parts)

    def _native_core(parts) -> "Core":
        from pkg.native import NativeCore
        return NativeCore()

    register("python", _python_core)
    register("rust", _native_core)

    def create(name, parts) -> "Core":
        return _CORES[name](parts)

    class Core:
        def evict(self, tracker): ...
        def load(self): ...
    """
CORE = """
    from pkg.registry import Core
    class PythonCore(Core):
        def __init__(self, parts):
            self.parts = parts
        def evict(self, tracker):
            for part in self.parts:
                part.evict(tracker)
        def load(self): ...
    """
NATIVE = """
    from engine import Engine
    from pkg.registry import Core
    class NativeCore(Core):
        def __init__(self):
            self._engine = self._kind()(1)
        def _kind(self) -> type:
            return Engine
        def evict(self, tracker):
            return self._engine.evict(tracker)
        def load(self):
            return self._engine.load()
    """
COMPONENT = """
    class Component:
        def evict(self, tracker):
            self._next()
        def _next(self):
            self._ours()
        def _ours(self): ...
        def prepare(self):
            self._int8()
        def _int8(self): ...
    """
MAIN = """
    from pkg.component import Component
    from pkg.environ import envs
    from pkg.registry import create
    class Cache:
        def __init__(self):
            self.part = Component()
            self.core = create(envs.CORE_BACKEND.get(), [self.part])
        def run(self):
            self.part.prepare()
            self.core.evict({})
            self.core.load()
    if __name__ == "__main__":
        Cache().run()
    """


def tree(default: str = "python", **other: str) -> dict[str, str]:
    return {
        "pkg/environ.py": ENVIRON.format(default=default),
        "pkg/registry.py": REGISTRY,
        "pkg/core.py": CORE,
        "pkg/native.py": NATIVE,
        "pkg/component.py": COMPONENT,
        "pkg/main.py": MAIN,
        **other,
    }


def line_of(text: str, what: str) -> tuple[int, ...]:
    lines = textwrap.dedent(text).split("\n")
    return (next(n for n, line in enumerate(lines, 1) if what in line),)


def hunk(name: str, what: str, *relies: str) -> ReliedHunk:
    return ReliedHunk("p", name, "pkg/component.py", line_of(COMPONENT, what), relies)


EVICT = hunk("evict", "self._ours()", ENTRY)
OURS = hunk("ours", "def _ours")  # in a bypassed method, though it says nothing of a default
INT8 = hunk("int8", "def _int8")  # both cores need it


def found(found: Defaults) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for finding in found.findings:
        names.setdefault(finding.kind, []).append(finding.hunk)
    return names


def run(tmp_path: Path, new: Tree, *hunks: ReliedHunk, old: Tree | None = None, **pins: object) -> Defaults:
    before = facts_of(old or tree(), tmp_path)
    return defaults(hunks, before, facts_of(new, tmp_path), pins=pins, tag="v2")


def test_a_default_that_holds(tmp_path: Path) -> None:
    result = run(tmp_path, tree(), EVICT, OURS, INT8)
    assert (found(result), result.notes) == ({}, ())
    assert result.standings[0].state == "holds"


def test_a_flip_calls_out_the_bypassed_hunks_and_not_the_live_one(tmp_path: Path) -> None:
    result = run(tmp_path, tree("rust"), EVICT, OURS, INT8)
    assert found(result) == {"default-flipped": ["evict"], "bypassed": ["evict", "ours"]}
    flipped, bypassed = result.findings[0].message, result.findings[1].message
    assert "`CORE_BACKEND` is 'rust' (pkg/environ.py:" in flipped and "was 'python'" in flipped
    assert "nothing calls `Component._next`" in bypassed and "`_python_core`" in bypassed


def test_a_pin_of_the_deployment_undoes_the_flip(tmp_path: Path) -> None:
    result = run(tmp_path, tree("rust"), EVICT, OURS, INT8, CORE_BACKEND="python")
    assert found(result) == {}
    assert result.standings[0].state == "pinned"
    assert "the deployment sets 'python', which keeps p/evict working" in result.notes[0]


def test_a_pin_that_breaks_what_the_patch_relies_on(tmp_path: Path) -> None:
    result = run(tmp_path, tree(), EVICT, OURS, INT8, CORE_BACKEND="rust")
    assert found(result) == {"default-flipped": ["evict"], "bypassed": ["evict", "ours"]}


def test_the_other_core_asks_the_components_too(tmp_path: Path) -> None:
    """A second implementation that holds the components calls their methods: nothing is bypassed."""
    native = CORE.replace("PythonCore", "NativeCore")
    new = tree(
        "rust", **{"pkg/native.py": native, "pkg/registry.py": REGISTRY.replace("NativeCore()", "NativeCore(parts)")}
    )
    assert found(run(tmp_path, new, EVICT, OURS)) == {"default-flipped": ["evict"]}


def test_somebody_else_builds_the_old_core(tmp_path: Path) -> None:
    main = MAIN.replace("self.part.prepare()", "self.part.prepare()\n            PythonCore([self.part]).evict({})")
    new = tree("rust", **{"pkg/main.py": "\n    from pkg.core import PythonCore" + main})
    assert found(run(tmp_path, new, EVICT)) == {"default-flipped": ["evict"]}


BRANCH = """
    from pkg.component import Component
    from pkg.environ import envs
    class Cache:
        def __init__(self):
            self.part = Component()
            self.backend = envs.CORE_BACKEND.get()
        def run(self):
            if self.backend == "python":
                self.part.evict({})
            else:
                self.part.prepare()
    if __name__ == "__main__":
        Cache().run()
    """


@pytest.mark.parametrize("call", ["self.part.evict({})", "old_way(self.part)", "Component.evict(self.part, {})"])
def test_a_branch_chooses(tmp_path: Path, call: str) -> None:
    way = "\n    def old_way(part: Component):\n        part.evict({})\n    class Cache"
    main = {"pkg/main.py": BRANCH.replace("self.part.evict({})", call).replace("\n    class Cache", way)}
    assert found(run(tmp_path, tree("rust", **main), EVICT, INT8)) == {
        "default-flipped": ["evict"],
        "bypassed": ["evict"],
    }
    assert found(run(tmp_path, tree(**main), EVICT, INT8)) == {}


@pytest.mark.parametrize(
    ("entry", "old", "new"),
    [
        ("default pkg.a.GRID == 64", "GRID = 64", "GRID = 128"),
        (
            "default pkg.a.Args.dtype == 'auto'",
            "class Args:\n    dtype: str = 'auto'",
            "class Args:\n    dtype: str = 'fp8'",
        ),
        ("default Args.dtype == 'auto'", "class Args:\n    dtype: str = 'auto'", "class Args:\n    dtype: str = 'fp8'"),
        (
            "default Args.n == 1",
            "class Args:\n    n: int = field(default=1)",
            "class Args:\n    n: int = field(default=2)",
        ),
        (
            "default --page-size == 1",
            "p.add_argument('--page-size', default=1)",
            "p.add_argument('--page-size', default=2)",
        ),
        ("default pkg.a.f(mode) == True", "def f(x, mode=True): ...", "def f(x, mode=False): ..."),
        (
            "default pkg.a.C.m(mode) == None",
            "class C:\n    def m(self, mode=None): ...",
            "class C:\n    def m(self, mode=1): ...",
        ),
        (
            "default MY_FLAG == '0'",
            "import os\nx = os.getenv('MY_FLAG', '0')",
            "import os\nx = os.environ.get('MY_FLAG', '1')",
        ),
        ('registry TABLE["a"] == f', "def f(): ...\nTABLE = {'a': f}", "def f(): ...\ndef g(): ...\nTABLE = {'a': g}"),
        (
            'registry register["a"] == f',
            "def f(): ...\nregister('a', f)",
            "def f(): ...\ndef g(): ...\nregister('a', g)",
        ),
        ("default pkg.a.LIMIT == 1", "LIMIT = 1", "LIMIT = compute()"),
        ("default pkg.a.LIMIT == 1", "LIMIT = 1", "OTHER = 1"),
    ],
)
def test_every_kind_of_default(tmp_path: Path, entry: str, old: str, new: str) -> None:
    relying = ReliedHunk("p", "h", "pkg/a.py", (1,), (entry,))
    before, after = {"pkg/a.py": old + "\n"}, {"pkg/a.py": new + "\n"}
    assert found(run(tmp_path, before, relying, old=before)) == {}
    assert found(run(tmp_path, after, relying, old=before)) == {"default-flipped": ["h"]}


def test_a_class_that_is_put_together_from_others(tmp_path: Path) -> None:
    new = {
        "pkg/args.py": "class Args: ...\nArgs = make(Mamba)\n",
        "pkg/fields.py": "class Mamba:\n    ratio: float = 0.9\n",
    }
    relying = ReliedHunk("p", "h", "pkg/a.py", (), ("default Args.ratio == 0.9",))
    assert found(run(tmp_path, new, relying, old=new)) == {}


@pytest.mark.parametrize("pin", ["1", "true", "True"])
def test_an_environment_variable_is_a_string_and_means_a_switch(tmp_path: Path, pin: str) -> None:
    flag = {"pkg/a.py": "class Envs:\n    FLAG = EnvBool(False)\n"}
    relying = ReliedHunk("p", "h", "pkg/a.py", (), ("default FLAG == True",))
    assert found(run(tmp_path, flag, relying, old=flag, FLAG=pin)) == {}
    assert found(run(tmp_path, flag, relying, old=flag)) == {"default-flipped": ["h"]}


def test_every_place_that_reads_a_variable_has_to_agree(tmp_path: Path) -> None:
    relying = ReliedHunk("p", "h", "pkg/a.py", (), ('default POOL_KIND == "a"',))
    one = "import os\nKIND = os.getenv('POOL_KIND', 'a')\n"
    assert found(run(tmp_path, {"pkg/a.py": one}, relying)) == {}
    for other in ("import os\nKIND = os.environ.get('POOL_KIND', 'b')\n", "import os\nKIND = os.getenv('POOL_KIND')\n"):
        assert found(run(tmp_path, {"pkg/a.py": one, "pkg/b.py": other}, relying)) == {"default-flipped": ["h"]}
        assert found(run(tmp_path, {"pkg/a.py": other, "pkg/b.py": one}, relying)) == {"default-flipped": ["h"]}


ARGS = "class Args:\n    dtype: str = '{}'\n"


def test_another_thing_of_the_same_name_does_not_count(tmp_path: Path) -> None:
    """One in twenty server arguments of SGLang v0.5.22 shares its name with a field or constant somewhere else."""
    relying = ReliedHunk("p", "h", "pkg/a.py", (), ('default dtype == "auto"',))

    def tree(args: str, other: str) -> Tree:
        return {"pkg/args.py": ARGS.format(args), "pkg/other.py": f"class Backend:\n    dtype = {other}\n"}

    old = tree("auto", "None")
    assert found(run(tmp_path, old, relying, old=old)) == {}
    assert found(run(tmp_path, tree("auto", "'fp8'"), relying, old=old)) == {}
    assert found(run(tmp_path, tree("fp8", "None"), relying, old=old)) == {"default-flipped": ["h"]}
    assert found(run(tmp_path, tree("fp8", "'auto'"), relying, old=old)) == {"default-flipped": ["h"]}


def test_a_declaration_that_moved(tmp_path: Path) -> None:
    relying = ReliedHunk("p", "h", "pkg/a.py", (), ('default dtype == "auto"',))
    other = {"pkg/other.py": "class Backend:\n    dtype = None\n"}
    old = {**other, "pkg/args.py": ARGS.format("auto")}
    for value, flips in (("auto", {}), ("fp8", {"default-flipped": ["h"]})):
        new = {**other, "pkg/args.py": "", "pkg/fields.py": ARGS.format(value)}
        assert found(run(tmp_path, new, relying, old=old)) == flips
    assert found(run(tmp_path, {**other, "pkg/args.py": ""}, relying, old=old)) == {"default-flipped": ["h"]}


def test_an_entry_that_never_held(tmp_path: Path) -> None:
    relying = ReliedHunk("p", "h", "pkg/a.py", (), ('default dtype == "int2"',))
    tree = {"pkg/args.py": ARGS.format("auto")}
    (finding,) = run(tmp_path, tree, relying, old=tree).findings
    assert finding.message.startswith("`dtype` was never so: it is 'auto'")


@pytest.mark.parametrize("call", ["get_bool_env_var('FLAG')", "os.getenv('FLAG')", "env_var_set('FLAG')"])
def test_the_name_of_a_variable_is_not_its_default(tmp_path: Path, call: str) -> None:
    relying = ReliedHunk("p", "h", "pkg/a.py", (), ("default FLAG == False",))
    tree = {"pkg/envs.py": "class Envs:\n    FLAG = EnvBool(False)\n", "pkg/a.py": f"FLAG = {call}\n"}
    assert found(run(tmp_path, tree, relying, old=tree)) == {}


def test_a_file_that_cannot_be_read_is_a_finding(tmp_path: Path) -> None:
    relying = ReliedHunk("p", "h", "pkg/m.py", (), (ENTRY,))
    result = run(tmp_path, {"pkg/environ.py": "class Envs(:\n", "pkg/m.py": "x = 1\n"}, relying)
    assert found(result) == {"unread": ["h"]}


@pytest.mark.parametrize(
    "text", ["CORE == 1", "default X", "default X == (", "registry T == f", "default T['a'] == 1", "default a b == 1"]
)
def test_an_entry_that_says_nothing(tmp_path: Path, text: str) -> None:
    with pytest.raises(Malformed):
        parse(text)
    relying = ReliedHunk("p", "h", "pkg/a.py", (), (text,))
    assert "cannot be checked" in run(tmp_path, {"pkg/a.py": ""}, relying).findings[0].message


def test_an_annotation_does_not_bring_back_what_the_choice_would_build(tmp_path: Path) -> None:
    """The attribute says `PythonCore`, but with the other default nobody builds one."""
    main = MAIN.replace("self.core = create", "self.core: PythonCore = create")
    main = main.replace("from pkg.registry", "from pkg.core import PythonCore\n    from pkg.registry")
    untold = REGISTRY.replace('def create(name, parts) -> "Core":', "def create(name, parts):")
    result = run(tmp_path, tree("rust", **{"pkg/main.py": main, "pkg/registry.py": untold}), EVICT, OURS, INT8)
    assert found(result) == {"default-flipped": ["evict"], "bypassed": ["evict", "ours"]}


def test_proposals(tmp_path: Path) -> None:
    """The table between the entry point and the eviction is found, and the live helper gets none."""
    evict = hunk("evict", "self._ours()")
    assert propose(facts_of(tree(), tmp_path), [evict, INT8]) == {"p/evict": (ENTRY,)}
    assert propose(facts_of(tree("rust"), tmp_path), [INT8]) == {}


def test_a_tree_walked_before_gives_the_same_proposals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tape that is kept with a linked tree says what reading its scopes said."""
    evict = hunk("evict", "self._ours()")
    texts = {path: textwrap.dedent(text).encode() for path, text in tree().items()}
    blobs = {blob_id(content): content for content in texts.values()}
    listing = {path: blob_id(content) for path, content in texts.items()}

    def opened() -> Facts:
        source = ListingTree(listing_key(listing), listing, lambda ids: ((i, blobs[i]) for i in ids))
        return open_facts(tmp_path / "cache", source, Settings(entries=("pkg.main",)))

    assert propose(opened(), [evict, INT8]) == {"p/evict": (ENTRY,)}
    monkeypatch.setattr(Scanner, "process", lambda *_: pytest.fail("a scope was read again"))
    assert propose(opened(), [evict, INT8]) == {"p/evict": (ENTRY,)}


def test_import_writes_down_what_a_patch_relies_on(tmp_path: Path) -> None:
    texts = {path: textwrap.dedent(text).lstrip("\n") for path, text in tree().items()}
    head, _, rest = series("v1.0.0", patches=[]).partition("\n\n[upstream]")
    case = Case(
        tmp_path,
        upstream={"v1.0.0": texts},
        patchset={"series.toml": f'{head}\nentries = ["pkg.main"]\n\n[upstream]{rest}\n'},
    )
    old = texts["pkg/component.py"]
    new = old.replace("        self._ours()\n", "        self._ours()\n        self._log = 1\n")
    new = new.replace("    def _int8(self): ...\n", "    def _int8(self):\n        return 1\n")
    lines = [old.splitlines(keepends=True), new.splitlines(keepends=True)]
    (tmp_path / "fix.diff").write_text("".join(unified_diff(*lines, "a/pkg/component.py", "b/pkg/component.py")))
    command = ("import", str(tmp_path / "fix.diff"), "--onto", "v1.0.0", "--as")
    done = case.run(*command, "fix")
    assert done.exit == 0, done.stderr
    text = (case.project / "patchset/fix/patch.toml").read_text()
    assert text.count("relies") == 1
    assert ENTRY in text
    assert f"`fix/component-next-after` relies on `{ENTRY}`" in done.stderr
    assert "patchset/fix/patch.toml" in done.stderr
    assert case.run("defaults", "--tag", "v1.0.0").exit == 0
    (case.project / "patchset/series.toml").write_text(
        (case.project / "patchset/series.toml").read_text().replace('"fix"', "")
    )
    assert case.run(*command, "plain", "--no-relies").exit == 0
    assert "relies" not in (case.project / "patchset/plain/patch.toml").read_text()


def test_import_says_once_what_many_hunks_rely_on() -> None:
    """A fork of 544 hunks printed a line for each of them."""
    found = {f"fix/h{number}": (ENTRY,) for number in range(23)} | {"fix/two": (ENTRY, "default OTHER == 1")}
    many, one = _told("fix", found)
    assert many.startswith(f"23 hunks rely on `{ENTRY}`: ")
    assert "`fix/h0`, `fix/h1`, `fix/h2` and 20 more; " in many
    assert "h3" not in many
    assert one.startswith(f"`fix/two` relies on `{ENTRY}` and `default OTHER == 1`: ")


def test_the_commands(tmp_path: Path) -> None:
    """Pinned in series.toml: exit 0 and a note; without the pin: exit 1 and both kinds."""
    evict = f"""
        id = "evict"
        file = "pkg/component.py"
        scope = "Component._next"
        place = "after"
        at = "self._ours()"
        lines = "self._int8()"
        relies = ['{ENTRY}']
        """
    extra = 'entries = ["pkg.main"]\n[environment]\nCORE_BACKEND = "python"\n'
    head, _, rest = series("v1.0.0", patches=["p"]).partition("\n\n[upstream]")
    texts = {
        tag: {p: textwrap.dedent(t) for p, t in tree(d).items()}
        for tag, d in (("v1.0.0", "python"), ("v1.1.0", "rust"))
    }
    texts["v1.1.0"]["pkg/component.py"] = texts["v1.1.0"]["pkg/component.py"].replace(
        "def _int8(self)", "def _int8(self, x)"
    )
    patchset = {
        "p/patch.toml": patch_toml(evict),
        "series.toml": f'{head}\nentries = ["pkg.main"]\n\n[upstream]{rest}\n' + extra.partition("\n")[2],
    }
    case = Case(tmp_path, upstream=texts, patchset=patchset)
    assert case.run("rebase", "v1.0.0").exit == 0  # stores the first release
    pinned = case.run("defaults", "--tag", "v1.1.0", json=True)
    assert (pinned.exit, pinned.json["findings"], len(pinned.json["notes"])) == (0, [], 1)
    free = case.run("defaults", "--tag", "v1.1.0", "--no-pins", json=True)
    assert (free.exit, [f["kind"] for f in free.json["findings"]]) == (1, ["default-flipped", "bypassed"])
    assert case.run("defaults", "--tag", "v1.1.0", "--assume", "CORE_BACKEND").exit == 2
    assert "pinned" in case.run("defaults", "--tag", "v1.1.0").stdout
    lost = case.run("survive", "--tag", "v1.1.0", json=True)
    assert (lost.exit, [f["kind"] for f in lost.json["findings"]]) == (1, ["signature-changed"])
    assert "it requires `x`" in lost.json["findings"][0]["message"]
    assert "signature-changed" in case.run("survive", "--tag", "v1.1.0", "p").stdout
    assert case.run("survive", "--tag", "v1.0.0").exit == 0
