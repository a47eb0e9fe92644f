"""What a server that serves is asked. Each question returns the line of its report, or raises Wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from rebasekit.probes.proc import environment_of
from rebasekit.probes.process import MARK
from rebasekit.steps.smoke.client import Answer, Client, Refused
from rebasekit.steps.smoke.compare import TIE, Expected, Wrong, compare, distance, same
from rebasekit.steps.smoke.prompts import NEW, prompts, seeded
from rebasekit.steps.smoke.server import Server

_TURN = 24
_CHAINS = 4

Tokens = dict[tuple[int, ...], tuple[int, ...]]


@dataclass
class Asking:
    """One launch's questions.

    `context` is the limit and `chunk` the longest prefill chunk in tokens; `expected` has an answer for every prompt
    compared; `twin` has those of the launch that this one has to equal; `given` collects this one's.
    """

    server: Server
    context: int
    expected: dict[tuple[int, ...], Expected]
    pins: dict[str, str] = field(default_factory=dict)
    log_lines: tuple[str, ...] = ()
    chunk: int = 64
    tie: float = 0.0  # logits within which a hit may prefer the other token
    bound: float = 0.0  # nats by which a log-probability may differ from the reference's
    twin: Tokens | None = None
    given: Tokens = field(default_factory=dict)

    @property
    def client(self) -> Client:
        return self.server.client

    def ask(self, step: str) -> str:
        """The line of one of the plan's steps."""
        if step == "pins":
            return check_pins(self.server, self.pins, self.log_lines)
        found: str = getattr(self, step.replace("-", "_"))()
        return found

    def greedy(self) -> str:
        """Short prompts, cold, against the reference."""
        self.client.flush()
        ties = sum(self._compare(prompt, self.client.generate(prompt, NEW)) for prompt in prompts(self.context)[:3])
        return f"{3 * NEW} tokens equal {self._whose}{_tied(ties)}"

    def long_prefill(self) -> str:
        """A cold prompt that leaves room for its answer and the two tokens that servers keep back, and no more."""
        self.client.flush()
        prompt = prompts(self.context)[3]
        answer = self.client.generate(prompt, NEW)
        ties = self._compare(prompt, answer)
        _whole(prompt, answer)
        return f"{len(prompt)} tokens, {NEW} after them equal {self._whose}{_tied(ties)}"

    def limit(self) -> str:
        """A prompt at limit − 6, where a server's own reserve can leave nothing for the answer."""
        self.client.flush()
        prompt = prompts(self.context)[4]
        try:
            answer = self.client.generate(prompt, 5)  # with them it is below the limit
        except Refused as refusal:
            if refusal.status >= 500 or not refusal.message:
                raise Wrong(f"{len(prompt)} tokens of {self.context}: {refusal}") from None
            return f"{len(prompt)} tokens of {self.context}: refused, {refusal.message}"
        if not answer.tokens:
            raise Wrong(f"{len(prompt)} tokens of {self.context} gave an empty answer ({answer.finish})")
        return f"{len(prompt)} tokens of {self.context}: {len(answer.tokens)} tokens, {answer.finish}"

    def logits(self) -> str:
        """A cold prompt that fills the context: what the server thinks of each of its tokens, and of its own answer."""
        self.client.flush()
        prompt = prompts(self.context)[3]
        answer = self.client.generate(prompt, NEW, scores=True)
        _whole(prompt, answer)
        mean, most = distance(answer.prompt_scores, self.expected[tuple(prompt)].scores)
        distance(answer.scores, [0.0] * NEW)  # finite: there is no reference for tokens of its own choice
        far = f"{mean:.3f} nats from the reference's in the mean, {most:.2f} at most"
        if most > self.bound:
            raise Wrong(f"log-probabilities are {far}, and the bound is {self.bound:g}")
        return f"{len(answer.prompt_scores) + NEW} log-probabilities are finite, {far} (bound {self.bound:g})"

    def prefix(self) -> str:
        """A conversation that goes on, from the cache and cold; their prefill chunks end in different places."""
        self.client.flush()
        first = prompts(self.context)[5]
        turn = [*first, *self.client.generate(first, NEW).tokens, *prompts(self.context)[0][:_TURN]]
        hit = self.client.generate(turn, NEW)
        if hit.cached < len(first) // 2:
            raise Wrong(f"only {hit.cached} of {len(first)} known tokens came from the cache")
        return self._against_cold(turn, hit, max(self.tie, TIE))

    def aligned_prefix(self) -> str:
        """The same where a prefill chunk ends: there a cold run has seen from the cache what a hit sees from it."""
        self.client.flush()
        first = prompts(self.context)[5]
        first = first[: len(first) // self.chunk * self.chunk]
        self.client.generate(first, 1)  # its token is never written
        turn = [*first, *prompts(self.context)[0][:_TURN]]
        hit = self.client.generate(turn, NEW)
        if not hit.cached or hit.cached % self.chunk:
            raise Wrong(f"{hit.cached} of {len(first)} known tokens came from the cache: not whole chunks")
        return self._against_cold(turn, hit, self.tie)

    def _against_cold(self, turn: Sequence[int], hit: Answer, tie: float) -> str:
        self.client.flush()
        cold = self.client.generate(turn, NEW, scores=tie > 0)
        if cold.cached:
            raise Wrong(f"{cold.cached} tokens came from a cache that was flushed")
        try:
            ties = same(hit, cold, tie)
        except Wrong as error:
            raise Wrong(f"a hit of {hit.cached} tokens and a cold run: {error}") from None
        tied = f", up to where two were within {tie:g} logits" if ties else ""
        return f"a hit of {hit.cached} of {len(turn)} tokens equals a cold run, {NEW} tokens{tied}"

    def concurrency(self) -> str:
        """Many clients at once get what one alone gets."""
        self.client.flush()
        batch = prompts(self.context)[6:]
        with ThreadPoolExecutor(len(batch)) as pool:
            answers = list(pool.map(lambda prompt: self.client.generate(prompt, NEW), batch))
        ties = sum(self._compare(prompt, answer) for prompt, answer in zip(batch, answers, strict=True))
        return f"{len(batch)} clients, {len(batch) * NEW} tokens equal {self._whose}{_tied(ties)}"

    def pressure(self) -> str:
        """More long conversations than the cache holds, in laps; the first one is still answered right after it."""
        chains = [seeded(100 + number, self.context // 2) for number in range(_CHAINS)]
        cached = []
        for lap in range(2):
            for chain in chains:
                for part in range(1, 4):
                    answer = self.client.generate(chain[: len(chain) * part // 3], 2)
                    if lap:
                        cached.append(answer.cached)
        last = chains[-1]
        fork = self.client.generate([*last[: len(last) * 2 // 3], *chains[0][:_TURN]], 2)
        prompt = prompts(self.context)[0]
        self.client.flush()
        self._compare(prompt, self.client.generate(prompt, NEW))
        total = sum(len(chain) * part // 3 for chain in chains for part in range(1, 4))
        return (
            f"{len(chains)} chains of {len(chains[0])} tokens, 2 laps: {100 * sum(cached) // total} % of the second "
            f"from the cache, {fork.cached} tokens at a fork; then the reference's answer"
        )

    def _compare(self, prompt: Sequence[int], answer: Answer) -> int:
        """Hold a cold answer against the reference, and against the twin's, which has to be the same to the token."""
        self.given.setdefault(tuple(prompt), answer.tokens)
        ties = compare(prompt, answer, self.expected[tuple(prompt)])
        if self.twin is not None and answer.tokens != self.twin.get(tuple(prompt), answer.tokens):
            known = list(self.twin[tuple(prompt)])
            raise Wrong(f"{list(answer.tokens)} after {len(prompt)} tokens, the other launch says {known}")
        return ties

    @property
    def _whose(self) -> str:
        return "the reference's" + (" and the other launch's" if self.twin is not None else "")


def _whole(prompt: Sequence[int], answer: Answer) -> None:
    if answer.prompt != len(prompt):
        raise Wrong(f"{answer.prompt} of {len(prompt)} tokens were read: the prompt was truncated")


def _tied(ties: int) -> str:
    return f" ({ties} up to a tie)" if ties else ""


def check_pins(server: Server, pins: dict[str, str], patterns: Sequence[str]) -> str:
    """Every process of the server has the series' pins in its environment, and its log says what it must."""
    pids = server.group.pids()
    for pid in pids:
        found = environment_of(pid)
        if MARK not in found:
            raise Wrong(f"the environment of {server.titles.get(pid, 'a process')} ({pid}) cannot be read")
        for key, value in pins.items():
            if found.get(key) != value:
                who = server.titles.get(pid, "a process")
                raise Wrong(f"{who} ({pid}) has {key}={found.get(key, '(not set)')}, the series pins `{value}`")
    log = server.log
    said = []
    for pattern in patterns:
        match = re.search(pattern, log)
        if match is None:
            raise Wrong(f"the log has no line like `{pattern}`")
        said.append(match[0])
    names = ", ".join(f"{key}={value}" for key, value in pins.items()) or "no pins"
    return f"{names} in {len(pids)} processes" + (f"; log: {'; '.join(said)}" if said else "")
