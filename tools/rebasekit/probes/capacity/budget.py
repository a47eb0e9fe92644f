"""The budget: what a server makes of the memory that it finds, in whole bytes and exact fractions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from rebasekit.errors import StateError, UsageError
from rebasekit.probes.capacity.cells import INT2, Cell, cell_of
from rebasekit.probes.capacity.flags import Flags
from rebasekit.probes.capacity.model import Model, NotCovered
from rebasekit.probes.capacity.release import Release
from rebasekit.probes.capacity.states import States, states_of

Binding = Literal["budget", "cap", "mamba slots"]
_MIB = 1 << 20
_VISION_CACHE = 100  # MiB that the server sets aside for images of a multimodal model
_MOST_REQUESTS, _LEAST_REQUESTS = 4096, 2048  # a server without --max-running-requests stays between them


@dataclass(frozen=True)
class Memory:
    """One card: `free` before weights are loaded, `weights` what they take, `total` the card's size (0: not known)."""

    free: int
    weights: int
    total: int = 0

    def __post_init__(self) -> None:
        if self.free <= 0 or self.weights < 0 or self.total < 0:
            raise UsageError("memory must be above 0, and weights not below it")


@dataclass(frozen=True)
class Pools:
    """What is built on one rank. `state_slots` are usable active states, without the padding slot."""

    static: int
    """What weights, states and KV cache may take together: --mem-fraction-static of the free memory."""
    rest: int
    """What of that is left after the weights."""
    reserve: int
    """What is left alone for activations, CUDA graphs and whatever comes later."""
    cell: Cell
    tokens: int
    binding: Binding
    uncapped: int
    """Tokens that the budget allows, whatever --max-total-tokens says."""
    kv_bytes: int
    requests: int
    request_limit: str
    state_requests: int | None = None
    """Requests that the state slots allow; None without linear layers."""
    states: States | None = None
    state_slots: int = 0
    state_bytes: int = 0
    checkpoint_slots: int = 0
    checkpoint_bytes: int = 0
    counted: bool = True
    """Whether the checkpoint pool is paid out of the budget, as the series does it."""


def solve(model: Model, flags: Flags, memory: Memory, release: Release, *, patched: bool = True) -> Pools:
    """The pools of one rank. Raises StateError where the server would find too little memory, UsageError for flags."""
    if flags.mem_fraction_static is None:
        raise NotCovered(
            "the server chooses its static fraction from the card and its graphs; state it",
            hint="add `--mem-fraction-static 0.85` to the flags",
        )
    if flags.kv_cache_dtype == INT2 and not patched:
        raise UsageError("upstream has no `--kv-cache-dtype int2`", hint="leave out `--pristine`")
    ranks, replicas = flags.attention_ranks(release)
    static = int(memory.free * flags.mem_fraction_static)
    rest = static - memory.weights - _vision(model, flags)
    if rest <= 0:
        missing = memory.weights + _vision(model, flags) - static
        raise StateError(f"weights leave no memory for the pools: {missing / _MIB:.0f} MiB are missing")
    states = states_of(model, flags, ranks)
    slots = _slots(states, flags, rest, replicas, patched, release) if states else 0
    saved = _checkpoints(flags, slots) if states else 0
    state_bytes = (slots + 1) * states.slot if states else 0
    saved_bytes = states.checkpoints_bytes(saved) if states and saved else 0
    left = rest - state_bytes - (saved_bytes if patched else 0)
    per_worker = _per_worker(flags, replicas, release)
    allowed = slots // states.per_request if states else None
    rows_for = [limit for limit in (per_worker, allowed) if limit is not None]
    cell = cell_of(model, flags, ranks, requests=max(1, min(rows_for))) if rows_for else cell_of(model, flags, ranks)
    page = flags.page_size or 1
    uncapped = cell.tokens(max(left, 0), page)
    cap = flags.max_total_tokens
    tokens = uncapped if cap is None else min(uncapped, cap) // page * page
    if tokens <= 0:
        raise StateError(f"no token fits: {left / _MIB:.0f} MiB are left for the KV cache")
    requests, why = _requests(flags, tokens, per_worker, allowed, flags.context_length or model.context)
    if requests <= 0:
        raise StateError(f"{slots} state slots serve no request: one keeps {states.per_request if states else 0}")
    return Pools(
        static=static,
        rest=rest,
        reserve=memory.free - static,
        cell=cell,
        tokens=tokens,
        binding=_limit(tokens < uncapped, flags, rest, rest - left),
        uncapped=uncapped,
        kv_bytes=cell.pool_bytes(tokens, page),
        requests=requests,
        request_limit=why,
        state_requests=allowed,
        states=states,
        state_slots=slots,
        state_bytes=state_bytes,
        checkpoint_slots=saved,
        checkpoint_bytes=saved_bytes,
        counted=patched,
    )


