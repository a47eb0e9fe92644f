"""What the int8 checkpoint pool takes out of the memory budget for mamba states.

``kv_cache_configurator`` sizes the active state pool (K slots) and hands what is left to the KV cache.
The checkpoint pool is built later, next to the active one, from K. This module tells the configurator
its price before K is fixed: a fixed number of slots (``--int8-mamba-ckpt-size``), or two per active slot.
All sizes are bytes on one rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sglang.srt.mem_cache.mamba_checkpoint_pool import MambaCheckpointPool
from sglang.srt.runtime_context import get_exec, get_memory

# maybe_init_int8_mamba_checkpoint_pool builds this many when no size is given.
DEFAULT_SLOTS_PER_ACTIVE = 2


@dataclass(frozen=True)
class CheckpointBudget:
    """Price of the checkpoint pool as a line: ``base_bytes + slots * slot_bytes``."""

    base_bytes: int = 0  # slot 0, reserved and allocated like any other
    slot_bytes: int = 0  # 0: no pool on this deployment
    fixed_slots: int | None = None

    def slots_for(self, active_slots: int) -> int:
        return self.fixed_slots or DEFAULT_SLOTS_PER_ACTIVE * active_slots

    def bytes_for(self, active_slots: int) -> int:
        """Bytes of the pool that goes with ``active_slots`` usable active slots."""
        if not self.slot_bytes:
            return 0
        return self.base_bytes + self.slots_for(active_slots) * self.slot_bytes

    def active_share(self, budget_bytes: float, active_slot_bytes: float) -> float:
        """The part of the state budget that may go to active slots of ``active_slot_bytes`` each.

        The rest pays for the checkpoints, whatever number of slots the caller makes of the share:
        its own fixed costs only lower that number.
        """
        if not self.slot_bytes:
            return budget_bytes
        if self.fixed_slots:
            return budget_bytes - self.bytes_for(0)
        checkpoints = DEFAULT_SLOTS_PER_ACTIVE * self.slot_bytes
        return (budget_bytes - self.base_bytes) * active_slot_bytes / (active_slot_bytes + checkpoints)


def checkpoint_budget(cache_params: Any, num_layers: int) -> CheckpointBudget:
    """The budget line of this deployment; ``num_layers`` are the mamba layers of one rank."""
    mamba = get_exec().mamba
    # The unified pool never builds a checkpoint pool (UnifiedHybridReqToTokenPool._init_mamba_pool).
    if not mamba.enable_int8_mamba_checkpoint or get_memory().enable_unified_memory:
        return CheckpointBudget()

    def cost(num_slots: int) -> int:
        return MambaCheckpointPool.cost_bytes(cache_params=cache_params, num_layers=num_layers, num_slots=num_slots)

    return CheckpointBudget(
        base_bytes=cost(0), slot_bytes=cost(1) - cost(0), fixed_slots=mamba.int8_mamba_ckpt_size or None
    )
