"""What running servers and their logs say."""

from __future__ import annotations

import http.server
import json
import threading

import pytest

from rebasekit.errors import StateError, UsageError
from rebasekit.probes.capacity.server import fetch, memory_from_log, running

GIB = 1 << 30

# What a v0.5.19 server answered, with the parts that are read.
INFO = {
    "version": "0.5.19+rk.8925aef9d823",
    "model_path": "/models/tiny",
    "tp_size": 1,
    "dp_size": 1,
    "pp_size": 1,
    "dcp_size": 1,
    "enable_dp_attention": False,
    "page_size": 1,
    "device": "cpu",
    "dtype": "float16",
    "kv_cache_dtype": "auto",
    "mem_fraction_static": 0.4,
    "max_total_tokens": None,
    "max_running_requests": 8,
    "context_length": 512,
    "chunked_prefill_size": 64,
    "disable_radix_cache": False,
    "disable_overlap_schedule": True,
    "disaggregation_mode": "null",
    "speculative_algorithm": None,
    "mamba_full_memory_ratio": 0.9,
    "mamba_radix_cache_strategy": "no_buffer",
    "max_mamba_cache_size": None,
    "enable_int8_mamba_checkpoint": False,
    "int8_mamba_ckpt_size": None,
    "max_total_num_tokens": 34_850_938,
    "internal_states": [
        {
            "max_mamba_cache_size": 32,
            "effective_max_running_requests_per_dp": 8,
            "memory_usage": {
                "weight": 0.001,
                "kvcache": 8.309,
                "startup_available": 10.661,
                "token_capacity": 34_850_938,
                "token_capacity_swa": None,
                "graph": {"prefill": 0.25, "decode": 0.5},
            },
        }
    ],
}


@pytest.fixture
def serve():
    """A server with the answers given, path to (status, body)."""
    servers = []

    def start(answers):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                status, body = answers.get(self.path, (404, "no"))
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *args):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


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
