"""The scripts of serve/gpu that need no card: what they train on, what they save, and how they report a dead server."""

from __future__ import annotations

import json
import os
import random
import socket
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "serve" / "gpu"))

import ask  # noqa: E402
import deploy  # noqa: E402
import train  # noqa: E402

TEXT = b"".join(b"line %d of some text\n" % i for i in range(500))


def test_needles_can_be_found_again() -> None:
    made, answers = train.with_needles(TEXT, 1500, 6, 4, random.Random(1))
    assert len(made) == 1500
    assert len(answers) == 4
    for answer in answers:
        line = made[answer - len("# key QWER = ") : answer + train.DIGITS + 1]
        assert line.startswith(b"# key ")
        assert line.endswith(b"\n")
        assert made.count(line) == 2
        assert made.index(line) < answers[0] - len(line)


def test_the_weights_of_a_batch_stand_on_the_answers() -> None:
    tokens, weights = train.batch_of(TEXT, 2, 512, random.Random(2))
    assert tokens.shape == (2, 513)
    heavy = weights[0] > 1
    assert heavy.sum() in [answers * train.DIGITS for answers in (1, 2, 3, 4)]
    assert all(48 <= token < 58 for token in tokens[0, 1:][heavy].tolist())
    assert (weights[1] == 1).all()


def test_the_delta_rule_by_chunks_is_the_rule_by_tokens() -> None:
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 150, 3, 16) for _ in range(3))
    g, beta = -torch.rand(2, 150, 3), torch.rand(2, 150, 3)
    got = train.delta_rule(q, k, v, g, beta)
    q, k = (x.double() / x.double().norm(dim=-1, keepdim=True) for x in (q, k))
    state = torch.zeros(2, 3, 16, 16, dtype=torch.float64)
    want = []
    for i in range(150):
        state = state * g[:, i].double().exp()[..., None, None]
        seen = torch.einsum("bhk,bhkv->bhv", k[:, i], state)
        new = beta[:, i].double()[..., None] * (v[:, i].double() - seen)
        state = state + torch.einsum("bhk,bhv->bhkv", k[:, i], new)
        want.append(torch.einsum("bhk,bhkv->bhv", q[:, i] * 16**-0.5, state))
    assert torch.allclose(got.double(), torch.stack(want, 1), atol=1e-5)


def test_what_is_saved_has_every_weight_once(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    model = train.Model()
    train.save(model, tmp_path, 256)
    places = json.loads((tmp_path / "model.safetensors.index.json").read_text())["weight_map"]
    assert sum(weight.numel() for weight in train.exported(model).values()) == sum(
        weight.numel() for weight in model.parameters()
    )
    assert {f"model.layers.3.self_attn.{part}_proj.weight" for part in "qkvo"} <= set(places)
    assert {f"model.layers.0.mlp.experts.{i}.down_proj.weight" for i in range(train.EXPERTS)} <= set(places)
    assert all((tmp_path / file).stat().st_size < 16 << 20 for file in set(places.values()))


def test_a_byte_is_its_own_token(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    train.save_tokenizer(tmp_path)
    text = "def f():\n\treturn 'é'  # key ABCD = 12345\n"
    assert tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json")).encode(text).ids == list(text.encode())


def test_prompts_share_no_prefix() -> None:
    prompts = [deploy.prompt(50, seed) for seed in range(20)]
    assert len({tuple(prompt) for prompt in prompts}) == 20
    assert all(len(prompt) == 50 for prompt in prompts)
    assert len({prompt[0] for prompt in prompts}) > 15


def test_what_a_log_says_of_the_preload() -> None:
    log = """\
[TP1] preload: chunks of up to 8192 tokens and a decode ran; at the lowest 119.52 GB were free
[TP0] preload: chunks of up to 8192 tokens and a decode ran; at the lowest 119.50 GB were free
preload: done in 31.4 s
"""
    assert deploy.preloading(log) == {"preload s": [31.4], "least GiB free": [119.52, 119.5]}
    assert deploy.preloading("") == {"preload s": [], "least GiB free": []}


SERVER = """\
import http.server, json, sys
if "--kv-cache-dtype" not in sys.argv:
    sys.exit("no card here")
class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer({"max_total_num_tokens": 40000})
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.answer({"meta_info": {"cached_tokens": 0}})
    def answer(self, body):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())
    def log_message(self, *words):
        pass
print("preload: done in 1.5 s", flush=True)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Answers).serve_forever()
"""


def install(server: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A release in the folder whose server is that text."""
    (folder / "sglang").mkdir()
    (folder / "sglang" / "__init__.py").touch()
    (folder / "sglang" / "launch_server.py").write_text(server)
    monkeypatch.setenv("PYTHONPATH", str(folder))


def test_servers_one_after_the_other_and_a_command_at_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The 16-bit servers end at once here; that is reported, and the others are measured all the same."""
    install(SERVER, tmp_path, monkeypatch)
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\nprintf '1024\\n2048\\n'\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    out = tmp_path / "out.json"
    then = f"echo {{url}} > {tmp_path}/then"
    arguments = ["deploy.py", "--port", str(port), "--logs", str(tmp_path), "--json", str(out), "--then", then]
    monkeypatch.setattr(sys, "argv", [*arguments, "--only", "bf16, preloaded;int2, preloaded"])
    deploy.main()
    rows = json.loads(out.read_text())["rows"]
    assert [row["cache"] for row in rows] == ["bf16, preloaded", "int2, preloaded"]
    assert "no card here" in rows[0]["error"]
    assert rows[1] | {"ready s": 0, "cold prefill tok/s": 0} == {
        "cache": "int2, preloaded", "ready s": 0, "tokens": 40000, "cold prefill tok/s": 0, "preload s": [1.5],
        "least GiB free": [], "longest": 40000 - 2 * deploy.CHUNK, "chain": 50000 // 3, "eighth": 2952,
        "GiB at ready": [1.0, 2.0], "GiB after a chunk": [1.0, 2.0], "GiB after the longest": [1.0, 2.0],
    }  # fmt: skip
    assert (tmp_path / "then").read_text().strip() == f"http://127.0.0.1:{port + 20}"


def test_a_server_that_ends_is_reported_with_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install("raise SystemExit('no card here')\n", tmp_path, monkeypatch)
    server = ask.Server([], 1, tmp_path / "log")
    with pytest.raises(ask.ServerError, match="no card here"):
        server.wait(30)
    server.stop()
