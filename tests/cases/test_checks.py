"""A clean merge that is not a pass: the same public failures, through `rebase` with all checks on."""

from __future__ import annotations

import shutil
import sys
import textwrap
from pathlib import Path

import pytest
from harness import Case, Result, patch_toml

SERIES = """
base = "v1.0.0"
patches = ["fix"]
entries = ["app.main"]

[upstream]
kind = "git"
url = "@UPSTREAM@"
"""


def text(source: str) -> str:
    return textwrap.dedent(source).lstrip("\n")


def hunk(**keys: object) -> str:
    return "\n".join(f"{k} = {v!r}" if isinstance(v, (int, list)) else f"{k} = '''{v}'''" for k, v in keys.items())


def carry(tmp_path: Path, old: dict[str, str], new: dict[str, str], *hunks: str, series: str = SERIES) -> Result:
    trees = {"v1.0.0": {p: text(t) for p, t in old.items()}, "v1.1.0": {p: text(t) for p, t in new.items()}}
    case = Case(tmp_path, upstream=trees, patchset={"series.toml": series, "fix/patch.toml": patch_toml(*hunks)})
    first = case.run("rebase", "v1.0.0")
    assert first.exit == 0, first.stdout + first.stderr
    result = case.run("rebase", "v1.1.0")
    assert result.json is not None, result.stderr
    return result


def messages(result: Result, kind: str) -> list[str]:
    return [f["message"] for h in result.json["hunks"] for f in h["findings"] if f["kind"] == kind]


UTIL = "def is_cuda():\n    return True\n\n\ndef is_musa():\n    return False\n\n\ndef is_npu():\n    return False\n"
MAIN = """
    from app.util import is_cuda, is_musa, is_npu
    from app.pool import build


    def choose(x):
        if is_cuda():
            return 1
        return 2 if is_musa() or is_npu() else 3


    def run(config):
        pool = build(config)
        pool.load(config)
        return pool


    if __name__ == "__main__":
        run({})
"""
POOL = """
    class Base:
        def load(self, config):
            return config


    class Pool(Base):
        def load(self, config):
            return len(config)


    def build(config):
        return Pool()
"""
TREE = {"app/__init__.py": "", "app/util.py": UTIL, "app/main.py": MAIN, "app/pool.py": POOL}


def test_names_left_behind(tmp_path: Path) -> None:
    """The hunk moves with its function; what it calls is no longer imported where it lands."""
    helper = "\n    def choose(x):\n        value = probe(x)\n        return value + 1\n"
    old = TREE | {
        "app/main.py": MAIN.replace(
            "    def choose(x):\n        if is_cuda():\n            return 1\n"
            "        return 2 if is_musa() or is_npu() else 3\n",
            helper.lstrip("\n"),
        )
    }
    assert "value = probe(x)" in old["app/main.py"]
    old["app/main.py"] = old["app/main.py"].replace("from app.pool import build", "from app.pool import build, probe")
    old["app/pool.py"] = POOL + "\n\n    def probe(x):\n        return x\n"
    new = dict(old)
    new["app/main.py"] = old["app/main.py"].replace("    from app.util import is_cuda, is_musa, is_npu\n", "")
    ours = hunk(
        id="h",
        file="app/main.py",
        scope="choose",
        place="after",
        at="value = probe(...)",
        lines="if is_cuda() or is_musa() or is_npu():\n    value += 1",
    )
    result = carry(tmp_path, old, new, ours)
    assert result.exit == 1
    assert len(messages(result, "unbound")) == 3


def test_new_file_never_conflicts(tmp_path: Path) -> None:
    old = TREE | {"app/merge.py": "def merge_state(a, b):\n    return a + b\n"}
    new = TREE | {"app/ops/__init__.py": "", "app/ops/merge.py": "def merge_state(a, b):\n    return a + b\n"}
    ours = hunk(
        id="h",
        file="app/ours.py",
        place="new-file",
        lines="from app.merge import merge_state\n\n\ndef both(a):\n    return merge_state(a, a)\n",
    )
    result = carry(tmp_path, old, new, ours)
    assert result.exit == 1
    assert any("app.ops.merge" in m for m in messages(result, "api-moved"))


def test_dead_class(tmp_path: Path) -> None:
    new = TREE | {"app/pool.py": POOL.replace("return Pool()", "return Base()")}
    ours = hunk(id="h", file="app/pool.py", scope="Pool.load", place="first", lines="config = dict(config)")
    result = carry(tmp_path, TREE, new, ours)
    assert result.exit == 1
    assert {"unconstructed", "uncalled"} & {f["kind"] for f in result.hunk("h")["findings"]}


