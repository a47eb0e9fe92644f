"""What every probe's run shares: an open server, prompts, a cold start, and where its progress goes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from rebasekit.model.progress import SILENT, Progress
from rebasekit.probes.measure.client import Client
from rebasekit.probes.measure.failures import NotReported, Warm
from rebasekit.probes.measure.prompts import Maker, Prompt, shared
from rebasekit.probes.measure.stream import Answer

SCHEMA = 1
_TRIAL = 600  # tokens: more than a page, and more than a checkpoint of recurrent states may be apart


@dataclass
class Run:
    """One probe at work. `flushes` is False where the server's cache must not be emptied, or cannot be."""

    client: Client
    seed: int = 1
    flushes: bool = True
    progress: Progress = SILENT
    asked: list[Prompt] = field(default_factory=list)  # since the last flush: what may be in the cache

    @property
    def maker(self) -> Maker:
        return Maker(self.client, self.seed)

    async def try_reports(self) -> None:
        """Where the server does not say whether it reports cached tokens, find out. Raises NotReported if not.

        A zero may be left out, so a prompt is asked that is in the cache.
        """
        server = self.client.server
        if server.reports is not None or self.client.api == "generate":
            return
        prompt = await self.maker.prompt("report", min(_TRIAL, (server.room or _TRIAL) - 1), 1)
        await self.ask(prompt, 1)
        if (await self.ask(prompt, 1)).cached is None:
            raise NotReported()
        self.client.server = replace(server, reports=True)

    async def clear(self) -> None:
        """Empty the cache, unless it must stay as it is."""
        if self.flushes:
            await self.client.flush()
            self.asked.clear()

    async def ask(self, prompt: Prompt, new: int) -> Answer:
        """Ask, and remember that the prompt may be in the cache from now on."""
        self.asked.append(prompt)  # before it is sent: others are asked meanwhile
        return await self.client.ask(prompt, new)

    async def ask_cold(self, prompt: Prompt, new: int, what: str) -> Answer:
        """Ask what nothing asked before starts like. Raises Warm when the server had it in its cache all the same."""
        expected = shared(prompt, self.asked)
        answer = await self.ask(prompt, new)
        if (answer.cached or 0) > expected:
            raise Warm(what, answer.cached or 0, expected)
        return answer
