"""What would make a figure wrong without a word: each is refused, and the message says what to do."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebasekit.probes.measure.client import Client
from rebasekit.probes.measure.failures import Refused, TooLong
from rebasekit.probes.measure.prompts import Maker, Prompt, shared
from rebasekit.probes.measure.server import Endpoint, Server, describe
from rebasekit.probes.measure.stream import Reading

from .conftest import until

PROBE = ("load_multi", "--chains", "2", "--tokens", "100", "--laps", "2")


def asked(server, *argv):
    return (PROBE[0], server.url, *PROBE[1:], *argv)


@pytest.mark.parametrize("api", ["generate", "completions", "chat"])
@pytest.mark.parametrize("truncates", [False, True])
def test_a_prompt_that_does_not_fit_is_not_sent(serve, run, api, truncates):
    server = serve(context=512, truncates=truncates)
    result = run(*asked(server, "--api", api, "--tokens", 506))
    assert (result.exit, server.asked, server.flushed) == (2, [], 0)
    assert "a prompt of 506 tokens is too long: the server takes fewer than 506" in result.err
    assert ("would cut it without a word (`--allow-auto-truncate`)" in result.err) is truncates
    assert "hint: --tokens 504" in result.err
    assert run(*asked(server, "--api", api, "--tokens", 504)).exit == 0


def test_nothing_gets_past_the_last_look_before_sending(serve):
    server = serve(context=512, truncates=True)

    async def measure():
        async with Client(Endpoint(server.url)) as client:
            await client.ask(Prompt("", (5,) * 505), 1)
            with pytest.raises(TooLong):
                await client.ask(Prompt("", (5,) * 506), 1)

    asyncio.run(measure())
    assert len(server.asked) == 1


def test_the_answer_has_to_fit_too(serve, run):
    server = serve(context=512)
    result = run(*asked(server, "--tokens", 500, "--new", 13))
    assert (result.exit, server.asked) == (2, [])
    assert "500 tokens and 13 new ones are more than the context of 512" in result.err


def test_a_server_that_cuts_a_prompt_all_the_same_is_caught(serve, run):
    result = run(*asked(serve(fault="drops-truncated")))
    assert result.exit == 4 and "50 of 100 tokens were read: the server cut the prompt" in result.err


def test_the_context_has_to_be_known(serve, run):
    server = serve(native=False, says=False)
    result = run(*asked(server))
    assert result.exit == 2 and "--context TOKENS" in result.err
    result = run(*asked(server, "--context", "90"))
    assert result.exit == 2 and "a prompt of 100 tokens is too long for the context of 90" in result.err
    assert all(len(prompt) < 90 for prompt in server.asked)  # what tries whether it reports at all


@pytest.mark.parametrize("api", ["generate", "completions", "chat"])
def test_without_the_cache_report_it_says_which_flag(serve, run, api):
    result = run(*asked(serve(reports=False), "--api", api))
    assert result.exit == 4
    assert "answers have no `cached_tokens`" in result.err and "--enable-cache-report" in result.err


@pytest.mark.parametrize("zeros", [False, True])
def test_a_zero_that_is_left_out_is_a_zero(serve, run, zeros):
    """Releases up to v0.5.21 leave `prompt_tokens_details` out of the usage when nothing was cached."""
    result = run(*asked(serve(zeros=zeros), "--api", "completions", "--json"))
    assert result.json["sweep"][0]["retention"] == [0, 0.99]


@pytest.mark.parametrize("reports", [False, True])
def test_a_server_that_does_not_say_whether_it_reports_is_tried(serve, run, reports):
    """Behind a router there is no `/server_info`: a missing count may be a zero, or a flag."""
    result = run(*asked(serve(native=False, reports=reports)))
    assert result.exit == (0 if reports else 4)
    assert ("--enable-cache-report" in result.err) is not reports


def test_no_prefix_cache_at_all(serve, run):
    result = run(*asked(serve(caches=False)))
    assert result.exit == 4 and "--disable-radix-cache" in result.err


def test_a_warm_server_is_flushed(serve, run):
    server = serve()
    for _ in range(2):
        result = run(*asked(server, "--json"))
        assert result.json["sweep"][0]["retention"] == [0, 0.99]
    assert server.flushed == 2


def test_a_warm_server_that_must_not_be_flushed_is_refused(serve, run):
    server = serve()
    assert run(*asked(server, "--no-flush")).exit == 0
    result = run(*asked(server, "--no-flush"))
    assert result.exit == 4 and "chain 1 of 2 is not cold: 99 of its tokens came from the cache" in result.err
    assert run(*asked(server, "--no-flush", "--seed", 2)).exit == 0
    assert server.flushed == 0


def test_a_flush_that_does_nothing_is_found(serve, run):
    server = serve(forgets_to_flush=True)
    assert run(*asked(server)).exit == 0
    assert run(*asked(server)).exit == 4


def test_a_busy_server_is_not_measured(serve, run):
    server = serve(busy=True)
    result = run(*asked(server))
    assert (result.exit, server.asked) == (4, []) and "are requests running?" in result.err


def test_what_cannot_be_flushed_says_so(serve, run):
    result = run(*asked(serve(flushes=False)))
    assert result.exit == 4 and "/flush_cache` answered 404" in result.err and "--no-flush" in result.err


def test_a_template_that_all_chats_share_is_no_warm_cache(serve, run):
    result = run(*asked(serve(), "--api", "chat", "--json"))
    first = [each["cached"] for each in result.json["asked"] if each["lap"] == 1]
    assert first[0] == 0 and 6 <= first[1] <= 8  # `<user>`


def test_a_chat_whose_length_nobody_knows_is_not_sent(serve, run):
    server = serve(tokenizes=False)
    result = run(*asked(server, "--api", "chat"))
    assert (result.exit, server.asked) == (4, []) and "--api completions" in result.err
    assert run(*asked(server, "--api", "completions")).exit == 0  # ids are counted by themselves


@pytest.mark.parametrize(("fault", "words"), [
    ("500", "`/generate` answered 500: the scheduler is gone"),
    ("error-event", "out of memory"),
    ("breaks", "the stream broke off before its end"),
    ("empty", "the answer is empty"),
])  # fmt: skip
def test_errors_in_the_middle_print_what_was_measured(serve, run, fault, words):
    result = run(*asked(serve(fault=fault, fails_from=4), "--new", 3, "--json"))
    assert result.exit == 4 and words in result.err and "not complete" in result.err
    assert result.json["complete"] is False and words in result.json["stopped"]
    assert len(result.json["asked"]) == 3 and result.json["sweep"][0]["retention"][1] is None


def test_a_server_that_hangs(serve, run):
    start = time.monotonic()
    result = run(*asked(serve(fault="hangs"), "--timeout", "1"))
    assert result.exit == 4 and "no answer within 1 s" in result.err and time.monotonic() - start < 10


def test_nobody_there(run):
    result = run("load_multi", "http://127.0.0.1:9")
    assert result.exit == 4 and "nobody answers at `http://127.0.0.1:9`" in result.err
    assert run("load_multi", "127.0.0.1:9").exit == 4


def test_the_key_comes_from_the_environment_and_is_never_shown(serve, run, monkeypatch):
    server = serve(key="s3cret")
    result = run(*asked(server))
    assert result.exit == 4 and "401" in result.err and "export REBASEKIT_API_KEY" in result.err
    monkeypatch.setenv("REBASEKIT_API_KEY", "wr0ng")
    result = run(*asked(server))
    assert result.exit == 4 and "wr0ng" not in result.out + result.err
    monkeypatch.setenv("OTHER", "s3cret")
    result = run(*asked(server, "--api-key", "OTHER", "--json"))
    assert result.exit == 0 and "s3cret" not in result.out + result.err
    result = run(*asked(server, "--api-key", "s3cret"))  # the key itself, by mistake
    assert result.exit == 2 and "s3cret" not in result.out + result.err
    monkeypatch.setenv("OTHER", "s3cret\n")
    result = run(*asked(server, "--api-key", "OTHER"))
    assert result.exit == 2 and "s3cret" not in result.out + result.err and "cannot carry" in result.err
    assert "s3cret" not in repr(Endpoint(server.url, "s3cret"))
    assert Endpoint("http://me:s3cret@host:1/v1").shown == "http://host:1/v1"


def test_ttft_is_the_first_content_and_not_the_first_byte(serve):
    """A chat's first event is a role, sent before anything is read."""
    server = serve(role_first=0.3)

    async def measure():
        async with Client(Endpoint(server.url), "chat") as client:
            return await client.ask(await Maker(client, 1).prompt("x", 60, 2), 2)

    answer = asyncio.run(measure())
    assert 0.3 <= answer.first < 3 and answer.new == 2