def test_needs_constructed(tmp_path: Path) -> None:
    new = TREE | {"app/pool.py": POOL.replace("return Pool()", "return Base()")}
    ours = hunk(
        id="h", file="app/util.py", scope="is_cuda", place="first", lines="x = 1", needs=["constructed app.pool.Pool"]
    )
    result = carry(tmp_path, TREE, new, ours)
    assert (result.exit, result.kinds) == (1, ["unconstructed"])


def test_builder_nobody_calls(tmp_path: Path) -> None:
    new = TREE | {
        "app/main.py": MAIN.replace("pool = build(config)", "pool = Base()").replace("import build", "import Base")
    }
    ours = hunk(id="h", file="app/pool.py", scope="Pool", place="first", lines="limit = 8")
    result = carry(tmp_path, TREE, new, ours)
    assert (result.exit, result.kinds) == (1, ["builder-uncalled"])


def test_builder_that_is_gone(tmp_path: Path) -> None:
    """The second half: the builder goes too, the class stays and nothing builds it."""
    main = MAIN.replace("pool = build(config)", "pool = Base()").replace("import build", "import Base")
    pool = POOL.replace("\n\n    def build(config):\n        return Pool()\n", "")
    assert "build" not in pool
    ours = hunk(id="h", file="app/pool.py", scope="Pool", place="first", lines="limit = 8")
    result = carry(tmp_path, TREE, TREE | {"app/main.py": main, "app/pool.py": pool}, ours)
    assert (result.exit, result.kinds) == (1, ["unconstructed"])


def test_a_text_that_names_the_class_builds_nothing(tmp_path: Path) -> None:
    """Case 23 through a rebase: what is left of the construction is a docstring, a comment and a message."""
    pool = POOL.replace(
        "return Pool()", '"""Was Pool(config)."""\n        # Pool()\n        return Base()  # not Pool(1)'
    )
    ours = hunk(id="h", file="app/pool.py", scope="Pool", place="first", lines="limit = 8")
    result = carry(tmp_path, TREE, TREE | {"app/pool.py": pool}, ours)
    assert (result.exit, result.kinds) == (1, ["unconstructed"])


def test_upstream_builds_a_subclass_now(tmp_path: Path) -> None:
    sub = (
        POOL.replace("return Pool()", "return SubPool()")
        + "\n\n    class SubPool(Pool):\n        def load(self, config):\n            return 0\n"
    )
    ours = hunk(id="h", file="app/pool.py", scope="Pool", place="first", lines="limit = 8")
    result = carry(tmp_path, TREE, TREE | {"app/pool.py": sub}, ours)
    assert (result.exit, result.kinds) == (1, ["subclass-only"])


def test_body_without_its_parameter(tmp_path: Path) -> None:
    old = TREE | {"app/pool.py": POOL.replace("def build(config):", "def build(config, size=1):")}
    ours = hunk(id="h", file="app/pool.py", scope="build", place="first", lines="config = dict(config, size=size)")
    result = carry(tmp_path, old, TREE, ours)
    assert (result.exit, [k for k in result.kinds if k == "unbound"]) == (1, ["unbound"])


def test_import_in_a_branch(tmp_path: Path) -> None:
    head = "from app.util import is_cuda, is_musa, is_npu\n"
    branches = "{}    if is_cuda():\n        {}\n    elif is_musa():\n        {}\n    else:\n        {}\n"
    pool, base = "from app.pool import Base, Pool", "from app.pool import Base"
    both, one = branches.format(head, pool, pool, pool), branches.format(head, base, pool, base)
    old, new = TREE | {"app/main.py": MAIN.replace(head, both)}, TREE | {"app/main.py": MAIN.replace(head, one)}
    ours = hunk(id="h", file="app/main.py", scope="choose", place="first", lines="x = Pool()")
    result = carry(tmp_path, old, new, ours)
    assert (result.exit, result.kinds) == (1, ["unbound"])
    assert "is_musa" in messages(result, "unbound")[0]


DEFAULT = """
    import os


    def core(kind=None):
        kind = kind or os.environ.get("APP_CORE", "python")
        return CORES[kind]()


    class PythonCore:
        def load(self, config):
            return self.evict(config)

        def evict(self, config):
            return 1


    class RustCore:
        def load(self, config):
            return 2


    CORES = {"python": PythonCore, "rust": RustCore}
"""


def test_default_flips(tmp_path: Path) -> None:
    old = TREE | {
        "app/core.py": DEFAULT,
        "app/main.py": MAIN.replace("pool = build(config)", "pool = core()").replace(
            "app.pool import build", "app.core import core"
        ),
    }
    new = old | {"app/core.py": DEFAULT.replace('"APP_CORE", "python"', '"APP_CORE", "rust"')}
    relies = ['default APP_CORE == "python"']
    ours = hunk(
        id="h",
        file="app/core.py",
        scope="PythonCore.evict",
        place="first",
        lines="config = dict(config)",
        relies=relies,
    )
    result = carry(tmp_path / "a", old, new, ours)
    assert result.exit == 1
    assert "default-flipped" in result.kinds
    pinned = SERIES + '\n[environment]\nAPP_CORE = "python"\n'
    assert carry(tmp_path / "b", old, new, ours, series=pinned).exit == 0


