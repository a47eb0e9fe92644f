"""`tools/capacity` as people run it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .figures import INFO, TINY

ROOT = Path(__file__).resolve().parents[2]
FLAGS = ["--tp", "2", "--mem-fraction-static", "0.5", "--max-running-requests", "4", "--context-length", "4096"]


@pytest.fixture
def model(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(TINY))
    (tmp_path / "model.safetensors").write_bytes(b"\0" * 4096)
    return tmp_path


def run(*argv):
    done = subprocess.run(
        [sys.executable, ROOT / "tools/capacity", *map(str, argv)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_the_executable_is_that_of_every_command():
    assert (ROOT / "tools/capacity").read_bytes() == (ROOT / "tools/reach").read_bytes()


def test_the_table_names_the_limits(model):
    code, out, _ = run("--model", model, "--free", "1 GiB", "--chain", "4096", "--chains", "2", "--", *FLAGS)
    assert code == 0
    assert "limited by the budget" in out
    assert "5 slots each with extra_buffer" in out
    assert "2 × 4,096 = 8,192 tokens fit" in out
    assert "16.0 MiB at 131,072 tokens" in out


def test_what_does_not_fit_is_exit_code_1_with_what_to_change(model):
    asked = ["--model", model, "--free", "1 GiB", "--chain", "4096", "--chains", "2"]
    code, out, _ = run(*asked, "--", *FLAGS, "--max-total-tokens", "5000")
    assert code == 1
    assert "limited by the cap --max-total-tokens" in out
    assert "change together: --max-total-tokens 8192" in out


def test_json_says_the_same(model):
    asked = ["--model", model, "--free", "1 GiB", "--card", "2 GiB", "--weights", "1 MiB", "--json"]
    code, out, _ = run(*asked, "--", *FLAGS)
    data = json.loads(out)
    assert (code, data["schema"], data["ok"], data["ranks"], data["chains"]) == (0, 1, True, 2, None)
    assert data["memory"]["weights"] == 1 << 20
    assert data["tokens"]["limit"] == "budget"
    assert [cell["kind"] for cell in data["cells"]] == ["float16", "fp8_e4m3"]
    shares = data["shares"]
    assert shares[0]["tokens"] == 1 and shares[-1]["tokens"] == 4096
    assert all(share["taken before"] == 1 << 30 for share in shares)


def test_weights_are_the_models_files_split_over_the_ranks(model):
    _, out, _ = run("--model", model, "--free", "1 GiB", "--json", "--", *FLAGS)
    assert json.loads(out)["memory"]["weights"] == 2048


def test_a_log_says_what_was_free(model, tmp_path):
    log = tmp_path / "server.log"
    log.write_text(
        "[x TP0] Load weight begin. avail mem=8.00 GB\n"
        "[x TP0] Load weight end. elapsed=1 s, avail mem=6.50 GB, mem usage=1.50 GB.\n"
    )
    _, out, _ = run("--model", model, "--log", log, "--json", "--", *FLAGS)
    assert json.loads(out)["memory"]["free"] == 8 << 30
    assert json.loads(out)["memory"]["weights"] == 3 << 29


def test_a_running_server_beside_its_prediction(model, serve, tmp_path):
    """The answer is a real one; its pools and what was free afterwards are what was free before."""
    info = json.loads(json.dumps({**INFO, "model_path": str(model)}))
    url = serve({"/server_info": (200, json.dumps(info))})
    code, out, _ = run("--url", url)
    assert code == 0
    assert "the server says       34,850,938" in out
    assert "8.31 GiB, 256.0 bytes a token" in out
    data = json.loads(run("--url", url, "--json")[1])
    states = 33 * data["states"]["slot"]
    graphs = 3 << 28  # as the answer has them
    assert data["memory"]["free"] == pytest.approx((10.661 + 8.309 + 0.001) * (1 << 30) + graphs + states, abs=9)
    info["enable_int8_mamba_checkpoint"] = True
    more = json.loads(run("--url", serve({"/server_info": (200, json.dumps(info))}), "--json")[1])
    assert more["memory"]["free"] - data["memory"]["free"] == data["states"]["checkpoint"] * 65 + 8 * 64
    given = json.loads(run("--url", url, "--free", "20.95 GiB", "--json")[1])
    assert given["tokens"]["max_total_num_tokens"] == pytest.approx(34_850_938, rel=0.02)
    info["model_path"] = str(tmp_path / "elsewhere")
    code, _, err = run("--url", serve({"/server_info": (200, json.dumps(info))}))
    assert (code, "is not here" in err) == (2, True)


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_a_picture(model, tmp_path, suffix):
    pytest.importorskip("matplotlib")
    target = tmp_path / f"card.{suffix}"
    code, _, err = run("--model", model, "--free", "1 GiB", "--plot", target, "--", *FLAGS)
    assert (code, "drawn in" in err) == (0, True)
    data = target.read_bytes()
    assert data.startswith({"svg": b"<?xml", "png": b"\x89PNG"}[suffix])
    if suffix == "svg":
        text = data.decode()
        for part in ("weights", "states", "KV cache", "reserve", "the card", "tokens of one chain"):
            assert part in text
        run("--model", model, "--free", "1 GiB", "--plot", target, "--", *FLAGS)
        assert target.read_bytes() == data


@pytest.mark.parametrize(
    ("argv", "code", "message"),
    [
        ([], 2, "which model"),
        (["--model", "nowhere"], 4, "there is no `nowhere`"),
        (["--model", "@"], 2, "what memory a card has"),
        (["--model", "@", "--free", "lots"], 2, "`lots` is not a size"),
        (["--model", "@", "--free", "1 GiB"], 2, "static fraction"),
        (["--model", "@", "--free", "1 GiB", "--plot", "card.gif", "--", *FLAGS], 2, "is no picture"),
        (["--model", "@", "--free", "1 GiB", "--tag", "v0.4.0", "--", *FLAGS], 2, "older than"),
        (["--model", "@", "--free", "1 GiB", "--chain", "-3", "--", *FLAGS], 2, "is none"),
        (["--model", "@", "--free", "1 GiB", "--", "tp", "2"], 2, "`tp` is not a flag"),
        (["--profile", "rtx5070x3"], 2, "there is no profile `rtx5070x3`"),
        (["--profile", "rtx5070x2", "--url", "x"], 2, "two deployments"),
        (["--profile", "rtx5070x2", "--", "--tp", "1"], 2, "flags belong to --model"),
        (["--url", "127.0.0.1:9"], 4, "gives no answer"),
        (["--log", "nowhere"], 2, "cannot be read"),
    ],
)
def test_bad_input(model, argv, code, message):
    found, out, err = run(*[str(model) if word == "@" else word for word in argv])
    assert (found, out) == (code, "")
    assert message in err
    assert "bug" not in err
