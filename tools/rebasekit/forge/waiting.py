"""How long an answer asks us to wait before the call is made again."""

from __future__ import annotations

from collections.abc import Mapping

_SECONDARY = 60.0  # seconds, where the forge names none: what its documentation asks for
_BACKOFF = (1.0, 4.0, 10.0)  # seconds after a fault of the server's


def is_limit(status: int, headers: Mapping[str, str], message: str) -> bool:
    """Whether a refusal is a rate limit (either kind) and not a missing permission: both come as 403."""
    if status == 429 or (status == 403 and headers.get("x-ratelimit-remaining") == "0"):
        return True
    return status == 403 and ("retry-after" in headers or "rate limit" in message.lower())


def seconds(status: int, headers: Mapping[str, str], message: str, attempt: int, now: float) -> float | None:
    """Seconds to wait before attempt `attempt + 1` (from 0); None when waiting does not help.

    `now` is the time of the clock in seconds since the epoch, which the reset header uses.
    """
    if is_limit(status, headers, message):
        after = headers.get("retry-after", "")
        if after.isdigit():
            return float(after)
        reset = headers.get("x-ratelimit-reset", "")
        if headers.get("x-ratelimit-remaining") == "0" and reset.isdigit():
            return max(1.0, float(reset) - now + 1.0)  # one more: the clocks are not the same
        return _SECONDARY * float(2**attempt)
    if status >= 500 or status == 0:  # 0: the connection broke
        return _BACKOFF[attempt] if attempt < len(_BACKOFF) else None
    return None
