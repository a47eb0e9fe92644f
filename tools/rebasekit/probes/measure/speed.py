"""`speed`: cold prefill, short answers, decoding, and short answers while a long prompt is read."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from rebasekit.probes.measure.run import Run
from rebasekit.probes.measure.stream import Answer

PREFILL, SHORT, DECODE, BEHIND = "cold prefill", "short, idle", "decode", "short, during a long prefill"
_HEAD_START = 0.1  # of a long prompt's seconds, before the short ones come


@dataclass(frozen=True)
class Taken:
    """One answer of one kind: seconds to the first content, and tokens per second where it is about speed."""

    kind: str
    prompt: int
    cached: int
    new: int
    first: float
    rate: float | None = None


@dataclass
class Speed:
    """What was measured so far. `beside` are seconds of long prompts with short ones beside them."""

    long: int
    short: int
    new: int
    repeats: int
    taken: list[Taken] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)

    def of(self, kind: str) -> list[Taken]:
        return [each for each in self.taken if each.kind == kind]

    def rates(self, kind: str) -> list[float]:
        return [each.rate for each in self.of(kind) if each.rate is not None]

    def firsts(self, kind: str) -> list[float]:
        return [each.first for each in self.of(kind)]

    @property
    def verdict(self) -> str:
        """One line: what a short question costs when somebody else's long prompt is read."""
        idle, behind = self.firsts(SHORT), self.firsts(BEHIND)
        if not self.beside:
            return "not finished"
        if not behind:
            return "no short question could be sent during a long prefill: give more --tokens"
        before, after = middle(idle), middle(behind)
        return f"a short answer starts after {before:.3g} s when idle, and after {after:.3g} s during a long prefill"


def middle(values: Sequence[float]) -> float:
    """The median."""
    return statistics.median(values)


async def measure(run: Run, found: Speed) -> None:
    """Take all figures, one kind after the other; what is known is in `found` at any time.

    The first long and the first short answer are not counted: kernels are compiled, and graphs captured, then.
    """
    await run.clear()
    total = 2 + found.repeats * 3
    with run.progress.task("measuring speed", total, "answers") as task:
        for kind, tokens in (("long", found.long), ("short", found.short)):
            await _cold(run, f"warm-up {kind}", tokens, 1)
            task.advance()
        for number in range(found.repeats):
            await run.clear()  # so that nothing has to be evicted for it
            answer = await _cold(run, f"long {number}", found.long, 1)
            found.taken.append(_taken(PREFILL, answer, (answer.prompt - (answer.cached or 0)) / answer.first))
            task.advance()
        for number in range(found.repeats):
            found.taken.append(_taken(SHORT, await _cold(run, f"short {number}", found.short, 1)))
            task.advance()
        for number in range(found.repeats):
            answer = await _cold(run, f"decode {number}", found.short, found.new)
            found.taken.append(_taken(DECODE, answer, answer.rate))
            task.advance()
    await _behind(run, found)


async def _cold(run: Run, name: str, tokens: int, new: int) -> Answer:
    return await run.ask_cold(await run.maker.prompt(name, tokens, new), new, f"`{name}`")


def _taken(kind: str, answer: Answer, rate: float | None = None) -> Taken:
    return Taken(kind, answer.prompt, answer.cached or 0, answer.new, answer.first, rate)


async def _behind(run: Run, found: Speed) -> None:
    """Short questions, one after the other, that were sent while a long prompt was being read."""
    usual = middle(found.firsts(PREFILL))
    with run.progress.task("asking during a long prefill", found.repeats, "prompts") as task:
        for number in range(found.repeats):
            await run.clear()
            long = await run.maker.prompt(f"beside {number}", found.long, 1)
            shorts = [await run.maker.prompt(f"behind {number}.{n}", found.short, 1) for n in range(found.repeats)]
            reading = asyncio.create_task(run.ask_cold(long, 1, f"`beside {number}`"))
            try:
                await asyncio.sleep(usual * _HEAD_START)
                answers = [await run.ask(prompt, 1) for prompt in shorts[:1]]
                for prompt in shorts[1:]:
                    if reading.done():
                        break
                    answers.append(await run.ask(prompt, 1))
                whole = await reading
            finally:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)
            found.beside.append(whole.first)
            read = whole.sent + whole.first
            found.taken += [_taken(BEHIND, answer) for answer in answers if answer.sent < read]
            task.advance()
