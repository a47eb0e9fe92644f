"""`doctor`: one line per check, and it changes nothing."""

from __future__ import annotations

import pytest


def by_name(result):
    return {check["name"]: check for check in result.json["checks"]}


def test_a_working_machine(project):
    before = project.snapshot()
    result = project.run("doctor", json=True)
    assert (result.exit, result.stderr) == (0, "")
    checks = by_name(result)
    assert checks["patchset"]["message"].endswith("2 patches, 3 hunks, base v1.0.0")
    assert {
        checks[name]["state"] for name in ("python", "git", "pip", "cache", "releases", "patchset", "upstream")
    } == {"ok"}
    assert {"extra serve", "extra plots", "extra dev"} <= checks.keys()
    assert project.snapshot() == before
    assert not project.cache.exists()
    text = project.run("doctor")
    assert text.stdout.startswith("ok    python: 3.")


def test_a_broken_patchset_makes_the_main_job_impossible(project):
    project.write({"patchset/series.toml": "base = 1\n"})
    result = project.run("doctor", json=True)
    assert result.exit == 4
    assert by_name(result)["patchset"]["state"] == "fail"
    assert result.json["ok"] is False


@pytest.mark.parametrize(("wanted", "state"), [(">=3.9", "ok"), ("<3.9", "warn")])
def test_the_python_of_the_deployment(project, wanted, state):
    path = project.project / "patchset/series.toml"
    path.write_text(f'requires-python = "{wanted}"\n' + path.read_text())
    result = project.run("doctor", json=True)
    assert (result.exit, by_name(result)["python"]["state"]) == (0, state)


def test_no_git(project, tmp_path):
    (tmp_path / "bin").mkdir()
    result = project.run("doctor", "--offline", json=True, env={"PATH": str(tmp_path / "bin")})
    assert (result.exit, by_name(result)["git"]["state"]) == (4, "fail")


def test_an_old_git(project, tmp_path):
    (tmp_path / "bin").mkdir()
    git = tmp_path / "bin" / "git"
    git.write_text("#!/bin/sh\necho git version 2.30.1\n")
    git.chmod(0o755)
    check = by_name(project.run("doctor", "--offline", json=True, env={"PATH": f"{git.parent}:/usr/bin:/bin"}))["git"]
    assert check["state"] == "fail"
    assert "2.30.1 is too old" in check["message"]


@pytest.mark.parametrize(("stored", "state", "code"), [(False, "fail", 4), (True, "warn", 0)])
def test_no_network_is_an_error_only_without_stored_releases(project, monkeypatch, stored, state, code):
    from rebasekit.commands import _checkup
    from rebasekit.model.tag import Tag

    monkeypatch.setattr(_checkup, "stored", lambda cache, series: [Tag("v1.0.0")] if stored else [])
    project.write(
        {"patchset/series.toml": 'base = "v1.0.0"\npatches = ["first"]\n[upstream]\nkind = "pypi"\npackage = "x"\n'}
    )
    index = {"PIP_INDEX_URL": "http://user:secret@127.0.0.1:9/simple", "PIP_NO_INDEX": ""}
    result = project.run("doctor", json=True, env=index)
    assert (result.exit, by_name(result)["index"]["state"]) == (code, state)
    assert "secret" not in result.stdout


def test_a_cache_that_cannot_be_written(project):
    (project.root / "file").write_text("")
    result = project.run("doctor", "--offline", "--cache", str(project.root / "file" / "cache"), json=True)
    assert by_name(result)["cache"]["state"] == "fail"
