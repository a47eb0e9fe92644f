"""What the measurements here share: start a server, wait for it, ask it, stop it. Standard library alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

SAFE = {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NVSHMEM_DISABLE_NVLS": "1"}
"""NVLink multicast needs a fabric manager that is not everywhere."""
COMMON = [
    "--host", "127.0.0.1", "--attention-backend", "triton", "--sampling-backend", "pytorch",
    "--grammar-backend", "none", "--linear-attn-backend", "triton", "--disable-custom-all-reduce",
    "--enable-cache-report",
]  # fmt: skip


class ServerError(RuntimeError):
    """A server that ended, did not get ready, or answered with an error."""


class Server:
    """One server process and its group; `log` has what it printed."""

    def __init__(self, arguments: list[str], port: int, log: Path, devices: str | None = None) -> None:
        environment = os.environ | SAFE | ({"CUDA_VISIBLE_DEVICES": devices} if devices is not None else {})
        self.url = f"http://127.0.0.1:{port}"
        self.log = log
        self.began = time.monotonic()
        command = [
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "sglang.launch_server",
            *COMMON,
            "--port",
            str(port),
            *arguments,
        ]
        with log.open("w") as out:
            self.process = subprocess.Popen(
                command, stdout=out, stderr=subprocess.STDOUT, env=environment, start_new_session=True
            )

    def wait(self, seconds: float) -> float:
        """Seconds from the start until it answers; raises `ServerError` with the end of its log."""
        while time.monotonic() - self.began < seconds:
            if self.process.poll() is not None:
                break
            try:
                with urllib.request.urlopen(f"{self.url}/health", timeout=5):
                    return time.monotonic() - self.began
            except (urllib.error.URLError, OSError):
                time.sleep(0.5)
        raise ServerError(f"not ready ({self.process.poll()}): …{self.tail()}")

    def tail(self, size: int = 1500) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-size:]

    def stop(self) -> None:
        """End the whole group."""
        for number, patience in ((signal.SIGTERM, 15), (signal.SIGKILL, 5)):
            try:
                os.killpg(self.process.pid, number)
            except ProcessLookupError:
                return
            try:
                self.process.wait(patience)
            except subprocess.TimeoutExpired:
                continue

    def get(self, path: str) -> Any:
        """JSON of a page."""
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            return json.load(answer)

    def post(self, path: str, body: dict[str, Any] | None = None, seconds: float = 600) -> Any:
        """JSON, or text where it is none, of an answer."""
        request = urllib.request.Request(
            self.url + path, json.dumps(body or {}).encode(), {"content-type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=seconds) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            raise ServerError(f"{path}: {error.code} {error.read()[:300]!r}") from error
        try:
            return json.loads(text)
        except ValueError:
            return text

    def generate(self, tokens: list[int] | list[list[int]], new: int, **more: Any) -> Any:
        """Greedy answer to one prompt or to several at once."""
        sampling = {"temperature": 0, "max_new_tokens": new, "ignore_eos": True}
        return self.post("/generate", {"input_ids": tokens, "sampling_params": sampling} | more)

    def flush(self) -> None:
        """Forget the cache."""
        for _ in range(50):
            try:
                self.post("/flush_cache")
                return
            except ServerError:  # something is still running
                time.sleep(0.1)
        raise ServerError("the cache could not be flushed")
