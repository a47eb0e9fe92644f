"""A server that fits into a file: greedy tokens by a rule, a prefix cache, two ranks as processes of their own.

`served.pool` is the module with our lines in it; what a rank does with them is up to the test.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from rebasekit.probes.effects import config, runnable
from rebasekit.probes.scripts import FOLDER
from rebasekit.steps.smoke.compare import Expected
from rebasekit.steps.smoke.plan import Launch, Limits
from rebasekit.steps.smoke.prompts import NEW, referenced
from rebasekit.steps.smoke.run import Rig

CONTEXT, CHUNK = 96, 16
PIN = {"SERVED_CORE": "python"}
LIMITS = Limits(ready=20, request=3, refusal=20, stop=5)

POOL = """\
def price(slots):
    cost = slots * 2
    return cost


def long_prefill(tokens):
    seen = len(tokens)
    return seen


class Pool:
    limit = 3

    def __init__(self):
        self.slots = price(4)
"""
RANK = """\
import sys
from served.pool import Pool, long_prefill

pool = Pool()
print("ready", flush=True)
for line in sys.stdin:
    tokens = list(map(int, line.split()))
    if len(tokens) > 82:
        try:
            long_prefill(tokens)
        except Exception:
            import traceback
            print("error", flush=True)
            traceback.print_exc()
            continue
    print("done", flush=True)
"""
SERVER = """\
import json, os, subprocess, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

argv = dict(zip(sys.argv[1::2], sys.argv[2::2]))
fault, limit = argv.get("--fault", ""), int(argv["--context-length"])
if os.environ.get("SERVED_CORE") == "rust":
    print("Traceback (most recent call last):", file=sys.stderr)
    print("ValueError: thinning needs the python core, but the core is rust", file=sys.stderr)
    sys.exit(1)
if fault == "dies-at-start":
    print("cannot find the weights", file=sys.stderr)
    sys.exit(3)
print("Tree Core: " + os.environ.get("SERVED_CORE", "rust"), flush=True)


def rank(number):
    # A Python that goes by another name does not know its environment.
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    if fault == "lost-pin":
        environ["SERVED_CORE"] = "rust"
    return subprocess.Popen([f"served::scheduler_TP{number}", "-m", "served.rank"], executable=sys.executable,
                            env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            start_new_session=True)


ranks = [rank(0), rank(1)]
for each in ranks:
    each.stdout.readline()
lock, cache, asked = threading.Lock(), [], [0]


def answer(tokens, new):
    made = []
    for _ in range(new):
        made.append((31 * sum(tokens) + 7 * len(tokens) + len(made)) % 256)
        tokens = [*tokens, made[-1]]
    return made


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def say(self, status, data):
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if fault == "never-ready":
            return self.say(503, {})
        self.say(200, {})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with lock:
            if self.path == "/flush_cache":
                cache.clear()
                return self.say(200, {})
            asked[0] += 1
            if fault == "dies" and asked[0] > 2:
                print("killed by the kernel", file=sys.stderr, flush=True)
                os._exit(9)
            if fault == "hangs" and asked[0] > 2:
                time.sleep(60)
            tokens, new = body["input_ids"], body["sampling_params"]["max_new_tokens"]
            if len(tokens) >= limit:
                return self.say(400, {"error": {"message": "longer than the context"}})
            for each in ranks:
                each.stdin.write(" ".join(map(str, tokens)) + "\\n")
                each.stdin.flush()
            if "error" in [each.stdout.readline().strip() for each in ranks]:
                return self.say(500, {"error": {"message": "internal error"}})
            known = max((len(os.path.commonprefix([tokens, old])) for old in cache), default=0)
            known = min(known, len(tokens) - 1)
            new = 0 if fault == "empty" and len(tokens) >= limit - 6 else min(new, limit - len(tokens))
            made = answer(tokens, new)
            if fault == "stale-cache" and known:
                made[-1] = 0 if made[-1] else 1
            if fault == "wrong" and len(tokens) < 82:
                made[3] += 1
            cache.append([*tokens, *made])
        meta = {"cached_tokens": known, "prompt_tokens": len(tokens), "finish_reason": {"type": "length"}}
        if body.get("return_logprob"):
            scores = [-1.0 - token / 256 + (0.5 if fault == "off" else 0.0) for token in tokens[1:]]
            if fault == "nan":
                scores[7] = None
            meta["input_token_logprobs"] = [[None, tokens[0], None]] + [[s, 0, None] for s in scores]
            meta["output_token_logprobs"] = [[-0.5, token, None] for token in made]
            meta["output_top_logprobs"] = [[[-0.5, token, None], [-0.6, 0, None]] for token in made]
        self.say(200, {"output_ids": made, "meta_info": meta})


