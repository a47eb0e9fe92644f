"""All probes against a real release on a CPU. Minutes, so only where `REBASEKIT_REAL_SMOKE` names one with a smoke:

REBASEKIT_REAL_SMOKE=v0.5.20 REBASEKIT_CACHE=… nox -s tests -- tests/probes/test_real.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from rebasekit.model.progress import SILENT
from rebasekit.model.tag import Tag
from rebasekit.steps.smoke.plan import Launch, read_plan
from rebasekit.steps.smoke.prepare import Options, command_line, environ_of
from rebasekit.steps.smoke.server import Server

REAL = os.environ.get("REBASEKIT_REAL_SMOKE", "")
ROOT = Path(__file__).parents[2]
# A chunk is longer than a chain, so that a chain is one edge of the tree, and 64 states are more than enough.
LAUNCH = Launch("probes", ("--chunked-prefill-size", "512", "--max-mamba-cache-size", "64"))
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not REAL, reason="REBASEKIT_REAL_SMOKE is not set")]


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """A server of 2,048 tokens and a context of 512, from the environment that a smoke left in the cache."""
    cache = Path(os.environ["REBASEKIT_CACHE"]) / "serve" / REAL
    kind = next((name for name in ("pristine", "patched") if (cache / name / "bin" / "python").exists()), None)
    if kind is None or not (cache / "model").is_dir():
        pytest.skip(f"the cache has no environment of {REAL}: rebasekit smoke {REAL}")
    folder, plan = tmp_path_factory.mktemp("server"), read_plan(ROOT, Tag.parse(REAL))
    ground = SimpleNamespace(python=cache / kind / "bin" / "python")
    argv = command_line(ground, plan, LAUNCH, cache / "model", Options())
    environ = environ_of(plan.devices["cpu"], LAUNCH, {}, 2, folder, {"stand_ins": True})
    with Server(argv, environ, folder, replace(plan.limits, ready=600)) as server:
        server.wait_ready(SILENT)
        yield f"http://127.0.0.1:{server.port}"


def probe(verb, url, *argv):
    command = [sys.executable, "-m", "rebasekit", verb, url, *map(str, argv), "--json=-", "-q"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_one_chain_too_many_loses_all_of_them(url):
    """5 × 420 tokens do not fit in 2,048 and 4 × 452 do."""
    found = probe("load_multi", url, "--tokens", 420, "--grow", 16, "--laps", 3, "--chains", 4, 5)
    four, five = found["sweep"]
    assert four["retention"][0] == five["retention"][0] == 0
    assert min(four["retention"][1:]) > 0.9 and max(five["retention"][1:]) < 0.1
    assert five["bound"] == "tokens: 5 × 452 = 2,260 of 2,048"


@pytest.mark.parametrize("api", ["completions", "chat"])
def test_the_routes_of_openai_report_the_same(url, api):
    found = probe("load_multi", url, "--api", api, "--tokens", 60, "--grow", 10, "--laps", 2, "--chains", 1)
    first, second = found["sweep"][0]["retention"]
    assert first == 0 and second > 0.5


def test_a_prompt_that_does_not_fit(url):
    command = [sys.executable, "-m", "rebasekit", "load_multi", url, "--tokens", "506", "--chains", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 2 and "the server takes fewer than 506" in done.stderr


def test_depth(url):
    found = probe("depth_probe", url, "--tokens", 160)
    assert all(cut["cached"] <= cut["cut"] for cut in found["cuts"])
    assert found["cuts"][0]["share"] == 1  # a chain that goes on; what leaves it earlier has no state to go on from


def test_speed(url):
    found = probe("speed", url, "--tokens", 400, "--short", 16, "--new", 8, "--repeats", 1)
    first = found["first"]
    assert found["prefill"] > 0 and found["decode"] > 0
    assert first["short"] < first["long"] and first["short"] < first["short_during_prefill"]


def test_clients(url):
    found = probe("conc", url, "--clients", 1, 2, "--requests", 1, "--tokens", 40, "--new", 4)
    assert [(level["answers"], level["errors"]) for level in found["levels"]] == [(1, 0), (2, 0)]


def test_a_server_answers_as_it_does_itself(url):
    found = probe("compare", url, url, "--prompts", 2, "--tokens", 60, "--new", 8)
    assert found["same"] is True
