"""The patches' tests are run by the environment's Python, and their report is read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from harness import Case, patch_toml

from rebasekit.steps.build_env import Environment
from rebasekit.steps.build_tests import run_tests
from rebasekit.steps.workspace import Workspace

HUNK = 'id = "y"\nfile = "a.py"\nscope = ""\nplace = "after"\nat = "x = 1"\nlines = "y = 2"'
TESTS = """
import os, sys, pytest
sys.path.insert(0, os.environ["REBASEKIT_PATCHED_TREE"])
import a

def test_patched(): assert a.y == 2
def test_pristine(): assert not hasattr(a, os.environ["REBASEKIT_PRISTINE_TREE"])
def test_wrong(): assert a.y == 3
@pytest.mark.skip
def test_skipped(): pass
"""


class Here(Environment):
    """This interpreter, which has pytest."""

    @property
    def python(self) -> Path:
        return Path(sys.executable)


def test_counts_and_names(tmp_path):
    patchset = {"p/patch.toml": patch_toml(HUNK), "p/tests/test_a.py": TESTS}
    case = Case(tmp_path, upstream={"v1.0.0": {"a.py": "x = 1\n"}}, patchset=patchset)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "a.py").write_text("x = 1\ny = 2\n")
    space = Workspace(root=case.project, cache=case.cache)
    (tested,) = run_tests(space, Here(tmp_path), tmp_path / "tree", tmp_path / "pristine", tmp_path)
    assert dict(tested.counts) == {"passed": 2, "failure": 1, "skipped": 1}
    assert tested.failed == ("test_a::test_wrong",) and not tested.ok
    assert not list((case.project / "patchset").rglob("__pycache__"))


@pytest.mark.parametrize("installed", [True, False])
def test_the_patches_tests_run_on_an_installation_and_on_a_tree(tmp_path, installed):
    """Neither has torchvision, which the release imports at its top."""
    (tmp_path / "sglang").mkdir()
    (tmp_path / "sglang" / "__init__.py").write_text("import torchvision.io")
    environ = {"REBASEKIT_PATCHED_TREE": str(tmp_path), "PYTHONPATH": str(tmp_path) if installed else ""}
    argv = [sys.executable, "-c", "import tree; tree.require()"]
    helpers = Path(__file__).parents[2] / "patchset" / "tests"
    done = subprocess.run(argv, env=environ, cwd=helpers, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