@pytest.mark.parametrize("incremental", [False, True])
@pytest.mark.parametrize("mark", ["", "\u2028\x85ä"])
def test_both_kinds_of_streams_give_the_same_tokens(serve, incremental, mark):
    """Also when a text has what some take for the end of a line."""
    server = serve(incremental=incremental, mark=mark)

    async def measure():
        async with Client(Endpoint(server.url)) as client:
            return await client.ask(Prompt("", (5, 6, 7)), 6)

    answer = asyncio.run(measure())
    assert list(answer.tokens) == server.answer((5, 6, 7), 6)
    assert answer.text == mark + bytes(answer.tokens).decode() and answer.new == 6


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_prints_what_was_measured_and_exits_130(serve, number):
    server = serve(per_new=0.05)
    argv = ("load_multi", server.url, "--tokens", "500", "--chains", "1", "--laps", "400", "--new", "4", "--json")
    command = [sys.executable, "-m", "rebasekit", *argv]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        until(lambda: len(server.asked) > 4)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130 and err.endswith("error: interrupted\n"), err
    assert "Traceback" not in err and "\x1b" not in err  # no bars in a pipe
    found = json.loads(out)
    assert found["stopped"] == "interrupted" and 4 <= len(found["asked"]) < 400


def test_prompts_are_disjoint_and_as_long_as_asked(serve):
    server = serve()

    async def make():
        async with Client(Endpoint(server.url)) as client:
            maker = Maker(client, 1)
            return [await maker.prompt(str(n), n, 1) for n in (1, 7, 100, 900)]

    made = asyncio.run(make())
    assert [prompt.tokens for prompt in made] == [1, 7, 100, 900]
    assert shared(Prompt("", (1, 2, 3)), [Prompt("", (1, 2, 4)), Prompt("", (1,))]) == 2


