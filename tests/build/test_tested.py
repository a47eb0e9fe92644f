"""The patches' tests are run by the environment's Python, and their report is read."""

from __future__ import annotations

import sys
from pathlib import Path

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