def stop(*_):
    if fault == "ignores-sigterm":
        return
    for each in ranks:
        each.terminate()
    os._exit(0)


import signal
signal.signal(signal.SIGTERM, stop)
ThreadingHTTPServer(("127.0.0.1", int(argv["--port"])), Handler).serve_forever()
"""


def expect(prompt):
    """The rule of the server, as a reference."""
    tokens, made = list(prompt), []
    for number in range(NEW):
        made.append((31 * sum(tokens) + 7 * len(tokens) + number) % 256)
        tokens.append(made[-1])
    return Expected(tuple(made), (1.0,) * NEW, tuple(score(token) for token in prompt[1:]))


def score(token):
    """The log-probability that the server's rule gives a token of a prompt."""
    return -1.0 - token / 256


class Served:
    """The server's files and a rig around it; `lines` collects the report."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "site"
        self.lines = []
        for name, text in {"__init__": "", "pool": POOL, "rank": RANK, "server": SERVER}.items():
            self.write(name, text)
        self.hunks = [("p/price", [2, 3]), ("p/long", [7, 8]), ("p/pool", [14, 15]), ("p/limit", [12])]
        self.folder = folder / "smoke"

    def write(self, name, text):
        path = self.root / "served" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def runnables(self):
        source = (self.root / "served" / "pool.py").read_bytes()
        return [runnable(name, "served/pool.py", source, lines) for name, lines in self.hunks]

    def rig(self, fault="", limits=LIMITS):
        names = {"served.pool.Pool": "served/pool.py"}

        def argv(launch):
            fixed = ["--port", "{port}", "--context-length", str(CONTEXT), "--fault", fault]
            return [sys.executable, "-m", "served.server", *fixed, *launch.arguments]

        def environ(launch, folder):
            import json

            (folder / "notes").mkdir(parents=True, exist_ok=True)
            site = {"notes": str(folder / "notes"), **config(self.runnables(), names, names, self.root)}
            (folder / "site.json").write_text(json.dumps(site))
            paths = os.pathsep.join([str(FOLDER / "site"), str(self.root)])
            base = {"PATH": os.environ["PATH"], "PYTHONPATH": paths, "REBASEKIT_SITE": str(folder / "site.json")}
            kept = {key: value for key, value in PIN.items() if key not in launch.without}
            return {**base, **kept, **launch.environment}

        return Rig(
            folder=self.folder,
            argv=argv,
            environ=environ,
            context=CONTEXT,
            expected={tuple(prompt): expect(prompt) for prompt in referenced(CONTEXT)},
            pins=PIN,
            limits=limits,
            root=self.root,
            chunk=CHUNK,
        )

    def smoke(self, fault="", steps=("pins", "greedy", "long-prefill", "limit", "prefix", "concurrency"), **more):
        """Run one launch; returns outcome and text by step."""
        answers = more.pop("answers", {})
        self.run = self.rig(fault, more.pop("limits", LIMITS))
        self.run.answers.update(answers)
        launch = Launch("main", steps=() if more.get("refuses") else steps, log=("Tree Core: python",), **more)
        self.lines = []
        self.run.launch(launch, self.lines.append)
        return {line.step: (line.outcome, line.text) for line in self.lines}


@pytest.fixture
def served(tmp_path):
    return Served(tmp_path)
