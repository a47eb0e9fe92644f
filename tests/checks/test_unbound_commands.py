"""`tools/unbound` and `tools/churn` as commands: options, JSON shapes, exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import ROOT, Case, patch_toml

OLD = {"pkg/__init__.py": "", "pkg/a.py": "def one():\n    return 1\n", "pkg/b.py": "def two():\n    return 2\n"}
NEW = {
    "pkg/__init__.py": "",
    "pkg/a.py": "def one():\n    return 1\n\n\ndef more():\n    return 2\n",
    "pkg/c.py": "def f():\n    return gone\n",
}
HUNK = 'id = "h"\nfile = "pkg/a.py"\nscope = "one"\nplace = "first"\nlines = "helper()"'


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path, upstream={"v1.0.0": OLD, "v1.1.0": NEW}, patchset={"p/patch.toml": patch_toml(HUNK)})


def test_executables_are_the_same_lines() -> None:
    texts = {(ROOT / "tools" / name).read_text() for name in ("reach", "unbound", "churn")}
    assert len(texts) == 1
    assert all((ROOT / "tools" / name).stat().st_mode & 0o111 for name in ("unbound", "churn"))


def test_unbound_on_a_release(case: Case) -> None:
    result = case.run("unbound", "--tag", "v1.1.0", "--json")
    assert result.exit == 1
    (finding,) = result.json["findings"]
    assert {"kind": "unbound", "file": "pkg/c.py", "line": 2, "name": "gone"}.items() <= finding.items()
    assert "gone" in finding["message"]
    assert case.run("unbound", "--tag", "v1.1.0", "pkg/a.py", "--json").json == {"findings": []}
    text = case.run("unbound", "--tag", "1.1.0", "pkg")
    assert text.exit == 1 and text.stdout.startswith("pkg/c.py:2: unbound: ")
    assert case.run("unbound", "--tag", "v1.0.0").exit == 0


def test_unbound_on_the_series(case: Case) -> None:
    early = case.run("unbound", "--patched", "v1.1.0")
    assert early.exit == 4 and "rebasekit rebase v1.1.0" in early.stderr
    case.run("rebase", "v1.1.0")
    result = case.run("unbound", "--patched", "v1.1.0", "--json")
    assert [(f["kind"], f["file"], f["name"]) for f in result.json["findings"]] == [("unbound", "pkg/a.py", "helper")]


def test_unbound_needs_a_tag_and_paths_that_are_there(case: Case) -> None:
    assert case.run("unbound").exit == 2
    assert case.run("unbound", "--tag", "v1.0.0", "--patched", "v1.0.0").exit == 2
    wrong = case.run("unbound", "--tag", "v1.0.0", "a.py")
    assert wrong.exit == 2 and "`pkg/a.py`" in wrong.stderr
    assert case.run("unbound", "--tag", "v9.0.0").exit == 4


def test_churn(case: Case) -> None:
    result = case.run("churn", "v1.0.0", "v1.1.0", "--json")
    own, more = {"scope": "", "added": 2, "removed": 0}, {"scope": "more", "added": 2, "removed": 0}
    assert result.exit == 0
    assert result.json == {"files": [{"file": "pkg/a.py", "added": 4, "removed": 0, "scopes": [own, more]}]}
    every = case.run("churn", "v1.0.0", "v1.1.0", "pkg", "--json").json["files"]
    assert [file["file"] for file in every] == ["pkg/a.py", "pkg/b.py", "pkg/c.py"]
    assert case.run("churn", "v1.0.0", "v1.1.0", "pkg/__init__.py", "--json").json["files"][0]["added"] == 0


def test_churn_table(case: Case) -> None:
    result = case.run("churn", "v1.0.0", "v1.1.0")
    row = next(line.split() for line in result.stdout.splitlines() if line.startswith("pkg/a.py"))
    assert row[:3] == ["pkg/a.py", "+4", "−0"] and set(row[3]) == {"+"}
    assert "  more" in result.stdout and "\x1b" not in result.stdout
    wrong = case.run("churn", "v1.0.0", "v1.1.0", "pkg/d.py")
    assert wrong.exit == 2 and "hint:" in wrong.stderr


@pytest.mark.parametrize("verb", ["unbound", "churn"])
def test_help(case: Case, verb: str) -> None:
    result = case.run(verb, "--help")
    assert result.exit == 0 and "example:" in result.stdout
