"""`conc`: N clients at once, what each gets, and what the cards do meanwhile."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from rebasekit.errors import StateError
from rebasekit.probes.measure.cliff import Cliff, cliffs, loaded
from rebasekit.probes.measure.gpu import EVERY, Card, Sample, open_cards, watch
from rebasekit.probes.measure.prompts import Prompt
from rebasekit.probes.measure.run import Run


@dataclass(frozen=True)
class Served:
    """One request of one client: seconds to the first content and to the last, or what went wrong (`error`)."""

    clients: int
    client: int
    start: float
    prompt: int = 0
    cached: int = 0
    new: int = 0
    first: float = 0.0
    seconds: float = 0.0
    error: str = ""


@dataclass(frozen=True)
class Level:
    """One number of clients in figures; medians are None when nothing was answered."""

    clients: int
    answers: int
    errors: int
    seconds: float
    read: float  # prompt tokens per second, all clients together
    written: float  # new tokens per second, all clients together
    first: float | None
    slowest: float | None  # nine of ten start sooner
    cached: float  # share of the prompts that came from the cache


@dataclass
class Load:
    """What was measured so far. `note` says why there are no figures of cards; `watts` is a given loaded figure."""

    tokens: int
    new: int
    requests: int
    every: float = EVERY
    watts: float | None = None
    served: list[Served] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    cards: tuple[Card, ...] = ()
    note: str = ""
    spans: dict[int, float] = field(default_factory=dict)  # seconds by number of clients
    now: int = 0  # clients at work

    def level(self, clients: int) -> Level:
        mine = [each for each in self.served if each.clients == clients]
        good = [each for each in mine if not each.error]
        span = self.spans.get(clients) or max((each.start + each.seconds for each in good), default=0.0)
        firsts = sorted(each.first for each in good)
        prompts = sum(each.prompt for each in good)
        return Level(
            clients,
            len(good),
            len(mine) - len(good),
            span,
            prompts / span if span else 0.0,
            sum(each.new for each in good) / span if span else 0.0,
            statistics.median(firsts) if firsts else None,
            firsts[min(len(firsts) - 1, (9 * len(firsts)) // 10)] if firsts else None,
            sum(each.cached for each in good) / prompts if prompts else 0.0,
        )

    @property
    def levels(self) -> list[Level]:
        return [self.level(clients) for clients in dict.fromkeys(each.clients for each in self.served)]

    @property
    def errors(self) -> list[tuple[str, int]]:
        """What went wrong, most frequent first."""
        return Counter(each.error for each in self.served if each.error).most_common()

    def loaded(self, card: int) -> float | None:
        """The card's loaded figure in watts: the one given, or the run's own."""
        return self.watts or loaded(self.samples, card)

    @property
    def cliffs(self) -> list[Cliff]:
        return [each for card in self.cards for each in cliffs(self.samples, card.number, self.loaded(card.number))]

    @property
    def verdict(self) -> list[str]:
        """Lines: the cliffs, or that there is none, or why nobody can say."""
        if self.note:
            return [self.note]
        said = [cliff.text for cliff in self.cliffs]
        fallen = {cliff.card for cliff in self.cliffs}
        for card in self.cards:
            figure = self.loaded(card.number)
            if figure is None:
                said.append(f"card {card.number}: never busy for three looks in a row, so it has no loaded figure")
            elif card.number not in fallen:
                said.append(f"card {card.number}: no cliff, {figure:.0f} W under load")
        return said


async def measure(run: Run, found: Load, clients: Sequence[int], wanted: Sequence[int] | None = None) -> None:
    """Ask with each number of clients in turn; what is known is in `found` at any time.

    `wanted` are the cards to look at. Raises the last error when a level got no answer at all.
    """
    with open_cards() as (cards, note):
        found.note = note
        if cards is not None and not run.client.endpoint.local:
            cards, found.note = None, "no figures of cards: the server is on another machine"
        if cards is not None and wanted is not None:
            cards = type(cards)(cards.library, tuple(card for card in cards.cards if card.number in wanted))
        found.cards = cards.cards if cards is not None else ()
        looking = None
        if cards is not None:
            looking = asyncio.create_task(watch(cards, found.every, lambda: found.now, found.samples.extend))
        try:
            for count in clients:
                await _level(run, found, count)
                if looking is not None and looking.done():
                    looking.result()
        finally:
            found.now = 0
            if looking is not None:
                looking.cancel()
                await asyncio.gather(looking, return_exceptions=True)


async def _level(run: Run, found: Load, count: int) -> None:
    names = [[f"load {count}.{client}.{number}" for number in range(found.requests)] for client in range(count)]
    with run.progress.task(f"making prompts for {count} clients", count * found.requests, "prompts") as task:
        prompts: list[list[Prompt]] = []
        for mine in names:
            prompts.append([])
            for name in mine:
                prompts[-1].append(await run.maker.prompt(name, found.tokens, found.new))
                task.advance()
    await run.clear()
    found.now = count
    start = time.monotonic()
    with run.progress.task(f"asking with {count} clients", count * found.requests, "answers") as task:

        async def client(number: int) -> StateError | None:
            last = None
            for prompt in prompts[number]:
                sent = time.monotonic() - start
                try:
                    answer = await run.ask(prompt, found.new)
                except StateError as error:
                    last = error
                    found.served.append(Served(count, number, sent, error=error.message))
                else:
                    figures = (answer.prompt, answer.cached or 0, answer.new, answer.first, answer.seconds)
                    found.served.append(Served(count, number, sent, *figures))
                task.advance()
            return last

        last = await asyncio.gather(*(client(number) for number in range(count)))
    found.spans[count] = time.monotonic() - start
    found.now = 0
    if not any(each.clients == count and not each.error for each in found.served):
        raise next(error for error in last if error is not None)
