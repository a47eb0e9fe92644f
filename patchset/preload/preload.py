"""A longest prefill chunk, behind another, and one decode before the server says ready (``--preload-longest-chunk``).

Two halves. The HTTP process sends the request, through the same door as a user's. The processes that run the model watch it: they measure
memory, wait for the device after each forward so that an error belongs to the forward that caused it, and name the kernel that failed.
"""

from __future__ import annotations

import logging
import time
from types import FrameType, TracebackType
from typing import Any

import torch

from sglang.srt.environ import envs
from sglang.srt.runtime_context import get_disagg, get_parallel, get_schedule, get_serving

logger = logging.getLogger(__name__)

DECODED = 2
"""Tokens asked for: prefill gives the first, one decode the second."""


class PreloadError(RuntimeError):
    """The preload failed; the message says in which kernel and with how much memory left."""


def prompt_tokens(server_info: dict[str, Any]) -> int:
    """Tokens of a prompt whose last chunk is as long as a chunk can be, and stands behind another: attention to a cached prefix is
    other kernels than attention to itself. As much of that as the running server has room for."""
    room = [server_info.get("max_req_input_len"), server_info.get("max_total_num_tokens")]
    limits = [limit - DECODED for limit in room if limit]
    if not limits:
        raise PreloadError("--preload-longest-chunk: the server does not say how long a prompt can be")
    chunk = get_schedule().chunked_prefill_size
    return max(min([*limits, 2 * chunk] if chunk and chunk > 0 else limits), 1)


def send_longest_chunk(url: str, headers: dict[str, str], verify: Any, model_info: dict[str, Any]) -> None:
    """Send it, wait for it, and throw away what it left in the cache. Does nothing unless asked for; raises `PreloadError`."""
    import requests

    if not get_serving().preload_longest_chunk:
        return
    if not model_info.get("is_generation", True):
        raise PreloadError("--preload-longest-chunk serves models that generate text")
    info = requests.get(url + "/server_info", headers=headers, verify=verify, timeout=60).json()
    tokens = prompt_tokens(info)
    parallel = get_parallel()
    ranks = getattr(parallel, "num_dp_ranks", None) or parallel.dp_size
    prompt = [10 + i % 100 for i in range(tokens)]
    logger.info("preload: a prompt of %d tokens and one decode", tokens)
    start = time.perf_counter()
    answer = requests.post(
        url + "/generate",
        json={
            "input_ids": prompt if ranks == 1 else [prompt] * ranks,
            "sampling_params": {"temperature": 0, "max_new_tokens": DECODED, "ignore_eos": True},
        },
        headers=headers,
        verify=verify,
        timeout=1800,  # first use compiles
    )
    if answer.status_code != 200:
        raise PreloadError(f"--preload-longest-chunk: a prompt of {tokens} tokens failed: {answer.text}")
    # An answered request is the scheduler's for a moment longer, and until then nothing is flushed.
    flushed = requests.post(url + "/flush_cache?timeout=30", headers=headers, verify=verify, timeout=60)
    if flushed.status_code != 200:
        logger.warning("preload: its prompt stays in the prefix cache until room is needed: %s", flushed.text.strip())
    logger.info("preload: done in %.1f s", time.perf_counter() - start)


def watch(runner: Any) -> None:
    """Watch a model runner's forwards until the preload is over. Does nothing unless asked for."""
    serving = get_serving()
    if not serving.preload_longest_chunk or runner.is_draft_worker:
        return
    if serving.skip_server_warmup:
        raise ValueError("--preload-longest-chunk is part of the warm-up; it cannot go with --skip-server-warmup.")
    if get_disagg().disaggregation_mode != "null":
        raise ValueError("--preload-longest-chunk does not serve disaggregated prefill and decode.")
    # Their warm-up is their own, and would say ready without a preload.
    for server, used in {
        "the gRPC server (--smg-grpc-mode)": serving.smg_grpc_mode or serving.grpc_mode,
        "the Rust server (SGLANG_RUST_SERVER)": envs.SGLANG_RUST_SERVER.get(),
    }.items():
        if used:
            raise ValueError(f"--preload-longest-chunk needs the HTTP server; it cannot go with {server}.")
    runner.forward = Watch(runner)


class Watch:
    """Stands in for one runner's ``forward``, and takes itself away after the first decode that follows a prefill."""

    def __init__(self, runner: Any) -> None:
        self.runner = runner
        self.forward = runner.forward
        self.prefilled = 0
        self.lowest = free_bytes(runner.device)

    def __call__(self, forward_batch: Any, *args: Any, **kwargs: Any) -> Any:
        mode = forward_batch.forward_mode
        tokens = 0 if forward_batch.input_ids is None else len(forward_batch.input_ids)
        before = free_bytes(self.runner.device)
        try:
            output = self.forward(forward_batch, *args, **kwargs)
            wait(self.runner.device)
        except Exception as error:
            message = describe(error, f"{mode.name.lower()} of {tokens} tokens", before, free_bytes(self.runner.device))
            logger.error(message)
            raise PreloadError(message) from error
        self.lowest = min(self.lowest, free_bytes(self.runner.device))
        if mode.is_extend():
            self.prefilled = max(self.prefilled, tokens)
        elif mode.is_decode() and self.prefilled:
            del self.runner.forward
            logger.info(
                "preload: chunks of up to %d tokens and a decode ran; at the lowest %.2f GB were free",
                self.prefilled,
                self.lowest / (1 << 30),
            )
        return output


def describe(error: BaseException, what: str, before: int, after: int) -> str:
    """One line: what failed, in which kernel, and the memory before and after."""
    gigabyte = 1 << 30
    return (
        f"preload: {kernel_of(error.__traceback__)} failed in {what}; {before / gigabyte:.2f} GB were free before it, "
        f"{after / gigabyte:.2f} GB when it failed: {type(error).__name__}: {error}"
    )


def kernel_of(traceback: TracebackType | None) -> str:
    """The Triton kernel that was being launched, else the innermost function of this package, by the frames of an error."""
    kernel, function = None, "the model"
    while traceback is not None:
        frame = traceback.tb_frame
        kernel = _kernel_in(frame) or kernel
        if "sglang" in frame.f_globals.get("__name__", "") or "kernels" in frame.f_globals.get("__name__", ""):
            function = f"`{frame.f_code.co_name}` ({frame.f_globals['__name__']}:{traceback.tb_lineno})"
        traceback = traceback.tb_next
    return f"kernel `{kernel}`" if kernel else function


def _kernel_in(frame: FrameType) -> str | None:
    """Triton's launcher keeps the kernel's Python function in ``self.fn``; a compiled kernel its name in ``self.metadata``."""
    if not frame.f_globals.get("__name__", "").startswith("triton."):
        return None
    launcher = frame.f_locals.get("self")
    name = getattr(getattr(launcher, "fn", None), "__name__", None)
    return name or getattr(getattr(launcher, "metadata", None), "name", None)


def free_bytes(device: str) -> int:
    """Memory that is free on the device now, or 0 when even that cannot be asked any more."""
    try:
        if torch.device(device).type == "cuda":
            return torch.cuda.mem_get_info()[0]
        import psutil

        return psutil.virtual_memory().available
    except Exception:  # after a fatal device error every call raises; the error itself is what matters
        return 0


def wait(device: str) -> None:
    """Let an asynchronous error come out here."""
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize()
