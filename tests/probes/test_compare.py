"""`compare`: the same bytes from two builds, and never a warm answer beside a cold one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import until

ARGUMENTS = ("--prompts", 3, "--tokens", 300, "--new", 8, "--json")
HERE = Path(__file__).parent


@pytest.mark.parametrize("api", ["generate", "completions", "chat"])
def test_two_builds_that_answer_alike(serve, run, api):
    a, b = serve(), serve()
    result = run("compare", a.url, b.url, "--api", api, *ARGUMENTS)
    assert result.exit == 0, result.err
    assert result.json["same"] is True and result.json["differences"] == []
    assert "3 answers of 8 tokens are the same, byte for byte, each from a cold cache" in result.json["verdict"]
    assert a.flushed == b.flushed == 6 and a.asked == b.asked


@pytest.mark.parametrize(("api", "unit"), [("generate", "token"), ("chat", "character")])
def test_a_build_that_answers_otherwise(serve, run, api, unit):
    result = run("compare", serve().url, serve(build=1).url, "--api", api, *ARGUMENTS)
    assert result.exit == 1 and result.json["same"] is False
    assert [(each["prompt"], each["at"]) for each in result.json["differences"]] == [(0, 1), (1, 1), (2, 1)]
    assert f"3 of 3 answers differ; the first is to prompt 1, from {unit} 2 on" in result.json["verdict"]


def test_a_server_that_does_not_repeat_itself_is_not_blamed_on_the_other(serve, run):
    result = run("compare", serve().url, serve(random=True).url, *ARGUMENTS)
    assert result.exit == 1 and "B does not repeat itself: 3 of 3 prompts" in result.json["verdict"]


def test_a_warm_answer_is_refused(serve, run):
    """The second repeat of a server whose flush does nothing."""
    result = run("compare", serve().url, serve(forgets_to_flush=True).url, *ARGUMENTS)
    assert result.exit == 4 and "is not cold" in result.err and result.json["complete"] is False
    assert result.json["same"] is False


def test_a_server_that_was_asked_before_is_refused_without_a_flush(serve, run):
    a, b = serve(), serve()
    argv = ("compare", a.url, b.url, "--no-flush", "--prompts", 1, "--tokens", 100, "--new", 4, "--json")
    result = run(*argv)
    assert result.exit == 0 and result.json["repeats"] == 1 and a.flushed == 0
    result = run(*argv)
    assert result.exit == 4 and "prompt 1 of" in result.err and "99 of its tokens came from the cache" in result.err


def test_answers_that_are_kept(serve, run, tmp_path):
    """Both builds do not fit on the cards at once."""
    before, a = tmp_path / "a.json", serve()
    result = run("compare", a.url, *ARGUMENTS[:-1], f"--json={before}", "--seed", 7)
    assert result.exit == 0 and "6 cold answers kept of A" in result.out
    b = serve()
    result = run("compare", before, b.url, "--json")
    assert result.exit == 0 and result.json["same"] is True and b.asked == a.asked
    assert run("compare", before, serve(build=1).url).exit == 1
    assert run("compare", before).exit == 2
    assert run("compare", before, serve(tokenizes=False).url).exit == 4  # other prompts than A's


def test_a_file_that_is_no_comparison(run, tmp_path, serve):
    wrong = tmp_path / "x.json"
    assert run("compare", wrong, "http://127.0.0.1:9").exit == 2
    wrong.write_text(json.dumps({"probe": "compare", "complete": False}))
    result = run("compare", wrong, "http://127.0.0.1:9")
    assert result.exit == 2 and "is no complete file of `compare`" in result.err


STARTED = """
import sys, time
sys.path.insert(0, sys.argv[1])
from standin import StandIn
with StandIn(port=int(sys.argv[2]), build=int(sys.argv[3])) as server:
    time.sleep(60)
"""


def test_servers_that_are_started_for_it_in_turn_and_ended(run, tmp_path, unused_port):
    script = tmp_path / "served.py"
    script.write_text(STARTED)
    url = f"http://127.0.0.1:{unused_port}"  # the same for both: they never run at once
    command = f"{sys.executable} {script} {HERE} {unused_port}"
    result = run("compare", url, url, "--start-a", f"{command} 0", "--start-b", f"{command} 1", *ARGUMENTS)
    assert result.exit == 1 and len(result.json["differences"]) == 3, result.err
    result = run("compare", url, url, "--start-a", f"{sys.executable} -c 'print(1/0)'", *ARGUMENTS)
    assert result.exit == 4 and "ended with 1" in result.err and "ZeroDivisionError" in result.err
    result = run("compare", url, url, "--start-a", "/no/such/program", *ARGUMENTS)
    assert result.exit == 2


def test_an_interrupt_while_a_server_starts_ends_it(tmp_path, unused_port):
    url, note = f"http://127.0.0.1:{unused_port}", tmp_path / "pid"
    slow = f"{sys.executable} -c \"import os, time; open('{note}', 'w').write(str(os.getpid())); time.sleep(60)\""
    command = [sys.executable, "-m", "rebasekit", "compare", url, url, "--start-a", slow]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        until(lambda: note.exists() and note.read_text())
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130 and err.endswith("error: interrupted\n"), err
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


def test_nothing_is_started_where_something_answers(serve, run):
    server = serve()
    result = run("compare", server.url, server.url, "--start-a", "true", *ARGUMENTS)
    assert result.exit == 2 and "something answers at" in result.err and server.asked == []


def test_the_table(serve, run, tmp_path):
    result = run("compare", serve().url, serve(build=1).url, *ARGUMENTS[:-1], "--plot", tmp_path / "c.svg")
    assert result.exit == 1 and "NO" in result.out and len(result.out.splitlines()) < 24
    assert (tmp_path / "c.svg").exists()
