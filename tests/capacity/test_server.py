"""What running servers and their logs say."""

from __future__ import annotations

import json

import pytest

from rebasekit.errors import StateError, UsageError
from rebasekit.probes.capacity.server import fetch, memory_from_log, running

from .figures import INFO

GIB = 1 << 30


def test_a_running_server(serve):
    found = running(fetch(serve({"/server_info": (200, json.dumps(INFO))})))
    assert (found.tag.name, found.model_path, found.tokens, found.requests) == (
        "v0.5.19",
        "/models/tiny",
        34_850_938,
        8,
    )
    assert (found.flags.max_mamba_cache_size, found.state_slots) == (32, 32)
    assert (found.flags.disable_overlap_schedule, found.flags.context_length) == (True, 512)
    assert found.graphs == 3 * GIB // 4
    assert abs(found.kv_bytes - 8.309 * GIB) < 2


def test_states_that_a_server_fitted_to_its_memory_are_predicted_and_not_taken_from_it():
    found = running({**INFO, "max_mamba_cache_size": None})
    assert (found.flags.max_mamba_cache_size, found.state_slots) == (None, 32)


def test_a_server_that_knows_the_old_name_only(serve):
    assert fetch(serve({"/get_server_info": (200, json.dumps(INFO))})) == INFO


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({}, "answers with 404"),
        ({"/server_info": (500, "")}, "answers with 500"),
        ({"/server_info": (200, "<html>")}, "gives no answer"),
        ({"/server_info": (200, "[]")}, "not a server"),
    ],
)
def test_what_is_no_server(serve, answers, message):
    with pytest.raises(StateError, match=message):
        fetch(f"http://{serve(answers)}/")


def test_nobody_listens():
    with pytest.raises(StateError, match="gives no answer"):
        fetch("127.0.0.1:9")


@pytest.mark.parametrize("key", ["version", "max_total_num_tokens", "internal_states", "model_path"])
def test_an_answer_that_lacks_something(key):
    with pytest.raises(StateError, match="lacks what is needed"):
        running({name: value for name, value in INFO.items() if name != key})


def test_a_server_with_pools_of_its_own_is_refused_by_name():
    with pytest.raises(UsageError, match="--speculative-algorithm"):
        running({**INFO, "speculative_algorithm": "EAGLE"})


def test_a_log_gives_the_least_of_its_ranks():
    log = """
[2026-11-30 11:38:04 TP1] Load weight begin. avail mem=16.52 GB
[2026-11-30 11:38:04 TP1] Load weight end. elapsed=0.03 s, type=X, avail mem=15.02 GB, mem usage=1.50 GB.
[2026-11-30 11:38:07 TP0] Load weight begin. avail mem=16.56 GB
[2026-11-30 11:38:07 TP0] Load weight end. elapsed=0.09 s, type=X, quant=awq, avail mem=15.00 GB, mem usage=1.56 GB.
"""
    free, weights = memory_from_log(log)
    assert (round(100 * free / GIB), round(100 * weights / GIB)) == (1652, 152)
    with pytest.raises(StateError, match="has no lines"):
        memory_from_log("Load weight begin. avail mem=1.00 GB")
