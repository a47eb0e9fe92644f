"""What two bits cost a trained model: perplexity and retrieval, asked of servers with different KV caches.

    python serve/gpu/quality.py MODEL [--gpus 0,1] [--json FILE] [--only NAME,…] [--samples 48]

MODEL is a folder that `train.py` made. Every cache is a server of its own, all at once, spread over the cards; sglang
must be importable and patched. Prompts are read in chunks of 64 tokens (`--chunk`): a chunk sees itself in 16 bit in
every cache, so a longer one would hide what the cache loses. Perplexity is per byte of library files that were not
trained on. Retrieval is the share of five-digit values that greedy decoding gives back when a key of the context is
asked for.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from ask import Server
from train import DIGITS, with_needles

os.environ.setdefault("SGLANG_MAMBA_CONV_DTYPE", "float16")  # bf16 otherwise, which no kernel mixes with fp16 weights
NO_ROWS = ["--int2-sink-tokens", "0", "--int2-window-tokens", "0"]


def caches(model: Path) -> dict[str, list[str]]:
    """Flags of each cache that is compared."""
    turned = ["--int2-k-rotation", str(model / "k_rotation.pt"), "--int2-v-rotation", str(model / "v_rotation.pt")]
    plain = ["--int2-k-rotation", "none", "--int2-v-rotation", "none"]
    int2 = ["--kv-cache-dtype", "int2"]
    return {
        "fp16": [],
        "int2 hadamard": [*int2, *NO_ROWS],
        "int2 hadamard, 64 + 256 rows": int2,
        "int2 calibrated": [*int2, *NO_ROWS, *turned],
        "int2 calibrated, 64 + 256 rows": [*int2, *turned],
        "int2 no rotation": [*int2, *NO_ROWS, *plain],
        "int2 hadamard, group 32": [*int2, *NO_ROWS, "--kv-cache-quant-group-size", "32"],
        "int2 all rows": [*int2, "--int2-window-tokens", "4096"],
    }


def perplexity(server: Server, held_out: bytes, context: int, samples: int) -> float:
    """Per byte, over `samples` slices, the first 256 bytes of each left out: they have hardly any past."""
    source = random.Random(3)
    loss, count = 0.0, 0
    for _ in range(samples):
        start = source.randrange(len(held_out) - context)
        tokens = list(held_out[start : start + context])
        answer = server.generate(tokens, 1, return_logprob=True, logprob_start_len=0)
        values = [entry[0] for entry in answer["meta_info"]["input_token_logprobs"][256:]]
        loss -= sum(values)
        count += len(values)
    return math.exp(loss / count)


def retrieval(server: Server, held_out: bytes, context: int, samples: int, questions: int = 6) -> dict[str, float]:
    """Shares of values that came back whole, and of digits."""
    source = random.Random(4)
    whole = digits = asked = 0
    for _ in range(samples):
        made, answers = with_needles(held_out, context - 64, context // 128, questions, source)
        body = list(made)
        first = answers[0] - len("# key QWER = ")
        prompts = [body[:first] + body[answer - len("# key QWER = ") : answer] for answer in answers]
        for answer, reply in zip(answers, [server.generate(prompt, DIGITS) for prompt in prompts], strict=True):
            got = reply["output_ids"][:DIGITS]
            want = body[answer : answer + DIGITS]
            whole += got == want
            digits += sum(a == b for a, b in zip(got, want, strict=True))
            asked += 1
    return {"values": whole / asked, "digits": digits / asked / DIGITS, "asked": asked}


def measure(name: str, flags: list[str], number: int, options: argparse.Namespace) -> dict[str, Any]:
    """Start one server, ask it everything, stop it."""
    gpus = options.gpus.split(",")
    log = options.logs / f"quality-{number}.log"
    server = Server(
        [
            "--model-path", str(options.model), "--dtype", "float16", "--context-length", str(options.context + 64),
            "--max-total-tokens", "16384", "--max-running-requests", "4", "--max-mamba-cache-size", "64",
            "--chunked-prefill-size", str(options.chunk), "--mem-fraction-static", "0.2",
            "--disable-prefill-cuda-graph", "--skip-server-warmup", *flags,
        ],
        options.port + 20 * number, log, gpus[number % len(gpus)],
    )  # fmt: skip
    held_out = (options.model / "held_out.bin").read_bytes()
    row: dict[str, Any] = {"cache": name}
    try:
        row["ready s"] = round(server.wait(options.ready), 1)
        row["perplexity"] = perplexity(server, held_out, options.context, options.samples)
        row |= retrieval(server, held_out, options.context, options.samples // 2)
        row["seconds"] = round(time.monotonic() - server.began, 1)
    except Exception as error:  # the other caches go on
        row["error"] = f"{type(error).__name__}: {error}"[-800:]
    finally:
        server.stop()
    print(row, flush=True)
    return row


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--gpus", default="0")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--samples", type=int, default=48)
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--chunk", type=int, default=64)
    parser.add_argument("--port", type=int, default=31000)
    parser.add_argument("--ready", type=float, default=300, help="seconds that a server may take to start")
    parser.add_argument("--logs", type=Path, default=Path(tempfile.gettempdir()))
    options = parser.parse_args()
    chosen = {n: f for n, f in caches(options.model).items() if not options.only or n in options.only.split(";")}
    with ThreadPoolExecutor(len(chosen)) as pool:
        rows = list(pool.map(lambda job: measure(*job[1], job[0], options), enumerate(chosen.items())))
    if options.json is not None:
        options.json.write_text(
            json.dumps({"context": options.context, "chunk": options.chunk, "rows": rows}, indent=1)
        )
    print(f"{'cache':34} perplexity  values  digits")
    for row in rows:
        if "error" in row:
            print(f"{row['cache']:34} {row['error'][:200]}")
        else:
            print(f"{row['cache']:34} {row['perplexity']:10.4f} {row['values']:7.3f} {row['digits']:7.3f}")


if __name__ == "__main__":
    main()
