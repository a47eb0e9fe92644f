"""An int2 pool beside a 16-bit one, on the same flags and cards: tokens, speed, memory, and what is still cached.

    python serve/gpu/deploy.py [--tp 2] [--layers 32] [--fraction 0.12] [--only NAME;…]
                                    [--json FILE] [--seconds 540] [--then COMMAND]

The model has half the depth of a 27B hybrid and its shape otherwise (hidden 5120, three gated-delta-net layers to one
of full attention, 24 query and 4 KV heads of 256), with random weights, which cost what trained ones cost. sglang must
be importable and patched. The 16-bit server comes first: the longest context and the chains are sized by what it holds.
`--fraction` decides that; on a large card a small one makes a pool like a small card's. Each cache comes without and
with `--preload-longest-chunk`, the latter for memory alone. `--seconds` ends the run in time; what was not measured is
missing. `--then` runs a command while the last server is still up, with `{url}` for its address.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from ask import Server, ServerError
from train import save_tokenizer

VOCABULARY = 32768
CHAINS = 3
DECODED = 128
CHUNK = 8192
INT2 = ["--kv-cache-dtype", "int2"]
WITHOUT, WITH = ["--skip-server-warmup"], ["--preload-longest-chunk"]
SERVERS = {
    "bf16": WITHOUT,
    "int2": [*INT2, *WITHOUT],
    "bf16, preloaded": WITH,
    "int2, preloaded": [*INT2, *WITH],
}
"""Names and flags, in order."""


def make_model(folder: Path, layers: int) -> None:
    """Only a configuration and a tokenizer: weights are made up on the cards."""
    kinds = ["full_attention" if (i + 1) % 4 == 0 else "linear_attention" for i in range(layers)]
    folder.mkdir(parents=True, exist_ok=True)
    save_tokenizer(folder)
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["Qwen3NextForCausalLM"], "model_type": "qwen3_next", "torch_dtype": "bfloat16",
        "vocab_size": VOCABULARY, "hidden_size": 5120, "intermediate_size": 17408, "num_hidden_layers": layers,
        "layer_types": kinds, "full_attention_interval": 4, "num_attention_heads": 24, "num_key_value_heads": 4,
        "head_dim": 256, "partial_rotary_factor": 0.25, "rope_theta": 1e7, "linear_num_key_heads": 16,
        "linear_num_value_heads": 48, "linear_key_head_dim": 128, "linear_value_head_dim": 128,
        "linear_conv_kernel_dim": 4, "num_experts": 4, "num_experts_per_tok": 4, "moe_intermediate_size": 4352,
        "shared_expert_intermediate_size": 256, "decoder_sparse_step": 1, "norm_topk_prob": True,
        "mlp_only_layers": [], "max_position_embeddings": 262144, "rms_norm_eps": 1e-6, "hidden_act": "silu",
        "attention_bias": False, "tie_word_embeddings": False, "bos_token_id": 511, "eos_token_id": 511,
    }))  # fmt: skip


def used_gib() -> list[float]:
    """Memory in use on each card, by the driver."""
    query = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    return [
        int(line) / 1024 for line in subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()
    ]


def preloading(log: str) -> dict[str, list[float]]:
    """What a server's log says of its preload: how long it took, and the least that was free on each rank."""
    seconds = re.findall(r"preload: done in ([0-9.]+) s", log)
    lowest = re.findall(r"preload: .* at the lowest ([0-9.]+) GB were free", log)
    return {"preload s": [float(each) for each in seconds], "least GiB free": [float(each) for each in lowest]}


def prompt(tokens: int, seed: int) -> list[int]:
    """Random tokens, no two prompts alike from the first on."""
    return [random.Random(seed).randrange(1000, VOCABULARY) for _ in range(1)] + random.Random(-seed).choices(
        range(1000, VOCABULARY), k=tokens - 1
    )


def timed(server: Server, tokens: Any, new: int) -> tuple[float, Any]:
    """Seconds and answer of one request."""
    begin = time.monotonic()
    answer = server.generate(tokens, new)
    return time.monotonic() - begin, answer


def decode_speed(server: Server, prompts: list[list[int]]) -> dict[str, float]:
    """Tokens per second of all prompts together, their prefixes cached; the best of three."""
    best = 0.0
    for _ in range(3):
        short, _ = timed(server, prompts, 1)
        long, _ = timed(server, prompts, DECODED + 1)
        best = max(best, DECODED * len(prompts) / (long - short))
    return {"tok/s": best, "ms": 1000 * len(prompts) / best}


