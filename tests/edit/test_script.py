"""Edit scripts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebasekit.edit.script import Change, ScriptError, apply, between, parse, render
from rebasekit.edit.source import split_lines

texts = st.text(st.sampled_from("ab+@\\ \n\r"), max_size=25)


@given(texts, texts)
def test_there_and_back(old: str, new: str) -> None:
    a, b = split_lines(old), split_lines(new)
    changes = between(a, b)
    assert "".join(apply(changes, a)) == new
    if all(line[-1:] != "\r" or i == len(b) - 1 or line.endswith("\n") for i, line in enumerate(b)):
        assert parse(render(changes)) == changes
    assert "".join(apply(parse(render(changes)), a)) == new


@given(texts)
def test_hostile_scripts_are_refused_or_mean_something(text: str) -> None:
    try:
        changes = parse(text)
    except ScriptError:
        return
    assert parse(render(changes)) == changes


@pytest.mark.parametrize(
    ("script", "changes"),
    [
        ("", ()),
        ("@@ 3,0 @@\n+a\n+\n", (Change(3, 0, ("a\n", "\n")),)),
        ("@@ 1,2 @@\n@@ 3,0 @@\n+a\n\\ no line end\n", (Change(1, 2, ()), Change(3, 0, ("a",)))),
        ("@@ 1,0 @@\n++a\n+@@ 1,1 @@\n", (Change(1, 0, ("+a\n", "@@ 1,1 @@\n")),)),
        ("@@ 1,0 @@\n+a\r\n", (Change(1, 0, ("a\r\n",)),)),
    ],
)
def test_scripts(script: str, changes: tuple[Change, ...]) -> None:
    assert parse(script) == changes
    assert render(changes) == script


@pytest.mark.parametrize(
    "script",
    ["a\n", "+a\n", "@@ 0,1 @@\n", "@@ 1,-1 @@\n", "@@ 1 @@\n", "@@ 01,1 @@\n", "@@ 9999999999,1 @@\n", "@@ 1,1 @@ \n",
     "@@ 1,0 @@\n-a\n", "@@ 1,0 @@\n\\ no line end\n",
     "@@ 2,2 @@\n@@ 3,0 @@\n", "@@ 2,0 @@\n@@ 1,0 @@\n", "@@ ١,1 @@\n"],
)  # fmt: skip
def test_not_scripts(script: str) -> None:
    with pytest.raises(ScriptError):
        parse(script)


@pytest.mark.parametrize("change", [Change(4, 0, ()), Change(3, 1, ()), Change(1, 3, ())])
def test_outside(change: Change) -> None:
    with pytest.raises(ScriptError, match="outside"):
        apply([change], ["a\n", "b\n"])
    assert apply([Change(3, 0, ("c",))], ["a\n", "b\n"]) == ["a\n", "b\n", "c"]
