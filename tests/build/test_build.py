"""`rebasekit build` and `verify-install` on a small project, down to an environment of its own."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from harness import Case, patch_toml

from rebasekit.model.tag import Tag
from rebasekit.steps import build as step
from rebasekit.steps.build_proof import Wheel, base_of, prove
from rebasekit.steps.build_tests import PatchTests, unpack
from rebasekit.steps.workspace import Workspace
from rebasekit.upstream.store import Store

from .conftest import FILES, make_wheel

SOURCES = {name: data.decode() for name, data in FILES.items() if not name.endswith(".so")}
HUNK = 'id = "two"\nfile = "pkg/core.py"\nscope = "answer"\nplace = "replace"\nat = "return 1"\nlines = "return 2"'
NEW = 'id = "new"\nfile = "pkg/new.py"\nplace = "new-file"\nlines = "import pkg.core\\n\\ny = pkg.core.answer()\\n"'


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project whose releases come from git and whose wheels are made here."""
    case = Case(
        tmp_path, upstream={"v1.0.0": SOURCES, "v1.1.0": SOURCES}, patchset={"p/patch.toml": patch_toml(HUNK, NEW)}
    )
    metadata = b"Metadata-Version: 2.1\nName: pkg\nVersion: 1.0.0\n\n"
    wheels = {v: make_wheel(tmp_path / "wheels", version=v, metadata=metadata) for v in ("1.0.0", "1.1.0")}
    monkeypatch.setattr(Store, "wheel", lambda self, tag, progress=None: wheels[tag.version])
    return case


def workspace(case):
    return Workspace(root=case.project, cache=case.cache)


def test_wheel_only(project):
    result = project.run("build", "v1.1.0", "--wheel-only", "--json=-")
    assert result.exit == 0, result.stderr
    (built,) = json.loads(result.stdout)["builds"]
    assert built["ok"] and built["wheel"]["patched"] == ["pkg/core.py", "pkg/new.py"]
    with zipfile.ZipFile(project.project / built["wheel"]["path"]) as archive:
        assert b"return 2" in archive.read("pkg/core.py")


def test_a_python_that_the_deployment_does_not_run(project):
    path = project.project / "patchset/series.toml"
    path.write_text('requires-python = "<3.9"\n' + path.read_text())
    result = project.run("build", "v1.1.0")
    assert result.exit == 4 and "`<3.9` (`requires-python` of series.toml)" in result.stderr
    assert not (project.project / "dist").exists()
    assert project.run("build", "v1.1.0", "--wheel-only").exit == 0


def test_install_verify_and_import(project, monkeypatch):
    """An environment of its own, found right, then spoiled and found wrong by the command; the wheel is
    named from where one stands.
    """
    monkeypatch.chdir(project.root)
    built = step.build(workspace(project), Tag.parse("v1.1.0"), Path("dist"))
    assert built.ok and [each.module for each in built.imports] == ["pkg.core", "pkg.new"]
    assert all(each.memory > 1_000_000 for each in built.imports)
    result = project.run("verify-install", "v1.1.0", "--json=-")
    assert result.exit == 0 and json.loads(result.stdout)["findings"] == []
    (built.environment.site / "pkg" / "core.py").write_text("def answer():\n    return 1\n")
    result = project.run("verify-install", "v1.1.0")
    assert result.exit == 1 and "FAIL  not-patched pkg/core.py" in result.stdout


def test_a_module_that_does_not_import(project):
    project.write({"patchset/p/patch.toml": patch_toml(HUNK, NEW.replace("pkg.core.answer()", "pkg.core.gone()"))})
    built = step.build(workspace(project), Tag.parse("v1.0.0"), project.root / "dist")
    assert not built.ok
    failed = {each.module: each.error for each in built.imports if each.error}
    assert failed == {"pkg.new": "AttributeError: module 'pkg.core' has no attribute 'gone'"}


