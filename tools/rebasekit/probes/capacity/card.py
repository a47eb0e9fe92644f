"""What share of a card each thing takes as context grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rebasekit.probes.capacity.budget import Memory, Pools
from rebasekit.probes.capacity.cells import dense_bytes
from rebasekit.probes.capacity.chains import slots_needed
from rebasekit.probes.capacity.flags import Flags
from rebasekit.probes.capacity.model import Model

PARTS = ("weights", "states", "checkpoints", "KV cache", "dense prefix copy", "reserve", "taken before")


@dataclass(frozen=True)
class Share:
    """What `tokens` of context in one chain need on one card, in bytes, by the names of `PARTS`."""

    tokens: int
    parts: dict[str, int]

    @property
    def sum(self) -> int:
        return sum(self.parts.values())


def shares(
    model: Model,
    flags: Flags,
    memory: Memory,
    pools: Pools,
    ranks: int,
    chunk: int,
    lengths: Sequence[int],
    copies: int = 0,
) -> list[Share]:
    """For each length, what it needs: more than the card has where it does not fit.

    `copies` are 16-bit copies of one layer's prefix that a prefill makes at once: none for this series' kernels.
    """
    return [_share(model, flags, memory, pools, ranks, chunk, length, copies) for length in lengths]


def _share(
    model: Model, flags: Flags, memory: Memory, pools: Pools, ranks: int, chunk: int, length: int, copies: int
) -> Share:
    page = flags.page_size or 1
    whole = -(-length // page) * page
    parts = dict.fromkeys(PARTS, 0)
    parts["weights"] = memory.weights
    parts["KV cache"] = pools.cell.pool_bytes(whole, page)
    parts["dense prefix copy"] = copies * dense_bytes(model, ranks, length)
    parts["reserve"] = max(pools.reserve - parts["dense prefix copy"], 0)  # the copy is made from it
    parts["taken before"] = max(memory.total - memory.free, 0)
    if pools.states is not None:
        needed = slots_needed(length, chunk, flags.mamba_max_states_per_path)[1]
        if pools.checkpoint_slots:
            parts["states"] = (pools.requests * pools.states.per_request + 1) * pools.states.slot
            parts["checkpoints"] = pools.states.checkpoints_bytes(needed)
        else:
            parts["states"] = (pools.requests * pools.states.per_request + needed + 1) * pools.states.slot
    return Share(length, parts)
