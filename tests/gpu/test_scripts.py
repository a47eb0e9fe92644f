"""The scripts of serve/gpu that need no card: what they train on, what they save, and how they report a dead server."""

from __future__ import annotations

import json
import random
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


def test_a_server_that_ends_is_reported_with_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sglang").mkdir()
    (tmp_path / "sglang" / "__init__.py").touch()
    (tmp_path / "sglang" / "launch_server.py").write_text("raise SystemExit('no card here')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    server = ask.Server([], 1, tmp_path / "log")
    with pytest.raises(ask.ServerError, match="no card here"):
        server.wait(30)
    server.stop()
