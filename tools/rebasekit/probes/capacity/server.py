"""A running server's own answer, and the memory figures that servers write to their log."""

from __future__ import annotations

import http.client
import json
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from rebasekit.errors import StateError, UsageError
from rebasekit.model.size import GIB
from rebasekit.model.tag import Tag
from rebasekit.probes.capacity.flags import Flags, flags_from

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_PATHS = ("/server_info", "/get_server_info")  # the second is the first's old name
_LIMIT = 64 << 20
_BEGIN = re.compile(r"Load weight begin\. avail mem=([0-9]+\.[0-9]+) GB")
_END = re.compile(r"Load weight end\..* avail mem=([0-9]+\.[0-9]+) GB, mem usage=(-?[0-9]+\.[0-9]+) GB")


@dataclass(frozen=True)
class Running:
    """What a server says of itself. Bytes are those of its first rank; `free_after` is what was free once it stood."""

    tag: Tag
    model_path: str
    flags: Flags
    tokens: int
    requests: int | None
    weights: int
    kv_bytes: int
    graphs: int
    free_after: int
    state_slots: int | None


def fetch(url: str, limit: float = 10.0) -> dict[str, Any]:
    """The answer to /server_info at `url`; raise StateError when there is none."""
    base = url.rstrip("/")
    if not base.startswith(("http://", "https://")):
        base = f"http://{base}"
    for path in _PATHS:
        try:
            with _OPENER.open(base + path, timeout=limit) as answer:
                data = json.loads(answer.read(_LIMIT))
        except urllib.error.HTTPError as error:
            if error.code == 404 and path != _PATHS[-1]:
                continue
            other = " (only SGLang has it)" if error.code == 404 else ""
            hint = "tools/capacity --model DIR" if error.code == 404 else "curl " + base + path
            raise StateError(f"`{base}{path}` answers with {error.code}{other}", hint=hint) from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise StateError(f"`{base}{path}` gives no answer: {reason}", hint="curl " + base + path) from None
        if isinstance(data, dict):
            return data
        break
    raise StateError(f"`{base}` is not a server that says what it was started with")


def running(info: Mapping[str, Any]) -> Running:
    """Read a server's answer; raise StateError for one that lacks what is needed."""
    try:
        state = dict(info["internal_states"][0])
        memory = state["memory_usage"]
        flags = flags_from(info)  # as it was started: what it made of them is to be predicted
        slots = state.get("max_mamba_cache_size")
        requests = state.get("effective_max_running_requests_per_dp")
        return Running(
            tag=Tag.parse(_release(str(info["version"]))),
            model_path=str(info["model_path"]),
            flags=flags,
            tokens=int(info["max_total_num_tokens"]),
            requests=None if requests is None else int(requests),
            weights=_gib(memory["weight"]),
            kv_bytes=_gib(memory["kvcache"]),
            graphs=sum(_gib(value) for value in memory.get("graph", {}).values()),
            free_after=_gib(memory["startup_available"]),
            state_slots=None if slots is None else int(slots),
        )
    except (KeyError, IndexError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        if isinstance(error, UsageError):
            raise
        raise StateError(f"the server's answer lacks what is needed: {error!s:.80}") from None


def memory_from_log(text: str) -> tuple[int, int]:
    """Free memory before the weights, and what they took, from a server's log: the least that any rank had.

    Raises StateError when the log does not say so. Logs round to 0.01 GiB.
    """
    before = [_gib(found) for found in _BEGIN.findall(text)]
    after = [_gib(found) for found, _ in _END.findall(text)]
    if not before or not after:
        raise StateError("the log has no lines `Load weight begin` and `Load weight end`")
    free = min(before)
    return free, max(free - min(after), 0)


def _gib(value: object) -> int:
    return int(Decimal(str(value)) * GIB)


def _release(version: str) -> str:
    """`0.5.20` of `0.5.20+rk.8925aef9d823` or `0.5.20.post1`."""
    return version.partition("+")[0]
