"""Requests to one server on this machine."""

from __future__ import annotations

import http.client
import json
import random
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rebasekit.probes.words import error_words

_RANGE, _EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range"), 32768
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy has no business on loopback
_LINGERS = 15.0  # seconds


class Refused(Exception):
    """The server answered with an error: its status and its words."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"HTTP {status}: {message}")
        self.status = status
        self.message = message


class Unreachable(Exception):
    """No answer: the server is gone, or it took longer than the limit (`late`)."""

    def __init__(self, message: str, *, late: bool = False) -> None:
        super().__init__(message)
        self.late = late


@dataclass(frozen=True)
class Answer:
    """Tokens that the server made, and how many of the prompt's it had cached.

    With scores: log-probabilities (nats) of the prompt's tokens but the first and of its own, and by how many logits
    each of its own was ahead of the next best.
    """

    tokens: tuple[int, ...]
    cached: int
    prompt: int
    finish: str
    prompt_scores: tuple[float, ...] = ()
    scores: tuple[float, ...] = ()
    margins: tuple[float, ...] = ()


@dataclass(frozen=True)
class Client:
    port: int
    limit: float

    def ready(self) -> bool:
        """Whether the server says that it can be asked."""
        try:
            self._open("/health", None, 5.0)
        except (Refused, Unreachable):
            return False
        return True

    def generate(self, tokens: Sequence[int], new: int, *, scores: bool = False) -> Answer:
        """Greedy tokens after a prompt; raise Refused or Unreachable."""
        sampling = {"max_new_tokens": new, "temperature": 0.0, "ignore_eos": True}
        more = {"return_logprob": True, "logprob_start_len": 0, "top_logprobs_num": 2} if scores else {}
        said = self._open("/generate", {"input_ids": list(tokens), "sampling_params": sampling, **more}, self.limit)
        data = said[0] if isinstance(said, list) else said
        meta = data.get("meta_info", {})
        if "cached_tokens" not in meta:
            raise Refused(200, "the answer has no `cached_tokens`")
        finish = meta.get("finish_reason")
        return Answer(
            tuple(data.get("output_ids") or ()),
            int(meta["cached_tokens"]),
            int(meta.get("prompt_tokens", 0)),
            json.dumps(finish) if isinstance(finish, dict) else str(finish),
            _scores(meta.get("input_token_logprobs"))[1:],
            _scores(meta.get("output_token_logprobs")),
            tuple(best[0][0] - best[1][0] for best in meta.get("output_top_logprobs") or ()),
        )

    def flush(self) -> None:
        """Empty the cache; raise Refused when the server still has work after a while.

        A request that was answered is the scheduler's for a moment longer, and until then it refuses.
        """
        stop = time.monotonic() + _LINGERS
        while True:
            try:
                self._open("/flush_cache", {}, self.limit)
                return
            except Refused:
                if time.monotonic() > stop:
                    raise
                time.sleep(0.2)

    def _open(self, path: str, body: object, limit: float) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", data, {"Content-Type": "application/json"}
        )
        try:
            with _OPENER.open(request, timeout=limit) as answer:
                text = answer.read().decode(errors="replace")
        except urllib.error.HTTPError as error:
            raise Refused(error.code, error_words(error.read().decode(errors="replace"))) from None
        except TimeoutError:
            raise Unreachable(f"no answer within {limit:.0f} s", late=True) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, TimeoutError | socket.timeout):
                raise Unreachable(f"no answer within {limit:.0f} s", late=True) from None
            raise Unreachable(f"no answer: {reason}") from None
        try:
            return json.loads(text)
        except ValueError:
            return text


def _scores(said: Sequence[Sequence[Any]] | None) -> tuple[float, ...]:
    """The first of each `[log-probability, token, text]`; what is no number is none for the reader either."""
    return tuple(float("nan") if each[0] is None else float(each[0]) for each in said or ())


def free_port() -> int:
    """A port that nobody listens on now, and that no outgoing connection gets: servers bind minutes later."""
    lowest = int(_RANGE.read_text().split()[0]) if _RANGE.exists() else _EPHEMERAL
    while True:
        port = random.randrange(lowest // 3, lowest)  # noqa: S311  no secret
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
