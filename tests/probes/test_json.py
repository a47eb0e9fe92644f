"""The JSON of each probe has the fields that docs/probes.md names, and no others."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from rebasekit.probes.measure.server import Server

DOCS = Path(__file__).parents[2] / "docs" / "probes.md"
HEAD = {"schema", "probe", "complete", "stopped", "verdict"}
ONE = {"url", "seed", "flushes", "api", "server"}
ARGUMENTS = {
    "load_multi": ("--chains", 1, "--tokens", 100, "--laps", 1),
    "depth_probe": ("--tokens", 160),
    "speed": ("--tokens", 200, "--new", 4, "--repeats", 1),
    "conc": ("--clients", 1, "--requests", 1, "--tokens", 50, "--new", 3),
    "compare": ("--prompts", 1, "--tokens", 50, "--new", 3),
}


def documented(probe):
    """The words in backquotes of the probe's row."""
    (row,) = re.findall(rf"^\| `{probe}` \| (.*) \|$", DOCS.read_text(), re.MULTILINE)
    return set(re.findall("`([a-z_0-9]+)`", row))


@pytest.mark.parametrize("probe", ARGUMENTS)
def test_fields(serve, run, probe):
    more = (serve().url,) if probe == "compare" else ()
    found = run(probe, serve().url, *more, *ARGUMENTS[probe], "--json").json
    known = HEAD | (ONE if probe != "compare" else set())
    assert known <= found.keys() and found["probe"] == probe and found["schema"] == 1
    words = documented(probe)
    assert found.keys() - known <= words
    for key, value in found.items():
        rows = value if isinstance(value, list) else [value]
        if key in words and rows and isinstance(rows[0], dict) and key not in ("served", "unstable"):
            assert set(rows[0]) <= words, key


def test_what_a_server_says_is_documented():
    text = DOCS.read_text()
    for field in dataclasses.fields(Server):
        assert f"`{field.name}`" in text
