"""What a server can do instead of answering. Each says what to do next, and none has a key in it."""

from __future__ import annotations

from rebasekit.errors import StateError, UsageError


class Refused(StateError):
    """The server answered with an error: its HTTP status (200 for an error inside a stream) and its words."""

    def __init__(self, path: str, status: int, words: str, *, hint: str | None = None) -> None:
        said = f"`{path}` answered {status}" + (f": {words}" if words else "")
        if status in (401, 403) and hint is None:
            said, hint = f"{said} (the key is missing or wrong)", "export REBASEKIT_API_KEY=…"
        super().__init__(said, hint=hint)
        self.status = status


class Unreachable(StateError):
    """No answer: nobody listens, the connection broke, or it took longer than the limit (`late`)."""

    def __init__(self, message: str, *, late: bool = False, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.late = late


class NotReported(StateError):
    """Answers do not say how many prompt tokens came from the cache."""

    def __init__(self) -> None:
        super().__init__(
            "answers have no `cached_tokens`: the server runs without `--enable-cache-report`",
            hint="restart the server with --enable-cache-report",
        )


class Warm(StateError):
    """A prompt that had to be cold was found in the cache."""

    def __init__(self, what: str, cached: int, expected: int) -> None:
        allowed = f", and only {expected} can be shared" if expected else ""
        super().__init__(
            f"{what} is not cold: {cached} of its tokens came from the cache{allowed}",
            hint="let the probe flush (leave out --no-flush), or give another --seed",
        )
        self.cached = cached


class TooLong(UsageError):
    """A prompt that the server would refuse, or cut without a word; found before it is sent."""