def _vision(model: Model, flags: Flags) -> int:
    """What a multimodal model's image cache takes out of the budget."""
    if not model.multimodal or flags.enable_multimodal is False:
        return 0
    said = flags.environment.get("SGLANG_VLM_CACHE_SIZE_MB", str(_VISION_CACHE))
    return (int(said) if said.isdigit() else _VISION_CACHE) * _MIB


def _slots(states: States, flags: Flags, rest: int, replicas: int, patched: bool, release: Release) -> int:
    """Usable active states: as the flags say, else what their share of the budget holds beside the padding slot."""
    if flags.max_mamba_cache_size is not None:
        slots = flags.max_mamba_cache_size // replicas
    elif flags.disable_radix_cache and flags.max_running_requests is not None:
        slots = _per_worker(flags, replicas, release) or 0
    else:
        share = _share(flags) * rest
        if patched and flags.enable_int8_mamba_checkpoint:
            share = _active_share(states, flags, share)
        slots = int((share - states.slot) // states.slot)
    if slots <= 0:
        raise StateError(f"no state fits: one takes {states.slot / _MIB:.1f} MiB, {rest / _MIB:.0f} MiB are left")
    return slots


def _share(flags: Flags) -> Fraction:
    return flags.mamba_full_memory_ratio / (1 + flags.mamba_full_memory_ratio)


def _active_share(states: States, flags: Flags, share: Fraction) -> Fraction:
    """The part of the states' share that active states get when checkpoints are paid from it too."""
    if flags.int8_mamba_ckpt_size:
        return share - states.checkpoints_bytes(flags.int8_mamba_ckpt_size)
    each = states.checkpoints_bytes(1) - states.checkpoint
    return (share - states.checkpoint) * states.slot / (states.slot + 2 * each)


def _checkpoints(flags: Flags, slots: int) -> int:
    """Usable int8 slots: as the flag says, else two for each active one."""
    if not flags.enable_int8_mamba_checkpoint:
        return 0
    return flags.int8_mamba_ckpt_size or 2 * slots


def _per_worker(flags: Flags, replicas: int, release: Release) -> int | None:
    if flags.max_running_requests is None:
        return None
    return max(flags.max_running_requests // replicas, 1 if release.one_request else 0)


def _requests(flags: Flags, tokens: int, per_worker: int | None, allowed: int | None, context: int) -> tuple[int, str]:
    """Requests at once, and what limits them."""
    if per_worker is not None:
        limits = {"--max-running-requests": per_worker}
    else:
        limits = {"the default": max(min(tokens * 512 // context, _MOST_REQUESTS), _LEAST_REQUESTS)}
    limits["tokens"] = tokens // 2
    if allowed is not None:
        limits["mamba slots"] = allowed
    why = min(limits, key=lambda name: limits[name])
    return limits[why], why


def _limit(capped: bool, flags: Flags, rest: int, taken: int) -> Binding:
    """Which limit the token count has: states that were asked for by number may take more than their share."""
    if capped:
        return "cap"
    return "mamba slots" if taken > _share(flags) * rest else "budget"