def retention(server: Server, length: int) -> list[dict[str, float]]:
    """`CHAINS` chains asked in turn, twice: what share of each lap's tokens was cached, and how long a lap took."""
    laps = []
    for _ in range(2):
        cached = 0
        seconds = 0.0
        for chain in range(CHAINS):
            took, answer = timed(server, prompt(length, 100 + chain), 1)
            cached += answer["meta_info"]["cached_tokens"]
            seconds += took
        laps.append({"cached": cached / CHAINS / length, "seconds": seconds})
    return laps


class Run:
    """One server's measurements, kept as they come."""

    def __init__(self, name: str, flags: list[str], options: argparse.Namespace, folder: Path) -> None:
        self.name, self.options, self.row = name, options, {"cache": name}
        number = len(list(options.logs.glob("deploy-*.log")))
        self.server = Server(
            [
                "--model-path", str(folder), "--load-format", "dummy", "--tp", str(options.tp), "--dtype", "bfloat16",
                "--mem-fraction-static", str(options.fraction), "--context-length", "262144",
                "--max-running-requests", "10", "--max-mamba-cache-size", "64", "--cuda-graph-max-bs-decode", "10",
                "--chunked-prefill-size", str(CHUNK), "--disable-prefill-cuda-graph", *flags,
            ],
            options.port + 20 * number, options.logs / f"deploy-{number}.log",
        )  # fmt: skip

    def note(self, **values: Any) -> None:
        """Keep and show."""
        self.row |= values
        print(self.name, {k: round(v, 3) if isinstance(v, float) else v for k, v in values.items()}, flush=True)

    def measure(self, sizes: dict[str, int], memory_only: bool) -> None:
        """Everything, or what a long prefill does to memory; `sizes` is filled by the first server for the others."""
        server = self.server
        ready = server.wait(300)
        info = server.get("/server_info")
        tokens = info.get("max_total_num_tokens") or info["internal_states"][0]["max_total_num_tokens"]
        self.note(**{"ready s": ready, "tokens": tokens, "GiB at ready": used_gib()})
        if memory_only:
            self.note(**preloading(server.log.read_text(errors="replace")))
        sizes.setdefault("longest", min(tokens - 2 * CHUNK, 131072))
        sizes.setdefault("chain", min(int(tokens * 1.25) // CHAINS, 200000))
        sizes.setdefault("eighth", sizes["longest"] // 8)
        self.note(**sizes)
        timed(server, prompt(CHUNK + 64, 1), 2)  # kernels that only now compile
        self.note(**{"GiB after a chunk": used_gib()})
        server.flush()
        seconds, _ = timed(server, prompt(sizes["longest"], 2), 1)
        self.note(**{"cold prefill tok/s": sizes["longest"] / seconds, "GiB after the longest": used_gib()})
        if memory_only:
            return
        self.note(**{"decode, batch 1": decode_speed(server, [prompt(sizes["longest"], 2)])})
        server.flush()
        eight = [prompt(sizes["eighth"], 10 + i) for i in range(8)]
        timed(server, eight, 1)
        self.note(**{"decode, batch 8": decode_speed(server, eight)})
        server.flush()
        server.flush()
        seconds, _ = timed(server, [prompt(4096, 30 + i) for i in range(10)], DECODED)
        self.note(**{"10 clients, tok/s": 10 * DECODED / seconds})
        self.note(laps=retention(server, sizes["chain"]))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tp", type=int, default=2)
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--fraction", type=float, default=0.12)
    parser.add_argument("--only", default="", help="names of servers, with semicolons between")
    parser.add_argument("--port", type=int, default=32000)
    parser.add_argument("--seconds", type=float, default=540)
    parser.add_argument("--then", default="", help="run while the last server is up; {url} is its address")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--logs", type=Path, default=Path(tempfile.gettempdir()))
    options = parser.parse_args()
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp()) / "model"
    make_model(folder, options.layers)
    sizes: dict[str, int] = {}
    rows = []
    chosen = [name for name in SERVERS if not options.only or name in options.only.split(";")]
    for name in chosen:
        flags = SERVERS[name]
        if time.monotonic() - began > options.seconds - 100:
            break
        run = Run(name, flags, options, folder)
        try:
            run.measure(sizes, flags[-1:] == WITH)
            if options.then and name == chosen[-1]:
                subprocess.run(options.then.replace("{url}", run.server.url), shell=True, check=False)
        except (ServerError, OSError, KeyError) as error:
            run.note(error=f"{type(error).__name__}: {error}"[-1500:])
        finally:
            run.server.stop()
        rows.append(run.row)
        if options.json is not None:
            options.json.write_text(json.dumps({"options": vars(options), "rows": rows}, default=str, indent=1))


if __name__ == "__main__":
    main()
