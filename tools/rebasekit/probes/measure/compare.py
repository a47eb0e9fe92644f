"""`compare`: the same prompts to two servers, each from a cold cache, and whether the answers are the same bytes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from rebasekit.errors import StateError
from rebasekit.probes.measure.failures import Warm
from rebasekit.probes.measure.prompts import Prompt
from rebasekit.probes.measure.run import Run
from rebasekit.probes.measure.server import Server


@dataclass(frozen=True)
class Said:
    """One answer from a cold cache. `asked` is a digest of the prompt's tokens; `tokens` is empty for a chat."""

    prompt: int
    repeat: int
    asked: str
    length: int
    text: str
    tokens: tuple[int, ...] = ()
    first: float = 0.0


@dataclass
class Side:
    """What one server said. `name` is its URL or the file that it was saved in."""

    name: str
    api: str = ""
    server: Server = field(default_factory=Server)
    said: list[Said] = field(default_factory=list)

    def of(self, prompt: int) -> list[Said]:
        return [each for each in self.said if each.prompt == prompt]


@dataclass(frozen=True)
class Difference:
    """Where two answers part: `at` counts tokens, or characters of a chat, from 0."""

    prompt: int
    at: int
    a: str
    b: str


@dataclass
class Comparison:
    """What was measured so far; `tokens` and `new` are lengths of the longest prompt and of each answer."""

    tokens: int
    new: int
    prompts: int
    repeats: int
    seed: int
    a: Side
    b: Side | None = None

    def unstable(self, side: Side) -> list[Difference]:
        """Prompts to which one server gives two answers from the same cold cache: it cannot be compared there."""
        found = []
        for number in range(self.prompts):
            answers = side.of(number)
            wrong = (_parts(answers[0], each) for each in answers[1:])
            found += [part for part in wrong if part is not None][:1]
        return found

    @property
    def differences(self) -> list[Difference]:
        """Prompts that both have answered, and not alike."""
        found = []
        for number in range(self.prompts) if self.b is not None else ():
            mine, theirs = self.a.of(number), self.b.of(number) if self.b is not None else []
            if mine and theirs and (part := _parts(mine[0], theirs[0])) is not None:
                found.append(part)
        return found

    @property
    def compared(self) -> int:
        """How many prompts both have answered."""
        return sum(bool(self.a.of(number) and self.b and self.b.of(number)) for number in range(self.prompts))

    @property
    def same(self) -> bool:
        """Whether everything was asked, each server repeats itself, and both answer alike."""
        sides = [side for side in (self.a, self.b) if side is not None]
        whole = all(len(side.said) == self.prompts * self.repeats for side in sides)
        return whole and not any(self.unstable(side) for side in sides) and not self.differences

    @property
    def verdict(self) -> str:
        sides = [("A", self.a)] + ([("B", self.b)] if self.b is not None else [])
        for letter, side in sides:
            if wrong := self.unstable(side):
                first = wrong[0]
                return (
                    f"{letter} does not repeat itself: {len(wrong)} of {self.prompts} prompts, "
                    f"the first is {first.prompt + 1}, from {_unit(side)} {first.at + 1} on"
                )
        if self.b is None:
            return f"{len(self.a.said)} cold answers kept of A"
        if differences := self.differences:
            first = differences[0]
            return (
                f"{len(differences)} of {self.compared} answers differ; the first is to prompt {first.prompt + 1}, "
                f"from {_unit(self.a)} {first.at + 1} on"
            )
        return f"{self.compared} answers of {self.new} tokens are the same, byte for byte, each from a cold cache"


def _unit(side: Side) -> str:
    return "character" if side.api == "chat" else "token"


def _parts(a: Said, b: Said) -> Difference | None:
    """Where two answers part; None when they are the same bytes."""
    mine, theirs = (a.tokens, b.tokens) if a.tokens and b.tokens else (tuple(a.text), tuple(b.text))
    if mine == theirs and a.text == b.text:
        return None
    at = next((n for n, (x, y) in enumerate(zip(mine, theirs, strict=False)) if x != y), min(len(mine), len(theirs)))
    return Difference(a.prompt, at, _piece(mine, at), _piece(theirs, at))


def _piece(answer: tuple[object, ...], at: int) -> str:
    return str(answer[at]) if at < len(answer) else "(end)"


def lengths(tokens: int, prompts: int) -> list[int]:
    """Lengths of the prompts, from short ones to the longest: chunks and pages end in many places."""
    return [max(2, round(tokens * (number + 1) / prompts)) for number in range(prompts)]


async def ask(run: Run, found: Comparison, side: Side) -> None:
    """Ask one server everything; what is known is in `side` at any time.

    Raises Warm when a single token of a prompt came from the cache: an answer after a hit may differ from a cold one.
    """
    side.server, side.api = run.client.server, run.client.api
    with run.progress.task(f"asking {side.name}", found.prompts * found.repeats, "answers") as task:
        for repeat in range(found.repeats):
            for number, tokens in enumerate(lengths(found.tokens, found.prompts)):
                prompt = await run.maker.prompt(f"compare {number}", tokens, found.new)
                _same_prompt(found, number, prompt)
                await run.clear()
                answer = await run.ask(prompt, found.new)
                if answer.cached:
                    raise Warm(f"prompt {number + 1} of `{side.name}`", answer.cached, 0)
                asked = digest(prompt)
                side.said.append(
                    Said(number, repeat, asked, prompt.tokens, answer.text, answer.tokens, round(answer.first, 4))
                )
                task.advance()


def digest(prompt: Prompt) -> str:
    return hashlib.sha256(repr(prompt.ids).encode()).hexdigest()[:16]


def _same_prompt(found: Comparison, number: int, prompt: Prompt) -> None:
    """Raise StateError when the two servers make different tokens of a text: then nothing can be compared."""
    for known in found.a.of(number)[:1]:
        if known.asked != digest(prompt):
            counts = f"{known.length} tokens of A's and {prompt.tokens} other ones of B's"
            message = f"prompt {number + 1} is {counts}: their tokenizers or templates differ"
            raise StateError(message, hint="--api generate")
