"""The request that is sent, what watches it, and the places where both are asked for."""

from __future__ import annotations

import argparse
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, patch

import pytest
import tree

tree.require()

for needed in ("soundfile", "openai_harmony", "anthropic", "tiktoken"):
    pytest.importorskip(needed, reason="the HTTP server imports it")

import sglang.srt.entrypoints.http_server as http_server
import sglang.srt.model_executor.model_runner as model_runner
import torch
import triton
from sglang.srt.model_executor.forward_batch_info import ForwardMode
from sglang.srt.model_executor.model_runner import ModelRunner
from sglang.srt.runtime_context import get_serving
from sglang.srt.server_args import ServerArgs, set_global_server_args_for_scheduler

ON = {"preload_longest_chunk": True}
CHUNK = 64


def publish(**arguments: Any) -> ServerArgs:
    try:
        server_args = ServerArgs(model_path="dummy", page_size=1, chunked_prefill_size=CHUNK, **arguments)
    except TypeError as error:
        raise AssertionError(str(error)) from error
    set_global_server_args_for_scheduler(server_args)
    return server_args


class Server:
    """What the warm-up talks to; `up` when it said that the server is ready."""

    def __init__(self, info: dict[str, Any], fail_from: int, flush: int = 200) -> None:
        self.prompts: list[Any] = []
        self.seen: list[str] = []
        self.status: Any = None
        server = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self, code: int, body: Any) -> None:
                self.send_response(code)
                self.end_headers()
                self.wfile.write(json.dumps(body).encode())

            def do_GET(self) -> None:
                server.seen.append(self.path)
                self.answer(200, {"/model_info": {"is_generation": True}, "/server_info": info}.get(self.path, {}))

            def do_POST(self) -> None:
                server.seen.append(self.path)
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or b"{}")
                if self.path == "/generate":
                    tokens = len(asked.get("input_ids", []))
                    server.prompts.append((tokens, asked["sampling_params"]["max_new_tokens"], server.status))
                    return self.answer(500 if tokens >= fail_from else 200, "no memory for `some_kernel`")
                return self.answer(flush, "still at work" if flush != 200 else {})

            def log_message(self, *_: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


@pytest.fixture
def warm_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Run the release's own warm-up against a stub: (its answer, the stub, how often it ended the process)."""
    running: list[Server] = []

    def run(
        info: dict[str, Any], fail_from: int = 10**9, flush: int = 200, **arguments: Any
    ) -> tuple[bool, Server, int]:
        server = Server(info, fail_from, flush)
        running.append(server)
        ended: list[int] = []
        server_args = publish(host="127.0.0.1", port=server.http.server_port, skip_tokenizer_init=True, **arguments)
        monkeypatch.setattr(
            http_server, "_global_state", SimpleNamespace(tokenizer_manager=Manager(server)), raising=False
        )
        monkeypatch.setattr(http_server, "kill_process_tree", ended.append)
        return http_server._execute_server_warmup(server_args), server, len(ended)

    yield run
    for server in running:
        server.http.shutdown()


class Manager:
    def __init__(self, server: Server) -> None:
        self.__dict__["server"] = server

    def __setattr__(self, name: str, value: Any) -> None:
        self.server.status = value


INFO = {"max_req_input_len": 1000, "max_total_num_tokens": 4000}


@pytest.mark.differs
@pytest.mark.parametrize(
    ("info", "tokens"),
    [(INFO, 2 * CHUNK), (INFO | {"max_req_input_len": 100}, 98), (INFO | {"max_total_num_tokens": 40}, 38)],
    ids=["two chunks", "short context", "small pool"],
)
def test_the_longest_chunk_is_sent_before_the_server_is_up(warm_up: Any, info: dict[str, int], tokens: int) -> None:
    worked, server, ended = warm_up(info, **ON)
    assert (worked, ended) == (True, 0)
    assert server.prompts[0] == (tokens, 2, None)
    assert "/flush_cache?timeout=30" in server.seen  # the scheduler may still have the request that was answered
    assert server.prompts[-1][0] < 10  # upstream's own request, after ours
    assert server.status is not None


@pytest.mark.differs
def test_a_failure_ends_the_start(warm_up: Any, caplog: pytest.LogCaptureFixture) -> None:
    worked, server, ended = warm_up(INFO, fail_from=CHUNK, **ON)
    assert (worked, ended) == (False, 1)
    assert server.status is None
    assert f"a prompt of {2 * CHUNK} tokens failed" in caplog.text
    assert "some_kernel" in caplog.text


@pytest.mark.differs
def test_a_prompt_that_stays_in_the_cache_is_said(warm_up: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Behind an admin key, for example: it is no reason not to serve."""
    worked, server, ended = warm_up(INFO, flush=401, **ON)
    assert (worked, ended) == (True, 0)
    assert server.status is not None
    assert "its prompt stays in the prefix cache until room is needed: " in caplog.text
    assert "still at work" in caplog.text


@pytest.mark.unchanged
def test_off_sends_what_upstream_sends(warm_up: Any, record_property: Any) -> None:
    worked, server, _ = warm_up(INFO)
    record_property("trace", f"{worked} {server.seen} {server.prompts}")


@pytest.mark.differs
@pytest.mark.parametrize("given", [[], ["--preload-longest-chunk"]], ids=["default", "given"])
def test_the_flag_reaches_the_namespace(given: list[str]) -> None:
    parser = argparse.ArgumentParser(exit_on_error=False)
    ServerArgs.add_cli_args(parser)
    parsed, unknown = parser.parse_known_args(["--model-path", "dummy", *given])
    assert unknown == []
    assert getattr(parsed, "preload_longest_chunk", None) is bool(given)
    publish(preload_longest_chunk=bool(given))
    assert get_serving().preload_longest_chunk is bool(given)


class Loading(Exception):
    """The model would be loaded now."""


def initialized(is_draft_worker: bool = False) -> Any:
    """A runner that went through the release's `initialize` until it loads the model."""
    runner = MagicMock(is_draft_worker=is_draft_worker, device="cpu")
    runner.load_model.side_effect = Loading
    runner.forward = runner.plain = MagicMock(name="plain")
    with patch.object(model_runner, "create_sampler"), pytest.raises(Loading):  # a sampler wants process groups
        ModelRunner.initialize(runner)
    return runner


def batch(mode: Any, tokens: int) -> Any:
    return SimpleNamespace(forward_mode=mode, input_ids=torch.zeros(tokens))


@pytest.mark.differs
def test_a_runner_is_watched_until_its_first_decode_after_a_prefill(caplog: pytest.LogCaptureFixture) -> None:
    publish(**ON)
    runner = initialized()
    with caplog.at_level("INFO"):
        assert runner.forward is not runner.plain, "nothing watches the runner"
        watching = runner.forward
        for mode, tokens in (
            (ForwardMode.DECODE, 1),
            (ForwardMode.EXTEND, 64),
            (ForwardMode.IDLE, 0),
            (ForwardMode.EXTEND, 30),
        ):
            assert runner.forward(batch(mode, tokens), None, x=1) is runner.plain.return_value
            assert runner.forward is watching
        runner.forward(batch(ForwardMode.DECODE, 1))
    assert runner.plain.call_count == 5
    assert "forward" not in vars(runner)
    assert "chunks of up to 64 tokens and a decode ran; at the lowest" in caplog.text


@pytest.mark.differs
def test_a_failure_names_the_kernel_and_the_memory() -> None:
    publish(**ON)
    runner = initialized()
    assert runner.forward is not runner.plain, "nothing watches the runner"
    runner.plain.side_effect = lambda *_: too_large[(1,)](torch.zeros(1))
    with pytest.raises(RuntimeError) as caught:
        runner.forward(batch(ForwardMode.EXTEND, 64))
    message = str(caught.value)
    assert message.startswith("preload: kernel `too_large` failed in extend of 64 tokens; ")
    assert "GB were free before it" in message
    assert caught.value.__cause__ is not None


@triton.jit
def too_large(pointer):
    """Never runs: there is no driver here, as there is no room on a full card; both fail in Triton's launcher."""


@pytest.mark.differs
def test_an_error_outside_kernels_names_the_function() -> None:
    publish(**ON)
    runner = initialized()
    assert runner.forward is not runner.plain, "nothing watches the runner"
    from sglang.srt.utils import set_random_seed

    runner.plain.side_effect = lambda *_: set_random_seed("no number")
    with pytest.raises(RuntimeError, match=r"preload: `set_random_seed` \(sglang.*:\d+\) failed in extend"):
        runner.forward(batch(ForwardMode.EXTEND, 4))


@pytest.mark.differs
@pytest.mark.parametrize(
    ("arguments", "name"),
    [({"skip_server_warmup": True}, "--skip-server-warmup"), ({"disaggregation_mode": "decode"}, "disaggregated")],
)
def test_what_cannot_be_preloaded_is_refused_at_start(arguments: dict[str, Any], name: str) -> None:
    publish(**ON, **arguments)
    with pytest.raises(ValueError, match=name):
        initialized()


@pytest.mark.differs
@pytest.mark.parametrize("name", ["smg_grpc_mode", "grpc_mode", "SGLANG_RUST_SERVER"])
def test_a_server_whose_warm_up_is_another_is_refused_at_start(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Since v0.5.22 the Rust server warms itself up: it would be ready without a preload, and without a word."""
    if name == "SGLANG_RUST_SERVER":
        monkeypatch.setenv(name, "1")
        publish(**ON)
    else:
        publish(**ON, **{name: True})
    with pytest.raises(ValueError, match=r"it cannot go with the (gRPC|Rust) server \("):
        initialized()


def test_off_and_for_drafts_nothing_is_watched() -> None:
    publish()
    assert (runner := initialized()).forward is runner.plain
    publish(**(ON if hasattr(get_serving(), "preload_longest_chunk") else {}))
    assert (runner := initialized(is_draft_worker=True)).forward is runner.plain
