"""What one state of the linear layers takes on one rank, and how many a request keeps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from rebasekit.errors import UsageError
from rebasekit.probes.capacity.flags import Flags
from rebasekit.probes.capacity.model import TYPES, Model

PER_CHECKPOINT_LISTED = 8  # bytes in the free list


@dataclass(frozen=True)
class States:
    """`slot` is an active state, `checkpoint` an int8 one (its price without the free list)."""

    slot: int
    checkpoint: int
    per_request: int
    strategy: str

    def checkpoints_bytes(self, count: int) -> int:
        """A checkpoint pool of so many usable slots; slot 0 is reserved and allocated like any other."""
        return (count + 1) * self.checkpoint + PER_CHECKPOINT_LISTED * count


def states_of(model: Model, flags: Flags, ranks: int) -> States | None:
    """The states of a hybrid model; None for a model without linear layers. Raises UsageError."""
    linear = model.linear
    if linear is None:
        return None
    if linear.value_heads % ranks:
        raise UsageError(f"{linear.value_heads} value heads of the linear layers cannot be split over {ranks} ranks")
    extra = 0 if linear.key_heads % ranks == 0 else ranks - linear.key_heads
    channels = linear.value_heads * linear.value_dim + 2 * (linear.key_heads + extra) * linear.key_dim
    if channels % ranks:
        raise UsageError(f"{channels} channels of the linear layers cannot be split over {ranks} ranks")
    heads = linear.value_heads // ranks
    state = heads * linear.value_dim * linear.key_dim
    of_state = _type(flags.environment.get("SGLANG_MAMBA_SSM_DTYPE") or flags.mamba_ssm_dtype or linear.state_type)
    conv = channels // ranks * (linear.conv_kernel - 1)
    conv *= _type(flags.environment.get("SGLANG_MAMBA_CONV_DTYPE") or "bfloat16")
    return States(
        slot=linear.layers * (state * of_state + conv),
        checkpoint=linear.layers * (state + heads * linear.key_dim * of_state + conv),
        per_request=per_request(flags),
        strategy=strategy(flags),
    )


def strategy(flags: Flags) -> str:
    """`auto` as the release resolves it on a GPU."""
    if flags.disable_radix_cache:
        return "no radix cache"
    if flags.mamba_radix_cache_strategy != "auto":
        return flags.mamba_radix_cache_strategy
    paging = flags.page_size is not None and flags.page_size > 1
    return "extra_buffer" if paging or not flags.disable_overlap_schedule else "no_buffer"


def per_request(flags: Flags) -> int:
    """State slots that one request keeps: 5, 4, 3 or 1 by strategy, fewer where decode gives one back."""
    overlap = not flags.disable_overlap_schedule
    how = strategy(flags)
    if how == "no radix cache":
        return 1
    skips = flags.switch("SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK")
    if how == "no_buffer":
        return 3
    tracked = 1 if how == "extra_buffer_lazy" or not overlap else 2
    if how == "extra_buffer_lazy" and not overlap:
        raise UsageError("`extra_buffer_lazy` needs the overlap schedule")
    return (2 if skips else 3) + tracked


def every_strategy(flags: Flags) -> dict[str, int]:
    """Slots of a request by strategy, for a server that is otherwise the same."""
    changes: dict[str, dict[str, Any]] = {
        "extra_buffer": {"mamba_radix_cache_strategy": "extra_buffer", "disable_overlap_schedule": False},
        "extra_buffer_lazy": {"mamba_radix_cache_strategy": "extra_buffer_lazy", "disable_overlap_schedule": False},
        "no_buffer": {"mamba_radix_cache_strategy": "no_buffer", "disable_overlap_schedule": True},
        "no radix cache": {"disable_radix_cache": True},
    }
    shared = replace(flags, disable_radix_cache=False)
    return {name: per_request(replace(shared, **change)) for name, change in changes.items()}


def _type(name: str) -> int:
    if name not in TYPES:
        raise UsageError(f"states are never kept in `{name[:40]}`")
    return TYPES[name]
