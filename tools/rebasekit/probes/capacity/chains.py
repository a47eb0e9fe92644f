"""Chains: conversations that the cache is to hold, and the states from which their linear layers can go on."""

from __future__ import annotations

from dataclasses import dataclass

from rebasekit.errors import UsageError
from rebasekit.probes.capacity.budget import Pools


@dataclass(frozen=True)
class Fit:
    """How many chains of one length a server keeps, and what limits it."""

    length: int
    wanted: int
    chunk: int
    by_tokens: int
    needed: tuple[int, int]
    """State slots of one chain: one at the end of each full chunk, and one more where the chain goes on beyond it."""
    slots: int | None
    """State slots for cached chains; None without linear layers."""
    by_slots: int | None
    """Chains whose states all fit; None without linear layers."""

    @property
    def chains(self) -> int:
        return self.by_tokens if self.by_slots is None else min(self.by_tokens, self.by_slots)

    @property
    def limit(self) -> str:
        return "tokens" if self.by_slots is None or self.by_tokens <= self.by_slots else "mamba slots"

    @property
    def tokens_needed(self) -> int:
        return self.wanted * self.length

    @property
    def slots_needed(self) -> int:
        return self.wanted * self.needed[1]

    @property
    def ok(self) -> bool:
        return self.chains >= self.wanted


def slots_needed(length: int, chunk: int, most: int = -1) -> tuple[int, int]:
    """States that a chain of so many tokens leaves when it is read in chunks: at least, at most.

    `most` is --mamba-max-states-per-path; -1 is no limit. A chunk below 1 means that prompts are read whole.
    """
    if length < 1:
        raise UsageError(f"a chain of {length} tokens is none")
    full, rest = divmod(length, chunk) if chunk > 0 else (0, length)
    least, all_of_it = max(full, 1), full + bool(rest)
    return (min(least, most), min(all_of_it, most)) if most > 0 else (least, all_of_it)


def cached_slots(pools: Pools) -> int | None:
    """State slots that cached chains can have while one request runs; None without linear layers."""
    if pools.states is None:
        return None
    if pools.checkpoint_slots:
        return pools.checkpoint_slots
    return max(pools.state_slots - pools.states.per_request, 0)


def fit(pools: Pools, length: int, wanted: int, chunk: int, *, most: int = -1) -> Fit:
    """How chains of one length fit into the pools."""
    needed = slots_needed(length, chunk, most)
    if wanted < 1:
        raise UsageError(f"{wanted} chains are none")
    slots = cached_slots(pools)
    return Fit(
        length=length,
        wanted=wanted,
        chunk=chunk,
        by_tokens=pools.tokens // length,
        needed=needed,
        slots=slots,
        by_slots=None if slots is None else slots // needed[1],
    )
