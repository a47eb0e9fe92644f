"""Prompts that can be made again and share no prefix, as long as they should be by the server's own count."""

from __future__ import annotations

import random
import string
from collections.abc import Iterable
from dataclasses import dataclass

from rebasekit.errors import StateError, UsageError
from rebasekit.probes.measure.client import Client
from rebasekit.probes.measure.failures import TooLong

_ONSETS, _VOWELS = "bdfgklmnprstvz", "aeiou"
_HEAD = string.ascii_letters + string.digits
_BYTES = range(16, 256)  # ids that are in every vocabulary, without the first few, which are often special
_ROUNDS = 8  # of counting, until a chat is as long as it should be


@dataclass(frozen=True)
class Prompt:
    """A text with the tokens that the server makes of it (template included), or tokens alone."""

    text: str
    ids: tuple[int, ...]

    @property
    def tokens(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Maker:
    """Makes prompts for one run; the same seed and name give the same prompt."""

    client: Client
    seed: int

    async def prompt(self, name: str, tokens: int, new: int) -> Prompt:
        """A prompt of that many tokens, for which `new` tokens have to fit behind it.

        A chat may come out a few tokens shorter. Raises TooLong before anything is sent to a model.
        """
        if excess := self.client.server.excess(tokens, new):
            raise TooLong(excess, hint=f"--tokens {max(1, (self.client.server.room or 2) - new)}")
        return await (self._chat(name, tokens) if self.client.api == "chat" else self._exact(name, tokens))

    async def head(self, prompt: Prompt, tokens: int) -> Prompt:
        """The prompt's start, of that many tokens; of a chat about as many."""
        if tokens >= prompt.tokens:
            return prompt
        if self.client.api != "chat":
            return Prompt("", prompt.ids[:tokens])
        text = prompt.text[: round(len(prompt.text) * tokens / prompt.tokens)]
        return Prompt(text, await self.client.count(text) or ())

    async def leaving(self, prompt: Prompt, share: float, name: str, tokens: int) -> Prompt:
        """A prompt that begins like another and leaves it after that share; about `tokens` more come behind.

        How many tokens they have in common is what `shared` says: a tokenizer may join what was cut.
        """
        if self.client.api == "chat":
            text = f"{prompt.text[: round(len(prompt.text) * share)]} {self._text(name, tokens // 4)}"
            return Prompt(text, await self.client.count(text) or ())
        at = round(prompt.tokens * share)
        behind = (await self._exact(name, tokens)).ids
        if at < prompt.tokens and behind[0] == prompt.ids[at]:  # it has to leave here
            behind = (*behind[1:], behind[0]) if behind[1] != behind[0] else (behind[0] ^ 1, *behind[1:])
        return Prompt("", prompt.ids[:at] + behind)

    async def _exact(self, name: str, tokens: int) -> Prompt:
        count = max(8, tokens // 2)
        for _ in range(_ROUNDS):
            ids = await self.client.count(self._text(name, count))
            if ids is None:
                source = self._source(name)
                return Prompt("", tuple(source.choice(_BYTES) for _ in range(tokens)))
            if len(ids) >= tokens:
                return Prompt("", ids[:tokens])
            count = max(count + 8, count * tokens // max(1, len(ids)) + 8)
        raise StateError(f"`/tokenize` makes too few tokens of {count} words")

    async def _chat(self, name: str, tokens: int) -> Prompt:
        words, low, high, best = tokens // 2, 0, 4 * tokens, Prompt("", ())
        for _ in range(_ROUNDS):
            text = self._text(name, words)
            ids = await self.client.count(text)
            if ids is None:
                why = "the server has no `/tokenize`, so the length of a chat is not known before it is sent"
                raise StateError(why, hint="--api completions")
            if len(ids) <= tokens:
                low = words
                best = Prompt(text, ids) if len(ids) > best.tokens else best
            else:
                high = words
            if 0 <= tokens - len(ids) <= tokens // 100 or high - low <= 1:
                break
            step = words + round((tokens - len(ids)) * max(1, words) / max(1, len(ids)))
            words = min(max(step, low + 1), high - 1)
        if not best.tokens:
            raise UsageError(f"a chat of {tokens} tokens is shorter than the template alone", hint="give more --tokens")
        return best

    def _text(self, name: str, words: int) -> str:
        """Words that nobody ever wrote; the first is this prompt's own."""
        source = self._source(name)
        head = "".join(source.choice(_HEAD) for _ in range(12))
        return " ".join([head, *(self._word(source) for _ in range(words))])

    def _source(self, name: str) -> random.Random:
        return random.Random(f"{self.seed}/{name}")  # noqa: S311  reproducible, not secret

    @staticmethod
    def _word(source: random.Random) -> str:
        return "".join(source.choice(_ONSETS) + source.choice(_VOWELS) for _ in range(source.choice((1, 2, 2, 3))))


def shared(prompt: Prompt, others: Iterable[Prompt]) -> int:
    """The most tokens that the prompt has in common with the start of another: a template, or chance."""
    most = 0
    for other in others:
        same = 0
        for mine, theirs in zip(prompt.ids, other.ids, strict=False):
            if mine != theirs:
                break
            same += 1
        most = max(most, same)
    return most
