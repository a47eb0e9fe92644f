"""`reach` as a command: shape, exit codes, names that mean several things or nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from harness import ROOT, Case, patch_toml

APP = '''
class Base:
    pass


class Pool(Base):
    """Pool() in a docstring is no construction."""


def build(config):
    if config.fast:
        return None
    return Pool() if config.big else Base()


def main(config):
    build(config).load()


if __name__ == "__main__":
    main(None)
'''
SERIES = 'base = "v1.0.0"\npatches = ["fix"]\nentries = ["app"]\n[upstream]\nkind = "git"\nurl = "@UPSTREAM@"\n'


@pytest.fixture
def case(tmp_path: Path) -> Case:
    hunk = 'id = "h"\nfile = "app.py"\nscope = "main"\nplace = "first"\nlines = "Pool()"'
    twins = "def build():\n    return 1\n"
    return Case(
        tmp_path,
        upstream={"v1.0.0": {"app.py": APP.lstrip(), "other.py": twins}},
        patchset={"series.toml": SERIES, "fix/patch.toml": patch_toml(hunk)},
    )


def test_the_shape_that_stays_stable(case: Case) -> None:
    done = case.run("reach", "Pool", "--json")
    data = json.loads(done.stdout)
    assert (done.exit, data["name"], data["tag"], data["verdict"]) == (0, "app.Pool", "v1.0.0", "live")
    site = data["sites"][0]
    assert {"file", "line", "scope", "how", "guards", "liveness"} <= set(site)
    assert (site["file"], site["line"], site["scope"], site["liveness"]) == ("app.py", 12, "build", "serving")
    assert any("config.fast" in guard for guard in site["guards"])
    assert all(s["line"] != 6 for s in data["sites"])


def test_a_fact_of_the_deployment_rules_it_out(case: Case) -> None:
    done = case.run("reach", "Pool", "--assume", "big=false", "--json")
    assert (done.exit, json.loads(done.stdout)["verdict"]) == (1, "ruled-out")


def test_the_patched_tree(case: Case) -> None:
    before = case.run("reach", "Pool", "--patched", "v1.0.0", "--json")
    assert (before.exit, "rebasekit rebase v1.0.0" in before.stderr) == (4, True)
    assert case.run("rebase", "v1.0.0").exit == 0
    after = json.loads(case.run("reach", "Pool", "--patched", "v1.0.0", "--json").stdout)
    assert {site["scope"] for site in after["sites"]} == {"build", "main"}


def test_names_that_mean_several_things_or_nothing(case: Case) -> None:
    several = case.run("reach", "build")
    assert several.exit == 2
    assert "app.build" in several.stderr
    assert "other.build" in several.stderr
    told = json.loads(case.run("reach", "build", "--json").stdout)
    assert (told["verdict"], told["sites"]) == ("unknown", [])
    assert {match["name"] for match in told["matches"]} >= {"app.build", "other.build"}
    nothing = case.run("reach", "Pol")
    assert nothing.exit == 4
    assert "tools/reach Pool" in nothing.stderr


def test_text_for_people(case: Case) -> None:
    done = case.run("reach", "Pool")
    assert done.stdout.startswith("class app.Pool in v1.0.0, app.py:5: live\n")
    assert "app.py:12: serving" in done.stdout
    assert "\x1b" not in done.stdout


def test_the_executable_and_its_path(case: Case) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "reach"), "Pool"],
        cwd=case.project,
        env=case.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_question_asked_before_is_answered_alike_and_loads_next_to_nothing(case: Case) -> None:
    first = case.run("reach", "Pool", "--json")
    code = (
        "import sys; from rebasekit.cli import main; code = main(['reach', 'Pool', '--json=-']);"
        "print(*sys.modules, file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=case.project, env=case.env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, json.loads(done.stdout)) == (0, json.loads(first.stdout))
    loaded = set(done.stderr.split())
    heavy = {"subprocess", "packaging", "dataclasses", "ast", "multiprocessing", "git", "rich", "tomlkit"}
    assert not loaded & {*heavy, "rebasekit.checks.reach.answer", "rebasekit.facts.query", "rebasekit.model.hunk"}


def test_a_first_question_loads_nothing_that_it_does_not_need(case: Case) -> None:
    case.run("reach", "Pool")  # reads and links
    code = (
        "import sys; from rebasekit.cli import main; code = main(['reach', 'Pool', '--assume', 'other=1', '--json=-']);"
        "print(*sys.modules, file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=case.project, env=case.env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    loaded = set(done.stderr.split())
    assert "rebasekit.checks.reach.answer" in loaded
    heavy = {"dataclasses", "inspect", "threading", "subprocess", "multiprocessing"}
    assert not loaded & {*heavy, "rebasekit.bars", "rebasekit.facts.extract", "rebasekit.facts.link"}


def test_an_answer_is_not_kept_for_another_question(case: Case) -> None:
    for _ in range(2):
        assert json.loads(case.run("reach", "Pool", "--json").stdout)["verdict"] == "live"
        assert json.loads(case.run("reach", "Pool", "--assume", "big=false", "--json").stdout)["verdict"] == "ruled-out"
        assert json.loads(case.run("reach", "Base", "--json").stdout)["name"] == "app.Base"
        assert case.run("reach", "Pool").stdout == case.run("reach", "Pool").stdout


def test_a_warm_question_needs_no_package(case: Case) -> None:
    """The executable, run by a Python without any installed package, does not look for another one."""
    assert case.run("reach", "Pool").exit == 0
    command = [sys.executable, "-S", str(ROOT / "tools" / "reach"), "Pool", "--assume", "fast=false"]
    done = subprocess.run(
        command,
        cwd=case.project,
        env={**case.env, "REBASEKIT_LAUNCHED": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("class app.Pool in v1.0.0")
