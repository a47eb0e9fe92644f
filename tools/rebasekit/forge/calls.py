"""Calls to the forge's API through PyGithub's requester: what to retry, what to report, and a dry run that tells.

PyGithub's own retries would send a POST again after a broken connection. Here a call that makes something is only
repeated after `done` has looked whether the first one did arrive.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote

from rebasekit.errors import StateError
from rebasekit.forge import waiting
from rebasekit.model.progress import SILENT, Progress

_T = TypeVar("_T")
_PAGE = 100
_PAGES = 100  # ten thousand entries; a forge that pages forever must not hold us
_ATTEMPTS = 5
_SHOWN = 60  # characters of a body's value in a dry run


class ForgeError(StateError):
    """The forge said no, or nothing; `status` is HTTP's, 0 when nobody answered. A rate limit is `limited`."""

    def __init__(
        self, message: str, status: int, *, hint: str | None = None, said: str = "", limited: bool = False
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.limited = limited
        self.said = said  # the forge's own words


@dataclass(frozen=True)
class Settings:
    """Where the forge is and how patient we are. `patience` is the longest that one call waits, in seconds."""

    base_url: str
    repository: str
    token: str = field(default="", repr=False)
    patience: float = 900.0
    timeout: int = 30
    between_writes: float = 1.0  # seconds; the forge asks for that
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.time

    def without_token(self, value: Any) -> Any:
        """A text, or data with texts in it, in which the token does not stand whoever put it there."""
        if isinstance(value, str):
            return value.replace(self.token, "***") if self.token else value
        if isinstance(value, Mapping):
            return {key: self.without_token(inner) for key, inner in value.items()}
        return [self.without_token(inner) for inner in value] if isinstance(value, (list, tuple)) else value


class Calls:
    """Reads and writes below `/repos/<repository>`. With `dry`, writes are told to it and nothing is sent.

    Without a token a dry run reads nothing either: it tells what a first run would do.
    """

    def __init__(self, settings: Settings, *, dry: Callable[[str], None] | None = None, progress: Progress = SILENT):
        import github  # half a second that only the bot needs
        from github import Auth

        self.settings = settings
        self.dry = dry
        self._progress = progress
        self._github = github.Github(
            base_url=settings.base_url,
            auth=Auth.Token(settings.token) if settings.token else None,
            timeout=settings.timeout,
            retry=None,
            user_agent="rebasekit",
            seconds_between_requests=0,
            seconds_between_writes=settings.between_writes,
        )
        self._requester = self._github.requester

    @property
    def blind(self) -> bool:
        """Whether this is a dry run that cannot read."""
        return self.dry is not None and not self.settings.token

    def path(self, *parts: str | int) -> str:
        """A path of the repository; each part is quoted whole, so that a label's slash stays in its place."""
        tail = "/".join(quote(str(part), safe="") for part in parts)
        return f"/repos/{self.settings.repository}" + (f"/{tail}" if tail else "")

    def get(self, path: str, parameters: Mapping[str, str] | None = None) -> Any:
        """One answer; raise ForgeError."""
        return self._retried("GET", path, lambda: self._send("GET", path, dict(parameters or {}), None), None)

    def pages(self, path: str, parameters: Mapping[str, str] | None = None) -> list[Any]:
        """Everything of a list."""
        found: list[Any] = []
        for page in range(1, _PAGES + 1):
            part = self.get(path, {**(parameters or {}), "per_page": str(_PAGE), "page": str(page)})
            found += part
            if len(part) < _PAGE:
                break
        return found

    def write(self, verb: str, path: str, body: object = None, *, done: Callable[[], _T | None] | None = None) -> Any:
        """Send a change and return the answer. After a fault, `done` looks whether it arrived; its answer is returned.

        Without `done` the change must be one that can be made twice. In a dry run an empty answer is returned.
        """
        body = self.settings.without_token(body)
        if self.dry is not None:
            self.dry(f"{verb} {path}" + (f" {summary(body)}" if body is not None else ""))
            return {}
        return self._retried(verb, path, lambda: self._send(verb, path, None, body), done)

    def graphql(self, mutation: str, variables: Mapping[str, object]) -> Any:
        """A GraphQL mutation that can be made twice: what REST has no call for."""
        if self.dry is not None:
            self.dry(f"POST /graphql {summary({'query': mutation, 'variables': variables})}")
            return {}

        def send() -> Any:
            return self._requester.graphql_query(mutation, dict(variables))[1]

        return self._retried("POST", "/graphql", send, None)

    def _send(self, verb: str, path: str, parameters: dict[str, str] | None, body: object) -> Any:
        return self._requester.requestJsonAndCheck(verb, path, parameters=parameters, input=body)[1]

    def _retried(self, verb: str, path: str, send: Callable[[], Any], done: Callable[[], _T | None] | None) -> Any:
        import requests
        from github import GithubException

        waited, attempt = 0.0, 0
        while True:
            try:
                return send()
            except GithubException as error:
                status, headers = error.status, {k.lower(): v for k, v in (error.headers or {}).items()}
                said = self.settings.without_token(_said(error.data) or (error.message or ""))
            except requests.RequestException as error:
                status, headers, said = 0, {}, type(error).__name__
            wait = waiting.seconds(status, headers, said, attempt, self.settings.clock())
            limited = waiting.is_limit(status, headers, said)
            attempt += 1
            if wait is None or attempt >= _ATTEMPTS or waited + wait > self.settings.patience:
                raise self._refused(verb, path, status, said, wait if limited else None)
            if limited or wait > 5:
                self._progress.note(f"the forge asks to wait {wait:.0f} s ({said or status})")
            self.settings.sleep(wait)
            waited += wait
            # A limit is told before anything is done; a fault may come after.
            if done is not None and not limited and (found := done()) is not None:
                return found

    def _refused(self, verb: str, path: str, status: int, said: str, wait: float | None) -> ForgeError:
        call = f"`{verb} {path}`"
        words = f": {said}" if said else ""
        if wait is not None:
            message = f"the forge's rate limit holds {call} up for {wait:.0f} s more{words}"
            return ForgeError(message, status, said=said, limited=True)
        if status == 0:
            return ForgeError(f"no answer from `{self.settings.base_url}` to {call}{words}", status, said=said)
        if status == 401:
            message = f"the forge does not take the token{words}"
            return ForgeError(message, status, hint="set REBASEKIT_TOKEN to one that is valid", said=said)
        if status in (403, 404):
            message = f"the token may not do {call}{words}"
            hint = "give it write access to contents, pull requests and issues of the repository"
            return ForgeError(message, status, hint=hint, said=said)
        return ForgeError(f"the forge refuses {call} with {status}{words}", status, said=said)


def _said(data: object) -> str:
    """The forge's message with its details, on one line."""
    if not isinstance(data, dict):
        return ""
    errors = [error if isinstance(error, dict) else {"message": error} for error in data.get("errors") or []]
    parts = [str(each.get("message") or each.get("code") or "") for each in (data, *errors)]
    return "; ".join(" ".join(part.split()) for part in parts if part)[:500]


def summary(body: object) -> str:
    """A body with its long texts cut, as JSON."""

    def cut(value: object) -> object:
        if isinstance(value, str) and len(value) > _SHOWN:
            lines = [line for line in value.splitlines() if line.strip() and not line.startswith("<!--")]
            return f"{(lines or [''])[0][:_SHOWN]}… ({len(value)} characters)"
        if isinstance(value, Mapping):
            return {key: cut(inner) for key, inner in value.items()}
        return [cut(inner) for inner in value] if isinstance(value, (list, tuple)) else value

    return json.dumps(cut(body), ensure_ascii=True)
