"""Profiles and refusals as files: everything wrong is said at once, with its line."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebasekit.errors import PatchsetError
from rebasekit.patches.problems import PatchsetProblems
from rebasekit.patches.profiles import load_profile, profile_of
from rebasekit.patches.refusals import load_refusals

GOOD = """\
title = "one"
why = "to try"
tag = "v0.5.20"
module = "app.server"

[model]
path = "models/m"
[model.config]
num_hidden_layers = 4

[card]
total = "12 GiB"
free = "11.5 GiB"

[chains]
length = 66000
count = 3

[arguments]
tp = 2
fraction = 0.875
paths = ["a", 1]
fast = true

[environment]
LIMIT = "1"

[sources]
article = ["arguments.tp", "chains.length", "chains.count"]
assumed = ["model.path", "model.config", "card.total", "card.free", "arguments.fraction", "arguments.paths",
  "arguments.fast", "environment.LIMIT"]
"""


def problems(text):
    with pytest.raises(PatchsetProblems) as caught:
        profile_of(text, "one")
    return [str(entry) for entry in caught.value.entries]


def test_a_profile():
    found = profile_of(GOOD, "one")
    assert (found.name, found.title, found.tag.name, found.module) == ("one", "one", "v0.5.20", "app.server")
    assert (found.model, found.config) == ("models/m", {"num_hidden_layers": 4})
    assert (found.card.total, found.card.free, found.card.weights) == (12 << 30, 23 << 29, 0)
    assert found.chains is not None
    assert (found.chains.length, found.chains.count, found.chains.dense_copies) == (66_000, 3, 0)
    assert found.words() == ["--tp", "2", "--fraction", "0.875", "--paths", "a", "1", "--fast"]
    assert (found.source_of("arguments.tp"), found.source_of("card.free")) == ("article", "assumed")
    assert (found.patched, found.stand_ins, found.environment) == (True, False, {"LIMIT": "1"})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "one"', 'titel = "one"', "one.toml:1: titel: is not a known key; did you mean `title`?"),
        ('title = "one"\n', "", "one.toml: title: is missing"),
        ('why = "to try"', "why = 3", "one.toml:2: why: must be a string, is a whole number"),
        ('"v0.5.20"', '"newest"', "one.toml:3: tag: `newest` is not a release tag"),
        ('"app.server"', '"app server"', "one.toml:4: module: `app server` is not a module"),
        ('path = "models/m"', 'paht = "models/m"', "one.toml:7: model: paht: is not a known key"),
        ('total = "12 GiB"', 'total = "12 apples"', "one.toml:12: card: total: `12 apples` is not a size"),
        ('total = "12 GiB"', 'total = "11 GiB"', "one.toml:13: card: free: is more than `total`"),
        ("length = 66000", "length = 0", "one.toml:16: chains: length: must be between 1 and"),
        ("count = 3", "counts = 3", "one.toml:17: chains: counts: is not a known key; did you mean `count`?"),
        ("tp = 2", "--tp = 2", "one.toml:20: arguments: --tp: is not a flag's name; write `tp`"),
        ("tp = 2", "Dp_size = 2", "one.toml:20: arguments: Dp_size: is not a flag's name; write `dp-size`"),
        ("tp = 2", "model-path = 2", "one.toml:20: arguments: model-path: has a place of its own: `path` in `[model]`"),
        ("fast = true", "fast = false", "one.toml:23: arguments: fast: is off when it is left out"),
        ("fast = true", "fast = []", "one.toml:23: arguments: fast: must be `true`, a string, a number"),
        ("fast = true", "fast = nan", "one.toml:23: arguments: fast: must be `true`, a string, a number"),
        ("fast = true", 'fast = "a\\nb"', "one.toml:23: arguments: fast: must be `true`, a string, a number"),
        ('paths = ["a", 1]', "paths = { a = 1 }", "one.toml:22: arguments: paths: must be `true`"),
        ('LIMIT = "1"', "LIMIT = 1", "one.toml:26: environment: LIMIT: must be a string, is a whole number"),
        ('LIMIT = "1"', '"A B" = "1"', "one.toml:26: environment: A B: is not the name of an environment variable"),
        ('"arguments.tp"', '"arguments.pt"', "one.toml:29: sources: article: there is no `arguments.pt`; did you mean"),
        ('"arguments.tp", ', "", "one.toml:28: sources: says nothing about `arguments.tp`"),
        ('"model.path"', '"chains.count"', "one.toml:30: sources: assumed: `chains.count` is from `article` already"),
        ("[model.config]", "[model.konfig]", "one.toml:8: model: konfig: is not a known key; did you mean `config`?"),
        ("[card]", "[cart]", "one.toml:11: cart: is not a known key; did you mean `card`?"),
        ('title = "one"', 'patched = "yes"\ntitle = "one"', "one.toml:1: patched: must be a boolean"),
        ("tp = 2", "tp = ", "one.toml: line 20: is not TOML"),
    ],
)
def test_what_is_wrong_has_its_line(old, new, message):
    assert old in GOOD
    found = problems(GOOD.replace(old, new))
    assert any(message in entry for entry in found), found


def test_everything_wrong_is_said_at_once():
    text = (
        GOOD.replace("title", "titel").replace("length = 66000", "length = -1").replace("fast = true", "fast = false")
    )
    found = problems(text)
    assert len(found) == 4  # one key is unknown, and one is missing for it


def test_files(tmp_path):
    with pytest.raises(PatchsetError, match="is not there"):
        load_profile(tmp_path / "profiles" / "none.toml")
    path = tmp_path / "patchset" / "profiles" / "one.toml"
    path.parent.mkdir(parents=True)
    path.write_text(GOOD.replace("count = 3", "count = 'x'"))
    with pytest.raises(PatchsetError, match=r"^patchset/profiles/one\.toml:17: chains: count: must be a whole number"):
        load_profile(path)
    path.write_text(GOOD)
    assert load_profile(path).name == "one"
    upper = path.with_name("One.toml")
    upper.write_text(GOOD)
    with pytest.raises(PatchsetError, match="`One` is not a name"):
        load_profile(upper)


REFUSED = """\
[[refusal]]
when = { a = true, b = ["x", 2] }
why = "because"

