"""Predictions beside what servers of real releases said of themselves.

The runs are of the tiny hybrid model on a CPU, patched releases, no cap: flags, the two memory lines of the log, and
the server's answer. A log rounds to 0.01 GiB, and a CPU's memory belongs to everybody.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rebasekit.model.tag import Tag
from rebasekit.probes.capacity import Memory, flags_from_arguments, release_of, solve
from rebasekit.probes.capacity.model import model_of
from rebasekit.probes.capacity.server import memory_from_log

from .figures import TINY

RUNS = json.loads(Path(__file__).with_name("recorded.json").read_text())
NAMES = [f"{run['tag']}-{run['flags'][1]}-ranks" for run in RUNS]


@pytest.mark.parametrize("run", RUNS, ids=NAMES)
def test_a_servers_own_token_count_within_two_percent(run):
    free, weights = memory_from_log("\n".join(run["log"]))
    flags = flags_from_arguments(run["flags"])
    found = solve(model_of(TINY, "tiny"), flags, Memory(free, weights), release_of(Tag(run["tag"])))
    assert found.tokens == pytest.approx(run["tokens"], rel=0.02)
    assert found.state_slots == pytest.approx(run["state_slots"], rel=0.02)
    assert found.requests == run["requests"]
    assert found.binding == "budget"
    assert found.kv_bytes / (1 << 30) == pytest.approx(run["kv_gib"], rel=0.02)


@pytest.mark.parametrize("run", RUNS, ids=NAMES)
def test_states_and_tokens_are_split_exactly(run):
    """With the one budget for which the tokens are right to the last one, so are the states."""
    free, _ = memory_from_log("\n".join(run["log"]))
    flags, model, release = flags_from_arguments(run["flags"]), model_of(TINY, "tiny"), release_of(Tag(run["tag"]))
    low, high = 0, free // 10
    while low < high:
        middle = (low + high) // 2
        if solve(model, flags, Memory(free, middle), release).tokens > run["tokens"]:
            low = middle + 1
        else:
            high = middle
    found = solve(model, flags, Memory(free, low), release)
    assert abs(found.tokens - run["tokens"]) <= 1
    assert abs(found.state_slots - run["state_slots"]) <= 1
