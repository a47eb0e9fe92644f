"""`depth_probe`: a prompt that leaves a known one after 12.5 %, 25 %, …, and how much of it the cache still matches."""

from __future__ import annotations

from dataclasses import dataclass, field

from rebasekit.probes.measure.prompts import shared
from rebasekit.probes.measure.run import Run
from rebasekit.probes.measure.server import Server

STEPS = 8
MATCHED = 0.9
_TAIL = 16  # tokens behind a cut


@dataclass(frozen=True)
class Cut:
    """One answer: a prompt that has `cut` tokens in common with the chain, of which the cache matched `cached`.

    `eighths` is where it was meant to be cut; `prompt` its length with what comes behind the cut; seconds to the
    first content, of the whole chain when cold and of this one.
    """

    eighths: int
    cut: int
    prompt: int
    cached: int
    cold: float
    first: float

    @property
    def share(self) -> float:
        return self.cached / self.cut if self.cut else 0.0

    @property
    def again(self) -> int:
        """Known tokens before the cut that had to be read again."""
        return max(0, self.cut - self.cached)


@dataclass
class Depth:
    """What was measured so far. Between a chain and its cut, `others` chains of the same length were asked."""

    tokens: int
    others: int = 0
    server: Server = field(default_factory=Server)
    cuts: list[Cut] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """One line: how many cuts are matched, and the most that is read again."""
        if not self.cuts:
            return "no cut was asked"
        matched = [cut for cut in self.cuts if cut.share >= MATCHED]
        nothing = [cut for cut in self.cuts if not cut.cached]
        after = f" after {self.others} other chains" if self.others else ""
        said = f"{len(matched)} of {len(self.cuts)} cuts match at least {MATCHED:.0%}{after}"
        if nothing:
            said += f"; nothing is matched up to {max(cut.cut for cut in nothing):,} tokens"
        most = max(self.cuts, key=lambda cut: cut.again)
        return f"{said}; at most {most.again:,} known tokens are read again (cut at {most.cut:,})"


async def measure(run: Run, found: Depth) -> None:
    """Ask, from the deepest cut to the shallowest; what is known is in `found` at any time.

    Each cut has a chain of its own in an empty cache: an earlier cut would leave checkpoints that a later one finds.
    """
    found.server = run.client.server
    with run.progress.task("cutting prefixes", STEPS * (2 + found.others), "answers") as task:
        for eighths in range(STEPS, 0, -1):
            chain = await run.maker.prompt(f"depth {eighths}", found.tokens, _TAIL + 1)
            cut = await run.maker.leaving(chain, eighths / STEPS, f"tail {eighths}", _TAIL)
            others = [
                await run.maker.prompt(f"other {eighths}.{number}", found.tokens, 1) for number in range(found.others)
            ]
            await run.clear()
            cold = await run.ask_cold(chain, 1, f"the chain for {eighths}/{STEPS}")
            task.advance()
            for other in others:
                await run.ask(other, 1)
                task.advance()
            answer = await run.ask(cut, 1)
            depth = shared(cut, [chain])
            found.cuts.append(Cut(eighths, depth, answer.prompt, answer.cached or 0, cold.first, answer.first))
            task.advance()
