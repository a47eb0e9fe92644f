"""A prepared environment: taken as it is, held against the proof that travels with the wheel."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

import pytest

from .test_command import FILES, PLAN, project, wheel_of  # noqa: F401  # a fixture


@pytest.fixture
def site(project):  # noqa: F811
    """The patched package in a folder of its own, and its proof."""
    project.write({"serve/smoke.toml": PLAN.replace("STEP", "long-prefill")})
    assert project.run("build", "v1.0.0", "--wheel-only", "-o", "out").exit == 0
    (wheel,) = (project.project / "out").glob("*.whl")
    folder = project.project / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return project, folder, wheel.with_suffix(".proof.json")


def smoke(case, folder, proof, *more):
    return case.run("smoke", "v1.0.0", "--python", sys.executable, "--site", str(folder), "--proof", str(proof), *more)


def test_it_is_served_without_a_store(site):
    case, folder, proof = site
    (folder / "served" / "extra").mkdir()
    result = smoke(case, folder, proof, "--json=-")
    data = json.loads(result.stdout)
    assert result.exit == 0, result.stderr
    assert data["given"] and "given: 1.0.0+rk." in data["steps"][0]["text"]
    assert {effect["hunk"]: effect["ranks"]["TP1"] for effect in data["effects"]} == {
        "p/price": "ran 1/1",
        "p/long": "ran 1/1",
    }


def test_files_may_be_left_out_but_not_changed(site):
    case, folder, proof = site
    content = json.loads(proof.read_text())
    content["content"]["files"] |= {"served/tests/a.py": "sha256=x", "served/core.so": "sha256=x"}
    proof.write_text(json.dumps(content))
    result = smoke(case, folder, proof, "--only", "rust")
    assert result.exit == 0 and "left out: served/tests (1), core.so" in result.stdout
    (folder / "served" / "core.so").write_text("compiled for somebody else")
    assert smoke(case, folder, proof, "--only", "rust").exit == 4
    (folder / "served" / "core.so").unlink()
    (folder / "served" / "rank.py").write_text("x = 1\n")
    result = smoke(case, folder, proof, "--only", "rust")
    assert result.exit == 4 and "would not serve the wheel: changed" in result.stderr


def test_the_series_has_to_be_there(site):
    case, folder, proof = site
    (folder / "served" / "pool.py").write_text(FILES["served/pool.py"])
    result = smoke(case, folder, proof, "--only", "rust")
    assert result.exit == 4 and "not-patched `served/pool.py`" in result.stderr
    (folder / "served" / "pool.py").unlink()
    result = smoke(case, folder, proof, "--only", "rust")
    assert result.exit == 4 and "missing `served/pool.py`" in result.stderr


def test_another_copy_before_it(site):
    case, folder, proof = site
    older = case.project / "older" / "served"
    older.mkdir(parents=True)
    (older / "__init__.py").write_text("")
    result = smoke(case, folder, proof, "--site", str(older.parent), "--only", "rust")
    assert result.exit == 4 and "second-copy" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--python", "x"), "needs --python and --site"),
        (("--proof", "x"), "--proof is for a prepared environment"),
        (("--python", "x", "--site", "y", "--pristine"), "and is patched"),
        (("--only", "rusty"), "`rusty` is no launch"),
    ],
)
def test_what_does_not_go_together(site, arguments, message):
    case, _, _ = site
    result = case.run("smoke", "v1.0.0", *arguments)
    assert result.exit == 2 and message in result.stderr


def test_a_proof_of_something_else(site):
    case, folder, proof = site
    proof.write_text(proof.read_text().replace('"tag": "v1.0.0"', '"tag": "v2.0.0"'))
    assert "is the proof of v2.0.0, not of v1.0.0" in smoke(case, folder, proof).stderr
    Path(proof).write_text("{}")
    result = smoke(case, folder, proof)
    assert result.exit == 2 and "is no proof of a build" in result.stderr


def test_a_wheel_for_another_python(site):
    case, _, _ = site
    wheel = wheel_of(case.project, {**FILES, "served/core.cpython-399.so": "compiled"})
    other = wheel.rename(wheel.with_name("served-1.0.0-cp399-cp399-linux_x86_64.whl"))
    result = case.run("build", "v1.0.0", "--wheel-only", "-o", "other", "--from", str(other))
    assert result.exit == 0, result.stderr
    (made,) = (case.project / "other").glob("served-1.0.0+rk.*-cp399-cp399-linux_x86_64.whl")
    assert "served/core.cpython-399.so" in zipfile.ZipFile(made).namelist()
    changed = wheel_of(case.project, {**FILES, "served/rank.py": "x = 1\n"})
    changed = changed.rename(changed.with_name("served-1.0.0-cp398-cp398-linux_x86_64.whl"))
    result = case.run("build", "v1.0.0", "--wheel-only", "-o", "other", "--from", str(changed))
    assert result.exit == 2 and "`served/rank.py` differs" in result.stderr
    assert case.run("build", "v1.0.0", "--from", str(other)).exit == 2
