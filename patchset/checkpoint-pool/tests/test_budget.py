"""The int8 slots in the memory budget: prices against real tensors, sizes against the real solve."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import tree

tree.require()

import torch
from sglang.srt.mem_cache.kv_cache_configurator import KVCacheConfigurator
from sglang.srt.mem_cache.mamba_checkpoint_pool import MambaCheckpointPool
from sglang.srt.runtime_context import get_schedule
from small_cache import LINEAR_LAYERS, cache_params, publish, state_pool

GB = 1 << 30
BUDGET_GB = 1 / 64  # what the profile found free: 16 MiB for states and KV cache together
INT8 = {"enable_int8_mamba_checkpoint": True}


def tensors(thing: Any, seen: set[int] | None = None) -> Iterator[torch.Tensor]:
    """Every tensor reachable from ``thing``, each once."""
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, torch.Tensor):
        yield thing
    elif isinstance(thing, (list, tuple)):
        for item in thing:
            yield from tensors(item, seen)
    elif hasattr(thing, "__dict__"):
        for item in vars(thing).values():
            yield from tensors(item, seen)


def allocated(thing: Any) -> int:
    return sum(tensor.nbytes for tensor in tensors(thing))


def solve(draft_tokens: int = 0, pp_size: int = 1, **arguments: Any) -> tuple[int, float]:
    """Publish ``arguments`` and run the real sizing: (active slots, bytes left for the KV cache)."""
    if draft_tokens:
        arguments |= {"speculative_num_draft_tokens": draft_tokens}
    publish(**arguments)
    configurator = SimpleNamespace(
        mambaish_config=SimpleNamespace(mamba2_cache_params=cache_params()),
        model_config=SimpleNamespace(num_hidden_layers=4),
        ps=SimpleNamespace(pp_size=pp_size, attn_dp_size=1),
        pp_size=pp_size,
        attn_dp_size=1,
        spec_algorithm=SimpleNamespace(is_none=lambda: not draft_tokens),
        hybrid_gdn_config=None,
        hybrid_kda_config=None,
        extra_mamba_cache_bytes_per_req=0,
        fused_entry_bytes=lambda kind: None,
    )
    configurator._calculate_mamba_ratio = lambda: KVCacheConfigurator._calculate_mamba_ratio(configurator)
    left = KVCacheConfigurator._handle_max_mamba_cache(configurator, BUDGET_GB)
    return get_schedule().max_mamba_cache_size, left * GB


def state_bytes(pool: Any) -> int:
    """What the budget is about: the active states, and the checkpoint pool with all it holds."""
    checkpoints = pool.mamba_ckpt_pool
    return pool.mamba_pool.mamba_cache.mem_usage_bytes() + (allocated(checkpoints) if checkpoints else 0)


@pytest.mark.unchanged
def test_what_one_slot_of_a_27b_model_holds(record_property: Any) -> None:
    """48 linear layers, 48 value heads of 128 by 128, 10,240 channels, on two cards: codes, scales, windows, and nothing else."""
    pool = MambaCheckpointPool(
        num_layers=48,
        num_slots=32,
        num_heads=24,
        head_v_dim=128,
        head_k_dim=128,
        conv_shapes=[(5120, 3)],
        conv_dtype=torch.bfloat16,
        device="meta",
        temporal_dtype=torch.float16,
    )
    found = sorted({tuple(each.shape): each.nbytes // 33 for each in tensors(pool) if each.numel() > 32}.values())
    record_property("trace", str(found))
    assert found == [294_912, 1_474_560, 18_874_368]
    assert sum(found) == 20_643_840


@pytest.mark.differs
@pytest.mark.parametrize("slots", [1, 7, 64])
@pytest.mark.parametrize("layers", [1, 3])
def test_cost_equals_what_the_pool_allocates(slots: int, layers: int) -> None:
    publish()
    params = cache_params(list(range(layers)))
    heads, d_v, d_k = params.shape.temporal
    pool = MambaCheckpointPool(
        num_layers=layers,
        num_slots=slots,
        num_heads=heads,
        head_v_dim=d_v,
        head_k_dim=d_k,
        conv_shapes=list(params.shape.conv),
        conv_dtype=params.dtype.conv,
        temporal_dtype=params.dtype.temporal,
        device="cpu",
    )
    assert hasattr(MambaCheckpointPool, "cost_bytes"), "the pool has no price"
    assert MambaCheckpointPool.cost_bytes(cache_params=params, num_layers=layers, num_slots=slots) == allocated(pool)


SIZES = {
    "fitted": {},
    "slots-given": {"int8_mamba_ckpt_size": 100},
    "active-given": {"max_mamba_cache_size": 40},
    "both-given": {"max_mamba_cache_size": 40, "int8_mamba_ckpt_size": 50},
    "no-radix": {"disable_radix_cache": True, "max_running_requests": 24},
}


@pytest.mark.differs
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_states_checkpoints_and_kv_cache_add_up_to_the_budget(sizes: dict[str, Any]) -> None:
    """Every way to size the pool: what is really allocated plus what the KV cache is promised is what there was."""
    active, left = solve(**INT8, **sizes)
    pool = state_pool(active)
    assert pool.mamba_ckpt_pool.num_slots == sizes.get("int8_mamba_ckpt_size", 2 * active)
    assert state_bytes(pool) + left == pytest.approx(BUDGET_GB * GB, abs=16)


@pytest.mark.differs
@pytest.mark.parametrize("ratio", [0.5, 0.9, 3.0])
@pytest.mark.parametrize("slots", [{}, {"int8_mamba_ckpt_size": 64}], ids=["two-per-active", "given"])
def test_the_state_share_pays_for_the_checkpoints_and_is_used_up(slots: dict[str, Any], ratio: float) -> None:
    """--mamba-full-memory-ratio still says how states and KV cache share, now with the checkpoints among the states."""
    active, _ = solve(mamba_full_memory_ratio=ratio, **INT8, **slots)
    share = BUDGET_GB * GB * ratio / (1 + ratio)
    assert state_bytes(state_pool(active)) <= share
    assert state_bytes(state_pool(active + 2)) > share


@pytest.mark.differs
def test_an_oversized_checkpoint_pool_fails_at_start() -> None:
    """Pristine: the check passes, because it does not see the pool, and the long prefill dies."""
    with pytest.raises(RuntimeError, match="Not enough GPU memory"):
        solve(int8_mamba_ckpt_size=100_000, **INT8)
    _, left = solve(int8_mamba_ckpt_size=100_000, max_mamba_cache_size=8, **INT8)
    assert left <= 0  # _profile_available_bytes raises on this


@pytest.mark.differs
def test_drafts_and_checkpoints_share_with_speculative_decoding() -> None:
    """Upstream reserves draft states by formula for the requests that fit; the checkpoints come on top of that."""
    drafts, requests = 4, 1000
    active, left = solve(draft_tokens=drafts, max_running_requests=requests, **INT8)
    per_state = cache_params().mamba_cache_per_req
    fitting = min(requests, active // KVCacheConfigurator._calculate_mamba_ratio(None))
    states = per_state * (fitting + 1) * drafts + state_bytes(state_pool(active))
    assert states + left == pytest.approx(BUDGET_GB * GB, abs=16)
    ratio = get_schedule().mamba_full_memory_ratio
    share = BUDGET_GB * GB * ratio / (1 + ratio)
    assert share - 8 * per_state < states <= share


@pytest.mark.differs
def test_a_pipeline_stage_is_charged_its_own_layers() -> None:
    """Two stages of 2 + 1 linear layers: the larger one counts, for both pools."""
    active, left = solve(pp_size=2, **INT8)
    pool = state_pool(active, mamba_layer_ids=LINEAR_LAYERS[:2])
    assert state_bytes(pool) + left == pytest.approx(BUDGET_GB * GB, abs=16)


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_without_the_pool_the_budget_is_upstreams(sizes: dict[str, Any]) -> None:
    active, left = solve(**sizes)
    assert state_bytes(state_pool(active)) + left == pytest.approx(BUDGET_GB * GB, abs=16)


def test_the_unified_pool_builds_no_checkpoints_and_is_charged_none() -> None:
    assert solve(enable_unified_memory=True, **INT8) == solve(enable_unified_memory=True)


@pytest.mark.differs
def test_the_log_no_longer_says_that_the_pool_is_uncounted(caplog: pytest.LogCaptureFixture) -> None:
    publish(**INT8)
    with caplog.at_level("INFO"):
        state_pool(8)
    assert "is counted in the memory budget" in caplog.text
    assert "not reflected" not in caplog.text