def test_what_a_server_says_of_itself():
    server = describe({"max_total_num_tokens": 5, "internal_states": [{"max_mamba_cache_size": 7}]}, None)
    assert (server.pool, server.states, server.context, server.truncates) == (5, 7, None, None)
    info = {"max_mamba_cache_size": 7, "int8_mamba_ckpt_size": None, "enable_int8_mamba_checkpoint": True}
    assert describe(info, None).checkpoints == 14 and server.checkpoints is None
    assert describe(info | {"int8_mamba_ckpt_size": 12}, None).checkpoints == 12
    assert describe(None, {"data": [{"id": "m", "max_model_len": 9}]}) == Server(model="m", context=9)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:99999", "http://[::1", "ftp://x", "http://", "a b", "", "127.0.0.1:0"]
)
def test_what_is_no_url(run, url):
    result = run("load_multi", url)
    assert result.exit == 2 and "is no URL of a server" in result.err and "hint: give one like" in result.err


def test_a_host_with_a_port_is_a_url(serve, run):
    host = serve().url.removeprefix("http://")
    assert run("load_multi", host, *PROBE[1:]).exit == 0
    assert run("compare", host, host, "--prompts", 1, "--tokens", 20, "--new", 2).exit == 0


@pytest.mark.parametrize("path", ["", "/v1", "/somewhere/else"])
def test_a_server_of_something_else(serve, run, path):
    """A web server answers, and has none of the routes."""
    server = serve(native=False, models=False)
    result = run("load_multi", f"{server.url}{path}")
    assert result.exit == 4 and "has neither `/server_info` nor `/v1/models`" in result.err
    assert "hint: curl" in result.err


@pytest.fixture
def other():
    """A port on which something says one line of its own to everybody, or nothing at all."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        listening.settimeout(20)

        def answer(line, others):
            with contextlib.suppress(OSError):
                while True:
                    asking, _ = listening.accept()
                    if line:
                        asking.sendall(line)
                        asking.close()
                    else:
                        others.append(asking)

        def start(line):
            threading.Thread(target=answer, args=(line, []), daemon=True).start()
            return f"http://127.0.0.1:{listening.getsockname()[1]}"

        yield start


@pytest.mark.parametrize("verb", ["load_multi", "depth_probe", "speed", "conc"])
def test_what_does_not_speak_http(run, other, verb):
    result = run(verb, other(b"SSH-2.0-OpenSSH_9.9\r\n"))
    assert result.exit == 4 and "does not speak HTTP" in result.err and "hint: curl" in result.err


def test_what_takes_the_connection_and_says_nothing(run, other):
    result = run("load_multi", other(b""), "--timeout", 1)
    assert result.exit == 4 and "no answer within 1 s" in result.err and "hint: curl" in result.err


def test_tls_where_there_is_none(serve, run):
    result = run("load_multi", serve().url.replace("http:", "https:"))
    assert result.exit == 4 and "nobody answers at" in result.err and "SSL" in result.err


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from([
            "data", "id", "max_model_len", "internal_states", "version", "max_req_input_len", "choices", "delta",
            "content", "usage", "prompt_tokens", "completion_tokens", "prompt_tokens_details", "cached_tokens", "error",
            "message", "meta_info", "output_ids", "text", "finish_reason", "type", "context_length",
        ]),
        inner,
        max_size=5,
    ),
    max_leaves=12,
)  # fmt: skip


@given(JSON, JSON)
def test_whatever_a_server_says_of_itself_is_read_or_ignored(info, models):
    found = describe(info if isinstance(info, dict) else None, models if isinstance(models, dict) else None)
    assert found.context is None or found.context > 0


@given(st.lists(JSON, max_size=4))
def test_whatever_stands_in_a_stream_is_read_or_refused(events):
    reading = Reading("/generate")
    with contextlib.suppress(Refused):
        for event in events:
            reading.event(json.dumps(event), 0.1)
        reading.event("[DONE]", 0.2)
        reading.answer(0.0, 0.3)