def test_override_whose_base_grew(tmp_path: Path) -> None:
    new_pool = POOL.replace(
        "class Base:\n        def load(self, config):", "class Base:\n        def load(self, config, *, strict):"
    )
    new = TREE | {"app/pool.py": new_pool}
    ours = hunk(
        id="h",
        file="app/ours.py",
        place="new-file",
        lines="from app.pool import Base\n\n\nclass Ours(Base):\n"
        "    def load(self, config):\n        return super().load(config)\n",
    )
    result = carry(tmp_path, TREE, new, ours)
    assert result.exit == 1
    assert messages(result, "signature-changed")
    assert messages(result, "review-due") == ["what it uses did not survive as it was: `Base.load`"]


def test_patched_file_that_this_python_cannot_read(tmp_path: Path) -> None:
    ours = hunk(id="h", file="app/ours.py", place="new-file", lines="def broken(:\n")
    case = Case(
        tmp_path,
        upstream={"v1.0.0": TREE | {"app/main.py": text(MAIN)}},
        patchset={"series.toml": SERIES, "fix/patch.toml": patch_toml(ours)},
    )
    result = case.run("rebase", "v1.0.0")
    assert result.exit != 0
    assert "unread" in result.kinds


def test_upstream_file_that_this_python_cannot_read(tmp_path: Path) -> None:
    """Our class's base is in it: what its methods take now is not known, and that is no pass."""
    ours = hunk(
        id="h",
        file="app/ours.py",
        place="new-file",
        lines="from app.pool import Base\n\n\nclass Ours(Base):\n    def load(self, config):\n        return config\n",
    )
    result = carry(tmp_path, TREE, TREE | {"app/pool.py": POOL + "\n\n    def broken(:\n"}, ours)
    assert result.exit == 1
    assert any("app/pool.py" in message for message in messages(result, "unread"))


@pytest.mark.parametrize("command", ["rebase v1.0.0", "unbound --tag v1.0.0", "unbound --patched v1.0.0"])
def test_a_check_that_cannot_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    """Without pyflakes nothing is written and nothing passes."""
    ours = hunk(id="h", file="app/util.py", scope="is_cuda", place="first", lines="x = 1")
    case = Case(
        tmp_path,
        upstream={"v1.0.0": TREE | {"app/main.py": text(MAIN), "app/pool.py": text(POOL)}},
        patchset={"series.toml": SERIES, "fix/patch.toml": patch_toml(ours)},
    )
    assert case.run("rebase", "v1.0.0").exit == 0
    before = case.snapshot()
    monkeypatch.setitem(sys.modules, "pyflakes", None)
    shutil.rmtree(case.cache / "checks")  # or the answer from before is the answer
    result = case.run(*command.split())
    assert result.exit == 4
    assert "pyflakes" in result.stderr
    assert case.snapshot() == before


def test_everything_fine_says_nothing(tmp_path: Path) -> None:
    ours = hunk(id="h", file="app/pool.py", scope="Pool.load", place="first", lines="config = dict(config)")
    new = TREE | {"app/pool.py": POOL.replace("return len(config)", "return len(config) + 1")}
    result = carry(tmp_path, TREE, new, ours)
    assert (result.exit, result.kinds) == (0, [])


STACK = """
    class Boundary:
        def finish_stack(self, x):
            return x
"""
LAYERS = """
    from app.stack import Boundary


    def run(layers, x):
        for layer in layers:
            x = layer(x)
        return x
"""


def test_a_method_of_an_unknown_object_that_is_gone(tmp_path: Path) -> None:
    """lsglang 1.6.0 on SGLang v0.5.22: git merges it without a word; the refactoring took the method's last owner."""
    old = {"app/main.py": LAYERS, "app/stack.py": STACK}
    new = {
        "app/main.py": LAYERS.replace("x = layer(x)", "x = layer(x, None)"),
        "app/stack.py": "class Boundary:\n    pass\n",
    }
    ours = hunk(
        id="finish",
        file="app/main.py",
        scope="run",
        place="before",
        at="return x",
        lines="x = layers[-1].boundary.finish_stack(x)",
    )
    result = carry(tmp_path, old, new, ours)
    assert result.placements == {"fix/finish": "shifted"}
    assert messages(result, "api-gone") == ["nothing in v1.1.0 has a `finish_stack` any more"]
    assert result.exit == 1