[[refusal]]
when = { c = "*" }
needs = { D = "1" }
why = "so"
tags = ">=v0.5.20"
patched = true
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("why = ", "whi = ", "serve/refusals.toml:3: refusal 1: whi: is not a known key"),
        ('{ c = "*" }', "{}", "serve/refusals.toml:6: refusal 2: when: is empty"),
        ('{ c = "*" }', '"c"', "serve/refusals.toml:6: refusal 2: when: must be a table"),
        ('["x", 2]', "[[1]]", "serve/refusals.toml:2: refusal 1: when: `b` must be a word"),
        ('["x", 2]', "[]", "serve/refusals.toml:2: refusal 1: when: `b` must be a word"),
        (">=v0.5.20", "lately", "serve/refusals.toml:9: refusal 2: tags"),
        ("patched = true", "patched = 1", "serve/refusals.toml:10: refusal 2: patched: must be a boolean"),
        (
            "[[refusal]]\nwhen = { a",
            "[[refusals]]\nwhen = { a",
            "refusals: is not a known key; did you mean `refusal`?",
        ),
    ],
)
def test_refusals_that_are_wrong(tmp_path, old, new, message):
    assert old in REFUSED
    (tmp_path / "serve").mkdir()
    (tmp_path / "serve/refusals.toml").write_text(REFUSED.replace(old, new, 1))
    with pytest.raises(PatchsetProblems) as caught:
        load_refusals(tmp_path)
    assert any(message in str(entry) for entry in caught.value.entries), [str(e) for e in caught.value.entries]


def test_refusals(tmp_path):
    (tmp_path / "serve").mkdir()
    (tmp_path / "serve/refusals.toml").write_text(REFUSED)
    first, second = load_refusals(tmp_path)
    assert first.when == {"a": ("true",), "b": ("x", "2")}
    assert (second.needs, second.tags, second.patched) == ({"D": ("1",)}, ">=v0.5.20", True)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200), st.integers(0, len(GOOD)))
def test_no_file_is_a_surprise(text, position):
    """Whatever stands in a profile, it is read or refused by name."""
    try:
        profile_of(GOOD[:position] + text + GOOD[position:], "one")
    except PatchsetProblems as error:
        assert all(entry.message for entry in error.entries)
