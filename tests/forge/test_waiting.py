"""Which answers are waited for, and for how long."""

from __future__ import annotations

import pytest

from rebasekit.forge import waiting

NOW = 1_000_000.0


@pytest.mark.parametrize(
    ("status", "headers", "message", "wanted"),
    [
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOW) + 30)}, "", 31.0),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOW) - 30)}, "", 1.0),
        (403, {"retry-after": "17"}, "You have exceeded a secondary rate limit", 17.0),
        (403, {"x-ratelimit-remaining": "55"}, "You have exceeded a secondary rate limit", 60.0),
        (429, {}, "", 60.0),
        (429, {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, "", 60.0),
        (403, {"x-ratelimit-remaining": "55"}, "Resource not accessible by integration", None),
        (401, {}, "Bad credentials", None),
        (422, {}, "Validation Failed", None),
        (502, {}, "", 1.0),
        (0, {}, "ConnectionError", 1.0),
    ],
)
def test_first_attempt(status: int, headers: dict[str, str], message: str, wanted: float | None) -> None:
    assert waiting.seconds(status, headers, message, 0, NOW) == wanted


def test_each_further_attempt_waits_longer_and_the_last_gives_up() -> None:
    faults = [waiting.seconds(503, {}, "", attempt, NOW) for attempt in range(4)]
    assert faults == [1.0, 4.0, 10.0, None]
    assert [waiting.seconds(429, {}, "", attempt, NOW) for attempt in range(3)] == [60.0, 120.0, 240.0]
