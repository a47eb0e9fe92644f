"""Markdown: text of others stays text."""

from __future__ import annotations

import re

import pytest
from report_verdicts import CONFLICT, FULL, finding, placement, verdict

from rebasekit.model.placement import Outcome
from rebasekit.report import markdown
from rebasekit.report.markdown import block, cell, code, escape
from rebasekit.report.report import Report

HOSTILE = [
    "@everyone look",
    "fixes #12 and sgl-project/sglang#36935, GH-7",
    "<img src=x onerror=alert(1)><!-- -->",
    "a | b\n| c",
    "`` ` ``` code",
    "[click](https://evil.example) ![x](http://evil.example) www.evil.example",
    "**bold** _it_ ~~no~~ $x$ \\| \x1b[31mred\u202e",
    "&lt;b&gt;",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_escape(text):
    made = escape(text)
    assert "\n" not in made
    assert not re.search(r"@\w", made)
    assert not re.search(r"#\d|GH-\d|www\.|://", made)
    assert not re.search(r"[<>|$]", made)
    assert not re.search(r"(?<!\\)[`*_\[\]~]", made)
    assert "\x1b" not in made
    assert "\u202e" not in made


@pytest.mark.parametrize("text", HOSTILE)
def test_code_spans_close(text):
    made = code(text)
    fence = re.match("`+", made).group()
    assert made.endswith(fence)
    inside = made[len(fence) : -len(fence)]
    assert fence not in re.findall("`+", inside)
    assert "\n" not in made


@pytest.mark.parametrize("text", HOSTILE)
def test_cells_hold_no_bar(text):
    assert "|" not in cell(text)


def test_fence_is_longer_than_what_it_holds():
    made = block(("a", "`````", "</details>"), "diff")
    assert made.startswith("``````diff\n")
    assert made.endswith("\n``````")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_report_keeps_its_table(text):
    hunk = placement("p/one", findings=(finding(message=text, file=text),), file=text, scope=text, decision="due")
    stuck = placement("p/two", Outcome.CONFLICT, file=text, scope=text, reason=text, conflict=CONFLICT)
    made = markdown.render(Report.of(verdict(hunk, stuck)))
    rows = [line for line in made.splitlines() if line.startswith("| ")]
    assert len(rows) == 4
    assert {row.count("|") for row in rows} == {6}


def test_says_everything():
    made = markdown.render(Report.of(FULL))
    for words in ("shifted (remembered)", "`pkg/a.py:12`", "unbound ×2", "both changed the same line", "<<<<<<< ours"):
        assert words.replace("(", "\\(").replace(")", "\\)") in made or words in made
    assert "rebasekit resolve p/three --tag v0.5.20" in made
