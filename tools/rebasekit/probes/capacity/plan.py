"""One deployment, from what is known about it to everything that is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rebasekit.errors import RebasekitError
from rebasekit.probes.capacity.advice import advise
from rebasekit.probes.capacity.budget import Memory, Pools, solve
from rebasekit.probes.capacity.card import Share, shares
from rebasekit.probes.capacity.cells import INT2, Cell, cell_of, dense_bytes
from rebasekit.probes.capacity.chains import Fit, fit
from rebasekit.probes.capacity.flags import Flags
from rebasekit.probes.capacity.model import Model
from rebasekit.probes.capacity.release import Release
from rebasekit.probes.capacity.situation import Advice, Situation

KINDS = ("float16", "fp8_e4m3", INT2)
_POINTS = 64


@dataclass(frozen=True)
class Deployment:
    """What is asked about. `length` 0 asks about no chain."""

    model: Model
    flags: Flags
    memory: Memory
    release: Release
    patched: bool = True
    length: int = 0
    count: int = 1
    dense_copies: int = 0

    @property
    def ranks(self) -> int:
        return self.flags.attention_ranks(self.release)[0]

    @property
    def chunk(self) -> int:
        """Tokens of a chunk: the flag, else the release's default for this card."""
        if self.flags.chunked_prefill_size is not None:
            return self.flags.chunked_prefill_size
        return self.release.chunk_size((self.memory.total or self.memory.free) >> 20)


@dataclass(frozen=True)
class Plan:
    """The answer."""

    deployment: Deployment
    pools: Pools
    cells: tuple[Cell, ...]
    fit: Fit | None
    advice: tuple[Advice, ...]

    @property
    def ok(self) -> bool:
        """Whether the chains fit, dense copies do, and as many requests run as the flags ask for."""
        asked = self.deployment.flags.max_running_requests
        short = asked is not None and self.pools.request_limit == "mamba slots"
        return not short and self.transient <= self.pools.reserve and (self.fit is None or self.fit.ok)

    @property
    def transient(self) -> int:
        """What the dense copies of the longest prefix take at once, from the reserve."""
        return _transient(self.deployment)

    def dense_copy(self, tokens: int) -> int:
        """One 16-bit copy of one layer's prefix, which a prefill that expands it needs at once."""
        return dense_bytes(self.deployment.model, self.deployment.ranks, tokens)

    def shares(self, lengths: Sequence[int] = ()) -> list[Share]:
        """What the card is used for as one chain grows; by default up to the context limit."""
        asked = self.deployment
        limit = asked.flags.context_length or asked.model.context
        lengths = lengths or [max(limit * step // _POINTS, 1) for step in range(_POINTS + 1)]
        return shares(
            asked.model,
            asked.flags,
            asked.memory,
            self.pools,
            asked.ranks,
            asked.chunk,
            lengths,
            asked.dense_copies,
        )


def plan(asked: Deployment) -> Plan:
    """Solve it. Raises StateError where a server would find too little memory, UsageError for what cannot be meant."""
    pools = solve(asked.model, asked.flags, asked.memory, asked.release, patched=asked.patched)
    found = None
    if asked.length:
        most = asked.flags.mamba_max_states_per_path
        found = fit(pools, asked.length, asked.count, asked.chunk, most=most)
    now = Situation(
        asked.model, asked.flags, asked.memory, asked.release, pools, found, asked.patched, _transient(asked)
    )
    return Plan(asked, pools, _cells(asked, pools), found, tuple(advise(now)))


def _transient(asked: Deployment) -> int:
    """For the chain that is asked about, else for a whole context."""
    length = asked.length or asked.flags.context_length or asked.model.context
    return asked.dense_copies * dense_bytes(asked.model, asked.ranks, length)


def _cells(asked: Deployment, pools: Pools) -> tuple[Cell, ...]:
    """A token in each type that this model can have, the deployment's own first."""
    found = [pools.cell]
    for kind in KINDS:
        if kind == INT2 and not asked.patched:
            continue
        try:
            cell = cell_of(asked.model, asked.flags, asked.ranks, kind=kind, requests=max(pools.requests, 1))
        except RebasekitError:
            continue
        if all(cell.kind != other.kind for other in found):
            found.append(cell)
    return tuple(found)
