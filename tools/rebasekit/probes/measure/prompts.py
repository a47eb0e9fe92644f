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
    """A text with the tokens that the server makes of it (template included), or tokens alone.

    `before` are the turns of a chat that come first: the user's, the answer, and so on.
    """

    text: str
    ids: tuple[int, ...]
    before: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        return len(self.ids)

    @property
    def turns(self) -> tuple[str, ...]:
        """What is said in a chat, the user first and last."""
        return (*self.before, self.text)


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

    async def later(self, whole: Prompt, last: Prompt, said: str, name: str, tokens: int) -> Prompt:
        """What is asked next where `last`, a start of `whole`, was answered with `said`; of so many tokens in all.

        A chat goes on with a new turn: a longer first one would part from the last where its template ends. Where one
        turn is more than was to be added, it is a few words, and the prompt longer than asked for.
        """
        if self.client.api != "chat":
            return await self.head(whole, tokens)
        return await self._chat(f"{name} {len(last.turns)}", tokens, (*last.turns, said))

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

    async def _chat(self, name: str, tokens: int, before: tuple[str, ...] = ()) -> Prompt:
        """The longest last turn with which a chat has at most so many tokens, or all but 1 % of what it may have.

        Raises UsageError when there is no room for a turn, unless others come `before`: then it is a few words.
        """

        async def of(words: int) -> Prompt:
            text = self._text(name, words)
            ids = await self.client.count(text, before)
            if ids is None:
                why = "the server has no `/tokenize`, so the length of a chat is not known before it is sent"
                raise StateError(why, hint="--api completions")
            return Prompt(text, ids, before)

        best = await of(0)
        room = tokens - best.tokens
        if room < 0 and not before:
            raise UsageError(f"a chat of {tokens} tokens is shorter than the template alone", hint="give more --tokens")
        low, high, words = (0, best.tokens), (0, 0), room // 2
        for _ in range(_ROUNDS):
            if words <= low[0] or tokens - low[1] <= room // 100:
                break
            tried = await of(words)
            if tried.tokens <= tokens:
                best, low = tried, (words, tried.tokens)
            else:
                high = (words, tried.tokens)
            # A straight line through what is known on both sides, or through the empty turn.
            (x, y), (x1, y1) = ((0, tokens - room), low) if not high[0] else (low, high)
            words = low[0] + (tokens - low[1]) * (x1 - x) // max(1, y1 - y)
            words = min(max(words, low[0] + 1), high[0] - 1) if high[0] else words
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