def test_a_module_that_ends_its_process_does_not_hide_the_next(project):
    ends = NEW.replace("import pkg.core\\n", "import os, pkg.core\\nos._exit(7)\\n")
    assert ends != NEW
    project.write(
        {"patchset/p/patch.toml": patch_toml(HUNK, ends, NEW.replace("new", "next").replace("next-file", "new-file"))}
    )
    built = step.build(workspace(project), Tag.parse("v1.0.0"), project.root / "dist")
    assert {each.module: each.error for each in built.imports} == {
        "pkg.core": "",
        "pkg.new": "ended with 7",
        "pkg.next": "",
    }


def test_a_hunk_without_a_place_builds_nothing(project):
    project.tag("v1.2.0", {**SOURCES, "pkg/core.py": "def other():\n    return 3\n"})
    result = project.run("build", "v1.2.0", "--wheel-only")
    assert result.exit == 4 and "has no place on v1.2.0" in result.stderr
    assert not (project.project / "dist").exists()


def test_without_a_release_named_or_mapped(project):
    result = project.run("build")
    assert result.exit == 2 and "no release is named" in result.stderr


def test_environments_are_shared_by_requirements_not_by_release(project):
    space = workspace(project)
    proofs = [prove(space, Tag.parse(tag)) for tag in ("v1.0.0", "v1.1.0")]
    assert base_of(space, proofs[0]) == base_of(space, proofs[1])


def test_an_environment_that_a_killed_run_left_is_made_anew(project):
    space = workspace(project)
    base = base_of(space, prove(space, Tag.parse("v1.0.0")))
    (base.folder / "rebasekit.json").unlink()
    (base.site / "half.py").write_text("")
    again = base_of(space, prove(space, Tag.parse("v1.0.0")))
    assert again == base and not (base.site / "half.py").exists()


def test_a_tree_is_unpacked_again_only_for_another_wheel(tmp_path, upstream):
    tree = unpack(upstream, tmp_path / "tree")
    (tree / "mark").touch()
    assert (unpack(upstream, tree) / "mark").exists()
    other = make_wheel(tmp_path / "other", files={"pkg/__init__.py": b""})
    assert not (unpack(other, tree) / "mark").exists()


def test_no_test_that_ran_is_a_failure(tmp_path):
    from collections import Counter

    assert not PatchTests("p", Counter(), (), 0.0, 0, tmp_path).ok
    assert not PatchTests("p", Counter(skipped=3), (), 0.0, 0, tmp_path).ok
    assert PatchTests("p", Counter(passed=1), (), 0.0, 0, tmp_path).ok


def test_summary_and_lines(project):
    """What `nox -s series` prints and writes: one line per release, versions below."""
    from collections import Counter

    from rebasekit.commands._series import summary
    from rebasekit.commands._serving import line_of

    space, tag = workspace(project), Tag.parse("v1.1.0")
    proof = prove(space, tag)
    tested = PatchTests("p", Counter(passed=3, skipped=1), (), 12.0, 950_000_000, project.root)
    built = step.Built(Wheel(project.root / "x.whl", proof), base_of(space, proof), tests=(tested,))
    assert line_of(built) == "ok   v1.1.0  p: 3 passed, 1 skipped in 12 s, 950 MB"
    text = summary(space, [built], trees=True)
    assert "`nox -s series`" in text and "unpacked twice" in text
    installed = summary(space, [built], trees=False)
    assert "`nox -s build`" in installed and "unpacked twice" not in installed
    assert installed.count("\n") == text.count("\n")
    assert "| v1.1.0 | p | 3 | 0 | 1 | 12 | 950 MB |" in text and text.startswith("# ")
    failed = step.Built(built.wheel, tests=(PatchTests("p", Counter(failure=1), ("t::x",), 1.0, 0, project.root),))
    assert line_of(failed).startswith("FAIL v1.1.0") and not failed.ok
    assert line_of(step.Built(built.wheel)).startswith("FAIL") and "no tests" in line_of(step.Built(built.wheel))
