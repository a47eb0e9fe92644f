"""Requests to one server: always streamed, never repeated, since a second try would measure a warm cache."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rebasekit.errors import StateError, UsageError
from rebasekit.probes.measure.failures import NotReported, Refused, TooLong, Unreachable
from rebasekit.probes.measure.server import Api, Endpoint, Server, describe
from rebasekit.probes.measure.stream import Answer, Reading
from rebasekit.probes.words import error_words

if TYPE_CHECKING:
    import httpx

    from rebasekit.probes.measure.prompts import Prompt

_ROUTES = {"generate": "/generate", "completions": "/v1/completions", "chat": "/v1/chat/completions"}
_ABSENT = (404, 405, 501)
_SETTLE = 5  # seconds that a server may take to notice that its last request has ended
_PATIENCE = 30.0  # seconds for what needs no model


class Client:
    """An open connection to a server. A context manager; `server` is known inside it."""

    def __init__(self, endpoint: Endpoint, api: Api = "auto", *, context: int | None = None) -> None:
        self.endpoint = endpoint
        self.api: Api = api
        self.server = Server()
        self._context = context
        self._http: httpx.AsyncClient | None = None
        self._spoke = False  # it has answered something

    async def __aenter__(self) -> Self:
        headers = {"Authorization": f"Bearer {self.endpoint.key}"} if self.endpoint.key else {}
        httpx = _httpx()
        self._http = httpx.AsyncClient(
            base_url=self.endpoint.base,
            headers=headers,
            timeout=httpx.Timeout(self.endpoint.limit, connect=_PATIENCE),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=None),  # N clients are N
            trust_env=not self.endpoint.local,  # a proxy has no business on loopback
        )
        try:
            await self._look()
        except BaseException:
            await self._http.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._http is not None:
            await self._http.aclose()

    async def _look(self) -> None:
        """Ask the server what it is, and choose the route."""
        info = await self._optional("/server_info") or await self._optional("/get_server_info")
        models = await self._optional("/v1/models")
        if info is None and models is None:
            where = self.endpoint.shown
            what = f"`{where}` has neither `/server_info` nor `/v1/models`, so it is no server that can be measured"
            raise StateError(what, hint=f"curl {where}/v1/models")
        self.server = describe(info, models)
        if self.api == "auto":
            self.api = "generate" if self.server.native else "chat"
        if self.server.caches is False:
            raise StateError(
                "the server has no prefix cache (`--disable-radix-cache`)", hint="start it without that flag"
            )
        if self._context is not None:
            self.server = replace(self.server, context=min(self._context, self.server.context or self._context))
        if self.server.room is None:
            raise UsageError("the server does not say how long a prompt may be", hint="say it: --context TOKENS")
        if self.api != "generate" and self.server.reports is False:
            raise NotReported()

    async def ask(self, prompt: Prompt, new: int) -> Answer:
        """Greedy tokens after a prompt.

        Raises TooLong before it is sent, Refused, Unreachable, or NotReported when `cached_tokens` is missing.
        """
        if excess := self.server.excess(prompt.tokens, new):
            raise TooLong(excess, hint=f"--tokens {max(1, (self.server.room or 2) - new)}")
        route = _ROUTES[self.api]
        reading = Reading(route)
        sent = time.monotonic()
        try:
            async with asyncio.timeout(self.endpoint.limit), self._stream(route, self._body(prompt, new)) as response:
                if response.status_code != 200:
                    words = error_words((await response.aread()).decode(errors="replace"))
                    raise Refused(route, response.status_code, words)
                async for line in _lines(response):
                    if line.startswith(b"data:"):
                        reading.event(line[5:].decode(errors="replace").strip(), time.monotonic() - sent)
        except (TimeoutError, OSError, _httpx().HTTPError) as error:
            raise self._unreachable(error, self.endpoint.limit) from None
        answer = reading.answer(sent, time.monotonic() - sent)
        return self._checked(answer, prompt)

    def _checked(self, answer: Answer, prompt: Prompt) -> Answer:
        if answer.prompt < prompt.tokens:
            cut = f"{answer.prompt} of {prompt.tokens} tokens were read: the server cut the prompt"
            raise StateError(cut, hint="start the server without --allow-auto-truncate, or give fewer --tokens")
        if answer.cached is None and self.api == "generate":
            raise NotReported()
        return answer

    def _body(self, prompt: Prompt, new: int) -> dict[str, Any]:
        if self.api == "generate":
            sampling = {"max_new_tokens": new, "temperature": 0.0, "ignore_eos": True}
            return {"input_ids": list(prompt.ids), "sampling_params": sampling, "stream": True}
        body: dict[str, Any] = {
            "model": self.server.model or "default",
            "max_tokens": new,
            "temperature": 0.0,
            "ignore_eos": True,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if self.api == "completions":
            return body | {"prompt": list(prompt.ids)}
        return body | {"messages": _messages(prompt.turns)}

    async def flush(self) -> None:
        """Empty the cache. Raises Refused while requests run, or when there is no such route."""
        try:
            await self._json("POST", f"/flush_cache?timeout={_SETTLE}", {})
        except Refused as error:
            words = error.message.partition(": ")[2]
            if error.status in (401, 403):
                words, hint = "it wants the server's admin key", "--api-key NAME, or restart it and give --no-flush"
            elif error.status in _ABSENT:
                hint = "restart it, and measure with --no-flush"
            else:
                words, hint = f"{words} (are requests running?)", "wait until it is idle"
            raise Refused("/flush_cache", error.status, words, hint=hint) from None

    async def count(self, text: str, before: tuple[str, ...] = ()) -> tuple[int, ...] | None:
        """The prompt's tokens as the server will see them, template included; None when it has no `/tokenize`.

        `before` are the turns of a chat that come first.
        """
        body: dict[str, Any] = {"prompt": text}
        if self.api == "chat":
            body = {"messages": _messages((*before, text))}
        try:
            found = await self._json("POST", "/tokenize", body)
        except Refused as error:
            if error.status in _ABSENT:
                return None
            raise
        tokens = found.get("tokens") if isinstance(found, dict) else None
        if not isinstance(tokens, Sequence) or isinstance(tokens, str):
            raise Refused("/tokenize", 200, "the answer has no `tokens`")
        return tuple(map(int, tokens))

    async def _optional(self, path: str) -> dict[str, Any] | None:
        """A JSON object; None when there is no such route."""
        try:
            found = await self._json("GET", path, None)
        except Refused as error:
            if error.status in _ABSENT:
                return None
            raise
        return found if isinstance(found, dict) else None

    async def _json(self, method: str, path: str, body: object) -> Any:
        assert self._http is not None
        limit = min(_PATIENCE, self.endpoint.limit)
        try:
            response = await self._http.request(method, path, json=body, timeout=limit)
        except (OSError, _httpx().HTTPError) as error:
            raise self._unreachable(error, limit) from None
        self._spoke = True
        if response.status_code != 200:
            raise Refused(path, response.status_code, error_words(response.text))
        try:
            return response.json()
        except ValueError:
            return response.text

    def _stream(self, route: str, body: object) -> Any:
        assert self._http is not None
        return self._http.stream("POST", route, json=body)

    def _unreachable(self, error: Exception, limit: float) -> Unreachable:
        httpx, where = _httpx(), self.endpoint.shown
        said = " ".join(str(error).split())[:200]
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            why = f": {said}" if said else ""
            return Unreachable(f"nobody answers at `{where}`{why}", hint=f"curl {where}/health")
        if isinstance(error, TimeoutError | httpx.TimeoutException):
            hint = "--timeout SECONDS" if self._spoke else f"curl {where}/health"
            return Unreachable(f"no answer within {limit:.0f} s", late=True, hint=hint)
        if not self._spoke:
            return Unreachable(f"what answers at `{where}` does not speak HTTP", hint=f"curl {where}/health")
        return Unreachable(f"the connection to `{where}` broke: {said or type(error).__name__}")


def _messages(turns: Sequence[str]) -> list[dict[str, str]]:
    """A chat that the user begins."""
    return [{"role": ("user", "assistant")[number % 2], "content": turn} for number, turn in enumerate(turns)]


async def _lines(response: httpx.Response) -> AsyncIterator[bytes]:
    """Lines as event streams have them; httpx's own also end at U+2028 and the like, which an answer may have."""
    rest = b""
    async for part in response.aiter_bytes():
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            yield line
    if rest:
        yield rest


def _httpx() -> Any:
    """The package, which only measurements need."""
    import httpx

    return httpx
