"""One streamed answer: when its first content came, how many tokens, and what the server says of the prompt."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rebasekit.probes.measure.failures import Refused

DONE = "[DONE]"


@dataclass(frozen=True)
class Answer:
    """Seconds are from sending. `first` is when the first content came, which is later than the first byte.

    `cached` is None where the server leaves it out: releases up to v0.5.21 do so with a zero in the OpenAI API's usage,
    and all do without `--enable-cache-report`, which is found out before anything is measured. `tokens` is empty where
    the server sends text alone.
    """

    text: str
    tokens: tuple[int, ...]
    prompt: int
    cached: int | None
    new: int
    sent: float  # by time.monotonic()
    first: float
    seconds: float
    first_new: int = 1  # tokens in the first content
    finish: str = ""

    @property
    def rate(self) -> float | None:
        """Tokens per second after the first content; None when nothing came after it."""
        later, span = self.new - self.first_new, self.seconds - self.first
        return later / span if later > 0 and span > 0 else None


@dataclass
class Reading:
    """Collects the events of one stream. `route` names it in messages."""

    route: str
    text: str = ""
    tokens: list[int] = field(default_factory=list)
    prompt: int | None = None
    cached: int | None = None
    new: int = 0
    first: float | None = None
    first_new: int = 1
    last: float = 0.0
    finish: str = ""
    complete: bool = False
    _cumulative: bool = True

    def event(self, data: str, seconds: float) -> None:
        """Take one `data:` line that came after so many seconds. Raises Refused for an error in it."""
        if data == DONE:
            self.complete = True
            return
        try:
            event = json.loads(data)
        except ValueError:
            raise Refused(self.route, 200, "an event of the stream is no JSON") from None
        if not isinstance(event, dict):
            raise Refused(self.route, 200, "an event of the stream is no object")
        if "error" in event:
            error = event["error"]
            words = error.get("message", error) if isinstance(error, dict) else error
            raise Refused(self.route, 200, " ".join(str(words).split())[:300])
        try:
            new = self._native(event) if "meta_info" in event else self._choice(event)
        except (TypeError, ValueError, AttributeError, KeyError, OverflowError):
            raise Refused(self.route, 200, "an event of the stream is not what the API has") from None
        if new:
            self.last = seconds
            if self.first is None:
                self.first, self.first_new = seconds, max(1, self.new)

    def _native(self, event: Mapping[str, Any]) -> bool:
        """SGLang's own route: text and ids so far, or since the last event with `--incremental-streaming-output`."""
        meta = event["meta_info"]
        ids, text = list(event.get("output_ids") or ()), str(event.get("text") or "")
        made = int(meta.get("completion_tokens", 0))
        if self.tokens and ids:
            self._cumulative = len(ids) == made
        before = (len(self.tokens), len(self.text))
        if self._cumulative:
            self.tokens, self.text = ids or self.tokens, text or self.text
        else:
            self.tokens, self.text = [*self.tokens, *ids], self.text + text
        self.prompt = int(meta.get("prompt_tokens", self.prompt or 0))
        if "cached_tokens" in meta:
            self.cached = int(meta["cached_tokens"])
        self.new = max(self.new, made)
        reason = meta.get("finish_reason")
        self._ends(reason.get("type") if isinstance(reason, dict) else reason)
        if isinstance(reason, dict) and reason.get("type") == "abort":
            raise Refused(self.route, 200, str(reason.get("message") or "the server broke the answer off"))
        return (len(self.tokens), len(self.text)) != before

    def _choice(self, event: Mapping[str, Any]) -> bool:
        """The OpenAI API's events: a delta per choice, and the usage at the end. A role is no content."""
        added = ""
        for choice in event.get("choices") or ():
            delta = choice.get("delta") or {}
            added += str(choice.get("text") or delta.get("content") or "") + str(delta.get("reasoning_content") or "")
            self._ends(choice.get("finish_reason"))
        self.text += added
        usage = event.get("usage")
        if isinstance(usage, dict):
            self.prompt = int(usage.get("prompt_tokens") or 0)
            self.new = max(self.new, int(usage.get("completion_tokens") or 0))
            details = usage.get("prompt_tokens_details")
            if isinstance(details, dict) and "cached_tokens" in details:
                self.cached = int(details["cached_tokens"] or 0)
        return bool(added)

    def _ends(self, reason: object) -> None:
        if reason:
            self.finish = str(reason)

    def answer(self, sent: float, seconds: float) -> Answer:
        """The whole answer. Raises Refused when the stream broke off, said nothing, or had no counts."""
        if not self.complete:
            raise Refused(self.route, 200, "the stream broke off before its end")
        if self.prompt is None:
            raise Refused(self.route, 200, "the stream had no counts of tokens (`usage`)")
        if self.first is None:
            raise Refused(self.route, 200, f"the answer is empty ({self.finish or 'no reason given'})")
        return Answer(
            text=self.text,
            tokens=tuple(self.tokens),
            prompt=self.prompt,
            cached=self.cached,
            new=self.new,
            sent=sent,
            first=self.first,
            seconds=self.last,
            first_new=self.first_new,
            finish=self.finish,
        )
