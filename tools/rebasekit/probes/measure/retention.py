"""`load_multi`: K long chains asked in turn for several laps, and what of each is still in the cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rebasekit.probes.measure.prompts import Prompt
from rebasekit.probes.measure.run import Run
from rebasekit.probes.measure.server import Server

KEPT, LOST = 0.9, 0.5  # of the best share: above the one the chains stay, below the other they do not


@dataclass(frozen=True)
class Asked:
    """One answer: which of how many chains, on which lap (from 1), and seconds to its first content."""

    chains: int
    lap: int
    chain: int
    prompt: int
    cached: int
    first: float
    seconds: float


@dataclass
class Retention:
    """What was measured so far.

    `tokens` is the length of a chain on the first lap, `grow` what each lap adds, `new` what is answered each time.
    """

    tokens: int
    new: int
    laps: int
    grow: int = 0
    server: Server = field(default_factory=Server)
    asked: list[Asked] = field(default_factory=list)

    @property
    def longest(self) -> int:
        """Tokens of a chain on the last lap."""
        return self.tokens + self.grow * (self.laps - 1)

    @property
    def sweep(self) -> list[int]:
        """The numbers of chains that were asked, in order."""
        return list(dict.fromkeys(each.chains for each in self.asked))

    def share(self, chains: int, lap: int) -> float | None:
        """Cached tokens over prompt tokens of one lap; None when it was not finished."""
        found = [each for each in self.asked if (each.chains, each.lap) == (chains, lap)]
        if len(found) < chains:
            return None
        return sum(each.cached for each in found) / sum(each.prompt for each in found)

    def kept(self, chains: int) -> float | None:
        """The share of the last finished lap; the first says nothing, since it is cold."""
        shares = [self.share(chains, lap) for lap in range(2, self.laps + 1)]
        return next((share for share in reversed(shares) if share is not None), None)

    @property
    def best(self) -> float:
        """The share of a cache that lost nothing: what can be expected, or what was seen if that is more.

        A prompt that is asked again is matched up to its last token, which has to be read for an answer. A hybrid
        model goes on from a recurrent state, and before the end of the prompt there is one at each end of a chunk;
        some strategies keep more of them.
        """
        if self.grow:
            known = self.longest - self.grow
        elif self.server.states is not None:
            chunk = self.server.chunk or self.tokens
            known = (self.tokens - 1) // chunk * chunk
        else:
            known = self.tokens - 1
        return max([known / self.longest, *(self.kept(chains) or 0.0 for chains in self.sweep)])

    def first(self, chains: int, lap: int) -> float | None:
        """Mean seconds to the first content of one lap."""
        found = [each.first for each in self.asked if (each.chains, each.lap) == (chains, lap)]
        return sum(found) / len(found) if found else None

    def bound(self, chains: int) -> str:
        """What decides whether they stay, as far as the server's own figures and the last lap can say it."""
        kept, need = self.kept(chains), chains * self.longest
        sum_text = f"{chains} × {self.longest:,} = {need:,}"
        pool = self.server.pool
        if pool is not None and need > pool:
            return f"tokens: {sum_text} of {pool:,}"
        fits = f"{sum_text} tokens fit in {pool:,}" if pool is not None else f"{sum_text} tokens"
        if kept is None or kept >= KEPT * self.best:
            return fits
        if self.server.states is not None:
            kept_too = f" and {self.server.checkpoints} int8 checkpoints" if self.server.checkpoints else ""
            return f"recurrent states: {self.server.states} slots{kept_too}; {fits}"
        return f"neither tokens nor states are known to be short; {fits}" if pool is not None else fits

    @property
    def verdict(self) -> str:
        """One line: up to how many chains stay, and from how many on they are lost."""
        if self.best < LOST:
            chunk = f"a chunk has {self.server.chunk:,} tokens" if self.server.chunk else "prompts are read in one go"
            return f"{self.best:.0%} of a prompt that is asked again can be matched ({chunk}): give --grow"
        shares = {chains: share for chains in self.sweep if (share := self.kept(chains)) is not None}
        stay = [chains for chains, share in shares.items() if share >= KEPT * self.best]
        lost = [chains for chains, share in shares.items() if share < LOST * self.best]
        said = []
        if stay:
            said.append(f"{max(stay)} chains of {self.tokens:,} tokens stay ({shares[max(stay)]:.0%})")
        if lost:
            said.append(f"{min(lost)} do not ({shares[min(lost)]:.0%}): {self.bound(min(lost))}")
        partly = [chains for chains in shares if chains not in (*stay, *lost)]
        if partly:
            said.append(f"{', '.join(map(str, partly))} in part: {self.bound(min(partly))}")
        return "; ".join(said) or "no second lap was finished"


async def measure(run: Run, found: Retention, chains: Sequence[int]) -> None:
    """Ask, for each number of chains; what is known is in `found` at any time."""
    found.server = run.client.server
    total = sum(count * found.laps for count in chains)
    with run.progress.task("asking chains in turn", total, "answers") as task:
        for count in chains:
            names = [f"chain {count}.{number}" for number in range(count)]
            prompts = [await run.maker.prompt(name, found.longest, found.new) for name in names]
            turns: dict[int, tuple[Prompt, str]] = {}
            await run.clear()
            for lap in range(1, found.laps + 1):
                for number, whole in enumerate(prompts):
                    tokens = found.tokens + found.grow * (lap - 1)
                    if number in turns and found.grow:
                        prompt = await run.maker.later(whole, *turns[number], names[number], tokens)
                    else:
                        prompt = await run.maker.head(whole, tokens)
                    what = f"chain {number + 1} of {count}"
                    answer = await (run.ask(prompt, found.new) if lap > 1 else run.ask_cold(prompt, found.new, what))
                    turns[number] = (prompt, answer.text)
                    found.asked.append(
                        Asked(count, lap, number + 1, answer.prompt, answer.cached or 0, answer.first, answer.seconds)
                    )
                    task.advance()
