"""The server as it describes itself: how long a prompt may be, how much its cache holds, and what it reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from rebasekit.errors import UsageError

Api = Literal["auto", "generate", "completions", "chat"]
APIS: tuple[Api, ...] = ("auto", "generate", "completions", "chat")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Endpoint:
    """Where to ask: a URL, or `HOST:PORT`. `limit` is seconds for one request; the key is never part of a message or a
    repr. Raises UsageError for what is no URL."""

    url: str
    key: str | None = field(default=None, repr=False)
    limit: float = 900.0

    def __post_init__(self) -> None:
        if "://" not in self.url:
            object.__setattr__(self, "url", f"http://{self.url}")
        try:
            parts = urlsplit(self.url)
            good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
            good = good and not any(letter.isspace() for letter in self.url)
        except ValueError:  # a port above 65535, brackets that do not match
            good = False
        if not good:
            raise UsageError(f"`{self.shown}` is no URL of a server", hint="give one like http://127.0.0.1:30000")

    @property
    def base(self) -> str:
        """The URL without a slash at its end and without `/v1`, which clients of the OpenAI API want there."""
        return self.url.rstrip("/").removesuffix("/v1")

    @property
    def shown(self) -> str:
        """The URL without a user and a password."""
        head, at, rest = self.url.rpartition("@")
        return f"{head.partition('//')[0]}//{rest}" if at else self.url

    @property
    def local(self) -> bool:
        """Whether the server is on this machine."""
        return urlsplit(self.url).hostname in _LOOPBACK


@dataclass(frozen=True)
class Server:
    """What a server says of itself; None where it does not say. Counts are tokens.

    `input_limit` is the first length that is not taken: a prompt has to be shorter. `truncates` says that a longer
    one is cut without a word. `states` are the slots for recurrent states of a hybrid model, and `checkpoints` those
    for kept states in int8 (`--enable-int8-mamba-checkpoint`).
    """

    model: str = ""
    version: str | None = None
    context: int | None = None
    input_limit: int | None = None
    pool: int | None = None
    states: int | None = None
    checkpoints: int | None = None
    running: int | None = None
    chunk: int | None = None
    truncates: bool | None = None
    reports: bool | None = None
    caches: bool | None = None
    native: bool = False  # it has SGLang's own routes

    def excess(self, tokens: int, new: int) -> str:
        """Why a prompt with `new` tokens after it does not fit; empty when it does."""
        cut = ", and would cut it without a word (`--allow-auto-truncate`)" if self.truncates else ""
        if self.input_limit is not None and tokens >= self.input_limit:
            return f"a prompt of {tokens} tokens is too long: the server takes fewer than {self.input_limit}{cut}"
        if self.context is not None and tokens >= self.context:
            return f"a prompt of {tokens} tokens is too long for the context of {self.context}{cut}"
        if self.context is not None and tokens + new > self.context:
            return f"{tokens} tokens and {new} new ones are more than the context of {self.context}{cut}"
        return ""

    @property
    def room(self) -> int | None:
        """The longest prompt for which there is room, with one new token; None when the server does not say."""
        known = [limit - 1 for limit in (self.input_limit, self.context) if limit is not None]
        return min(known) if known else None


def describe(info: Mapping[str, Any] | None, models: Mapping[str, Any] | None) -> Server:
    """The answers of `/server_info` and `/v1/models`, each None where there is no such route."""
    cards = _list((models or {}).get("data"))
    first = cards[0] if cards else None
    card: Mapping[str, Any] = first if isinstance(first, Mapping) else {}
    info = {**info} if info else {}
    states = _list(info.get("internal_states"))
    for state in states:  # what was resolved at start counts, not what was asked for
        for key in ("max_mamba_cache_size", "context_length", "max_running_requests"):
            if isinstance(state, dict) and info.get(key) is None:
                info[key] = state.get(key)
    running = info.get("max_running_requests")
    if states and isinstance(states[0], dict):
        running = states[0].get("effective_max_running_requests_per_dp", running)
    slots = _count(info.get("max_mamba_cache_size"))
    kept = info.get("enable_int8_mamba_checkpoint") is True
    off = info.get("disable_radix_cache")
    return Server(
        model=str(info.get("served_model_name") or card.get("id") or ""),
        version=str(info["version"]) if info.get("version") else None,
        context=_count(info.get("context_length")) or _count(card.get("max_model_len")),
        input_limit=_count(info.get("max_req_input_len")),
        pool=_count(info.get("max_total_num_tokens")),
        states=slots,
        # without a size of its own the pool has two checkpoints for each slot (`mamba_checkpoint_pool`, v0.5.19 on)
        checkpoints=(_count(info.get("int8_mamba_ckpt_size")) or 2 * (slots or 0) or None) if kept else None,
        running=_count(running),
        chunk=_count(info.get("chunked_prefill_size")),
        truncates=_flag(info.get("allow_auto_truncate")),
        reports=_flag(info.get("enable_cache_report")),
        caches=None if _flag(off) is None else not off,
        native=bool(info),
    )


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None
