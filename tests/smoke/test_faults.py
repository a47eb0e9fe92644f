"""Planted faults: each is found, said with the end of the log, and leaves no process behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rebasekit.model.progress import SILENT
from rebasekit.probes import proc
from rebasekit.probes.proc import carrying
from rebasekit.probes.process import MARK
from rebasekit.steps.smoke import effects
from rebasekit.steps.smoke.client import free_port
from rebasekit.steps.smoke.plan import Launch
from rebasekit.steps.smoke.server import Died, Server

from .conftest import LIMITS, POOL, Limits, Served


def failed(found):
    return [step for step, (outcome, _) in found.items() if outcome == "FAIL"]


def test_a_good_server_passes(served):
    found = served.smoke()
    assert failed(found) == []
    assert list(found) == [
        "start", "ready", "pins", "greedy", "long-prefill", "limit", "prefix", "concurrency", "log", "stop",
    ]  # fmt: skip
    assert "SERVED_CORE=python in 3 processes; log: Tree Core: python" in found["pins"][1]
    assert all(line.memory > 1_000_000 for line in served.lines if line.step == "greedy")


def test_a_server_that_is_ready_is_measured_at_once(served, monkeypatch):
    """Not only when it has barely begun, and has nothing yet: nobody looks again within an hour here."""
    seen: set[int] = set()

    def memory_of(pid):
        return real(pid) if pid in seen else seen.add(pid) or 0

    real = proc.memory_of
    monkeypatch.setattr("rebasekit.probes.proc.memory_of", memory_of)
    monkeypatch.setattr("rebasekit.probes.process._SAMPLE", 3600.0)
    assert failed(served.smoke(steps=("greedy",))) == []
    assert all(line.memory > 5_000_000 for line in served.lines if line.step == "greedy")


def test_a_name_error_that_only_a_long_prefill_meets(served):
    served.write("pool", POOL.replace("seen = len(tokens)", "seen = length(tokens)"))
    found = served.smoke()
    assert {"long-prefill", "log"} <= set(failed(found)) and found["greedy"][0] == "ok"
    assert "NameError: name 'length' is not defined" in found["log"][1]


def test_it_dies_at_the_start(served):
    found = served.smoke("dies-at-start")
    assert failed(found) == ["ready"]
    assert "ended with 3" in found["ready"][1] and "| cannot find the weights" in found["ready"][1]
    assert found["greedy"] == ("skip", "there is no server to ask")


def test_it_starts_and_then_dies(served):
    found = served.smoke("dies")
    assert failed(found) == ["greedy", "log", "stop"] or failed(found) == ["greedy", "stop"]
    assert "the server ended with 9" in found["greedy"][1] and "killed by the kernel" in found["greedy"][1]
    assert found["prefix"][0] == "skip"


def test_it_hangs(served):
    found = served.smoke("hangs", steps=("greedy", "prefix"), limits=Limits(ready=20, request=1, stop=2))
    assert found["greedy"][0] == "FAIL" and "no answer within 1 s; the server hangs" in found["greedy"][1]
    assert served.run is not None and marked_none(served)


def test_it_is_never_ready(served):
    found = served.smoke("never-ready", limits=Limits(ready=2))
    assert "not ready after 2 s" in found["ready"][1]


def test_somebody_else_has_its_port(served):
    """The other one answers, and would be taken for ours; ours may well go on without a port."""
    served.write("server", "import time\ntime.sleep(60)\n")
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        rig = served.rig()
        launch = Launch("main", steps=("greedy",))
        (served.folder / "main").mkdir(parents=True)
        argv, environ = rig.argv(launch), rig.environ(launch, served.folder / "main")
        with (
            Server(argv, environ, served.folder / "main", LIMITS, port) as server,
            pytest.raises(Died, match=f"port {port} was taken by another process"),
        ):
            server.wait_ready(SILENT)


def test_it_does_not_stop(served):
    found = served.smoke("ignores-sigterm", steps=("pins",), limits=Limits(ready=20, stop=1))
    assert found["stop"][0] == "FAIL" and "had to be killed 1 s after SIGTERM" in found["stop"][1]
    assert "orphans" not in found


def test_a_rank_without_the_pin(served):
    found = served.smoke("lost-pin", steps=("pins",))
    assert found["pins"][0] == "FAIL" and "has SERVED_CORE=rust, the series pins `python`" in found["pins"][1]


def test_the_other_core_in_the_log(served):
    """The environment is right and the server took the other core all the same."""
    served.write(
        "server", (served.root / "served/server.py").read_text().replace('"Tree Core: "', '"Tree Core: Rust "')
    )
    found = served.smoke(steps=("pins",))
    assert found["pins"] == ("FAIL", "the log has no line like `Tree Core: python`")


def test_the_rust_core_without_its_pin_is_refused(served):
    rust = {"environment": {"SERVED_CORE": "rust"}, "without": ("SERVED_CORE",)}
    found = served.smoke(refuses="needs the python core.*rust", **rust)
    assert found["refusal"] == ("ok", "thinning needs the python core, but the core is rust")


def test_what_should_refuse_and_serves(served):
    found = served.smoke(refuses="needs the python core")
    assert found["refusal"][0] == "FAIL" and "should have refused to start" in found["refusal"][1]


def test_what_refuses_for_another_reason(served):
    found = served.smoke("dies-at-start", refuses="needs the python core")
    assert found["refusal"][0] == "FAIL" and "never said `needs the python core`" in found["refusal"][1]


def test_pressure_reports_what_was_cached(served):
    found = served.smoke(steps=("pressure",))
    assert found["pressure"][0] == "ok"
    assert "4 chains of 48 tokens, 2 laps" in found["pressure"][1] and "32 tokens at a fork" in found["pressure"][1]


def test_wrong_tokens(served):
    found = served.smoke("wrong", steps=("greedy",))
    assert found["greedy"][0] == "FAIL" and "token 4 after 20 is" in found["greedy"][1]


def test_an_empty_answer_at_the_limit(served):
    found = served.smoke("empty", steps=("limit",))
    assert found["limit"][0] == "FAIL" and "empty answer" in found["limit"][1]


def test_a_cache_that_changes_the_answer(served):
    found = served.smoke("stale-cache", steps=("prefix",))
    assert found["prefix"][0] == "FAIL" and "a cold run" in found["prefix"][1]


def marked_none(served: Served) -> bool:
    return not [each for each in Path("/proc").iterdir() if each.name.isdigit() and _mentions(each, str(served.root))]


def _mentions(process: Path, text: str) -> bool:
    try:
        return text.encode() in (process / "environ").read_bytes()
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_after_an_interrupt(served, tmp_path, number):
    """^C in the middle, or worse: ranks in sessions of their own end as well."""
    script = tmp_path / "run.py"
    script.write_text(
        "import sys, time\nfrom pathlib import Path\n"
        "from rebasekit.probes.process import Group\n"
        "from rebasekit.commands._serving import end_like_an_interrupt\n"
        "end_like_an_interrupt()\n"
        f"sys.path.insert(0, {str(served.root)!r})\n"
        "sleep = [sys.executable, '-c', 'import time; time.sleep(60)']\n"
        "child = f'import subprocess, time; subprocess.Popen({sleep}, start_new_session=True); time.sleep(60)'\n"
        "with Group([sys.executable, '-c', child], {}, Path('.'), Path('log')) as group:\n"
        "    while len(group.pids()) < 2:\n        time.sleep(0.05)\n"
        "    print(group.mark, flush=True)\n    time.sleep(60)\n"
    )
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, script], cwd=tmp_path, env=environ, stdout=subprocess.PIPE, text=True)
    mark = process.stdout.readline().strip()
    assert len(carrying(f"{MARK}={mark}")) == 2
    process.send_signal(number)
    assert process.wait(20) != 0
    deadline = time.monotonic() + (15 if number == signal.SIGKILL else 0.1)  # then the guard does it, a moment later
    while carrying(f"{MARK}={mark}") and time.monotonic() < deadline:
        time.sleep(0.1)
    assert carrying(f"{MARK}={mark}") == []


def test_a_hunk_that_is_never_reached(served):
    """Short prompts only: what a long prefill would run did not."""
    served.smoke(steps=("greedy",))
    idle = dict.fromkeys(dict(served.hunks), "")
    table = {effect.hunk: effect for effect in effects.table(served.runnables(), idle, served.run.notes, "cpu")}
    assert table["p/price"].state == table["p/pool"].state == table["p/limit"].state == "ran"
    assert table["p/long"].state == "imported only"
    assert "never ran" in table["p/long"].problem and not table["p/price"].problem
    assert table["p/price"].ranks == {"TP0": "ran 2/2", "TP1": "ran 2/2"}
    (built,) = effects.constructed({"served.pool.Pool": ("p/pool",)}, served.run.notes)
    assert built.built == {"TP0": ("served.pool.Pool",), "TP1": ("served.pool.Pool",)}


def test_a_stated_reason_excuses_a_hunk_and_is_checked(served):
    served.smoke(steps=("greedy",))
    idle = dict.fromkeys(dict(served.hunks), "needs hardware")
    table = {effect.hunk: effect for effect in effects.table(served.runnables(), idle, served.run.notes, "cpu")}
    assert not table["p/long"].problem
    assert "`idle` says that it cannot" in table["p/price"].problem
