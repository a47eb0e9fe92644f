"""An anchor that stands under another condition than at the pin, as deep as before."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest
from harness import Case, Result, patch_toml

from rebasekit.edit.match import Candidate, candidates
from rebasekit.edit.scopes import Scope, find
from rebasekit.edit.source import Source
from rebasekit.steps.placing.guarded import other_guard

BODY = """
def load(self, path, mode):
    log(path)
    {head}:
        value = parse(path)
        store(value)
    return value
"""
HUNK = (
    'id = "h"\nfile = "m.py"\nscope = "load"\nplace = "after"\nat = "value = parse(path)"\nlines = "value = own(value)"'
)


def carry(tmp_path: Path, old: str, new: str) -> Result:
    upstream = {"v1.0.0": {"m.py": old}, "v1.1.0": {"m.py": new}}
    return Case(tmp_path, upstream, {"p/patch.toml": patch_toml(HUNK)}).run("rebase", "v1.1.0")


def told(result: Result) -> list[str]:
    return [f["message"] for hunk in result.json["hunks"] for f in hunk["findings"] if f["kind"] == "misplaced"]


def test_another_condition_is_a_finding(tmp_path: Path) -> None:
    result = carry(tmp_path, BODY.format(head="if self.fast"), BODY.format(head="if self.slow"))
    assert (result.exit, result.placements) == (1, {"p/h": "shifted"})
    assert told(result) == ["the anchor stands under `if self.slow`, at the pin it stood under `if self.fast`"]


def test_a_stricter_condition_is_none(tmp_path: Path) -> None:
    result = carry(tmp_path, BODY.format(head="if self.fast"), BODY.format(head="if self.fast and path"))
    assert result.placements == {"p/h": "shifted"} and not told(result)


def found(text: str) -> tuple[Candidate, Scope]:
    """Where `value = parse(path)` stands in `load`."""
    scope = find(Source(text), "load")[0]
    return next(c for c in candidates(scope) if ast.unparse(c.node) == "value = parse(path)"), scope


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("if a", "if b"),
        ("if a and b", "if a"),
        ("if a", "if not a"),
        ("if not a", "if a"),
        ("if mode == 1", "if mode == 2"),
        ("if self.a", "if self.b"),
        ("if self.a", "for a in self"),
        ("with a", "if a"),
        ("with a", "for a in self"),
        ("if get(path).a", "if get(mode).a"),
    ],
)
def test_conditions_that_are_others(old: str, new: str) -> None:
    before, _ = found(BODY.format(head=old))
    after, scope = found(BODY.format(head=new))
    assert other_guard(before, after, scope) == (before.guards[0], after.guards[0])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("if a", "if a"),
        ("if a", "if a and b"),
        ("if not a", "if not a and not b"),
        ("if self.a", "if args.a"),
        ("if self.args.a", "if resolved(self.args).a"),
        ("if mode == 1", "if 1 == mode"),
        ("for a in self", "while a"),  # a loop is a loop
        ("with a", "with b"),
    ],
)
def test_conditions_that_ask_all_that_they_did(old: str, new: str) -> None:
    before, _ = found(BODY.format(head=old))
    after, scope = found(BODY.format(head=new))
    assert other_guard(before, after, scope) is None


def test_a_condition_that_got_a_name() -> None:
    before, _ = found(BODY.format(head="if self.a and not mode"))
    named = BODY.format(head="if wanted").replace("log(path)", "wanted = self.a and (not mode) and own()")
    after, scope = found(named)
    assert other_guard(before, after, scope) is None
    after, scope = found(named.replace("self.a", "self.b"))
    assert other_guard(before, after, scope) == ("if self.a and (not mode)", "if wanted")


TWO = """
def load(self, path, mode):
    if a:
        log(path)
{one}
    else:
        log(mode)
{two}
    return path
"""


def test_the_other_branch() -> None:
    line = textwrap.indent("value = parse(path)", " " * 8)
    before, _ = found(TWO.format(one=line, two="        pass"))
    after, scope = found(TWO.format(one="        pass", two=line))
    assert other_guard(before, after, scope) == ("if a", "else a")


def test_branches_that_changed_places_with_the_condition_turned() -> None:
    line = textwrap.indent("value = parse(path)", " " * 8)
    for one, other in (("if a", "if not a"), ("if not a", "if a"), ("if a and b", "if not (a and b)")):
        before, _ = found(TWO.format(one=line, two="        pass").replace("if a", one))
        after, scope = found(TWO.format(one="        pass", two=line).replace("if a", other))
        assert other_guard(before, after, scope) is None, (before.guards, after.guards)


def test_only_as_deep_as_before() -> None:
    before, _ = found(BODY.format(head="if a"))
    after, scope = found("def load(path):\n    value = parse(path)\n")
    assert other_guard(before, after, scope) is None
