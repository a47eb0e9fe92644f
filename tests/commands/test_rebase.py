"""`rebase`: where its reports go. What it finds is tested with the steps."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "report.schema.json").read_text())
CONFLICT = {"pkg/a.py": "def one():\n    return 5\n\n\ndef two():\n    y = 2\n    return y\n"}


def test_json_on_standard_output_is_the_only_thing_there(project):
    result = project.run("rebase", "v1.1.0")
    assert result.exit == 0
    jsonschema.Draft202012Validator(SCHEMA).validate(result.json)
    assert result.placements == {"first/one": "carried", "first/two": "carried", "second/one": "carried"}
    assert "v1.0.0 → v1.1.0: carried 3 — nothing to decide" in result.stderr
    assert "\x1b" not in result.stdout + result.stderr


def test_reports_into_files(project):
    result = project.run("rebase", "v1.1.0", "--json", "r.json", "--markdown", "r.md", json=False)
    assert result.exit == 0
    assert "nothing to decide" in result.stdout
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads((project.project / "r.json").read_text()))
    assert (project.project / "r.md").read_text().startswith("**v1.0.0 → v1.1.0: carried 3")


def test_markdown_on_standard_output(project):
    result = project.run("rebase", "v1.1.0", "--markdown", "-", json=False)
    assert result.stdout.startswith("**v1.0.0")
    assert "nothing to decide" in result.stderr


def test_two_reports_cannot_share_standard_output(project):
    before = project.snapshot()
    assert project.run("rebase", "v1.1.0", "--json", "-", "--markdown", "-").exit == 2
    assert project.snapshot() == before


def test_a_hunk_without_a_place(project):
    project.tag("v1.2.0", CONFLICT)
    result = project.run("rebase", "v1.2.0")
    assert result.exit == result.json["exit"] == 3
    jsonschema.Draft202012Validator(SCHEMA).validate(result.json)
    assert result.hunk("first/one")["placement"] in ("missing", "conflict")
    assert "rebasekit resolve first/one --tag v1.2.0" in result.json["next"]


@pytest.mark.parametrize("argv", [("banana",), ("-x",), ("v1.1.0", "--only", "none"), ("v1.1.0", "--from", "../x")])
def test_usage(project, argv):
    before = project.snapshot()
    result = project.run("rebase", *argv, json=False)
    assert (result.exit, result.stdout) == (2, "")
    assert "error: " in result.stderr
    assert project.snapshot() == before


def test_a_tag_that_does_not_exist(project):
    result = project.run("rebase", "v9.9.9", json=False)
    assert (result.exit, result.stdout) == (4, "")
    assert "v9.9.9" in result.stderr


@pytest.mark.parametrize(("env", "escapes"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_on_a_terminal(project, env, escapes):
    ours, theirs = pty.openpty()
    subprocess.run(
        [sys.executable, "-m", "rebasekit", "rebase", "v1.1.0"],
        cwd=project.project, env={**project.env, "TERM": "xterm", **env}, stdout=theirs, stderr=theirs, check=True,
    )  # fmt: skip
    os.close(theirs)
    text = os.read(ours, 100_000).decode()
    os.close(ours)
    assert "nothing to decide" in text
    assert ("\x1b[" in text) is escapes
