"""The budget against the tensors of a real pool, through the release's own sizing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import tree

tree.require()

import torch
from sglang.srt.model_executor.pool_configurator import create_memory_pool_configurator
from small_engine import CONTEXT, HYBRID, INT2, PLAIN, Engine, configurator, publish

MODELS = pytest.mark.parametrize("model", [PLAIN, HYBRID], ids=["plain", "hybrid"])
ROWS = pytest.mark.parametrize(
    "rows",
    [
        {"int2_sink_tokens": 0, "int2_window_tokens": 0},
        {"int2_sink_tokens": 4, "int2_window_tokens": 8},
        {"int2_sink_tokens": 64, "int2_window_tokens": 256},
    ],
    ids=["none", "few", "default"],
)


def allocated(pool: Any) -> int:
    """Bytes of every tensor of a pool, but for the rotations, which all layers share."""
    tables = [t for t in vars(pool.slot_rows).values() if isinstance(t, torch.Tensor)] if pool.slot_rows else []
    return sum(t.nbytes for t in [*pool.records, *pool.k_rows, *pool.v_rows, *tables])


def sized(model: dict[str, Any], budget: int, page_size: int = 1, **arguments: Any) -> tuple[int, Any]:
    """Tokens for a budget, and the configurator that said so."""
    kvc = configurator(publish(model, **arguments))
    sizes = create_memory_pool_configurator(kvc)
    return sizes.calculate_pool_sizes(budget, page_size).max_total_num_tokens, sizes


@pytest.mark.differs
@MODELS
@ROWS
@pytest.mark.parametrize("group", [32, 64])
def test_a_pool_takes_what_the_cell_size_says(model: dict[str, Any], rows: dict[str, int], group: int) -> None:
    """Two pools of different size: the difference is the cell size, exactly, and what is left are the rows."""
    arguments = INT2 | rows | {"kv_cache_quant_group_size": group, "max_running_requests": 2}
    _, sizes = sized(model, 1 << 20, **arguments)
    small, large = (Engine(model, tokens=n, **arguments).inner for n in (1200, 1700))
    assert allocated(large) - allocated(small) == 500 * sizes._cell_size
    rest = sizes.int2_budget.plan.bytes_of_rows(len(small.records), 1201)
    assert allocated(small) == 1201 * sizes._cell_size + rest
    assert sum(small.get_kv_size_bytes()) == allocated(small)


@pytest.mark.differs
@MODELS
@ROWS
@pytest.mark.parametrize("budget", [100_000, 400_000, 4_000_000])
@pytest.mark.parametrize("page_size", [1, 16])
def test_the_budget_is_used_up_and_not_exceeded(
    model: dict[str, Any], rows: dict[str, int], budget: int, page_size: int
) -> None:
    arguments = INT2 | rows | {"max_running_requests": 2}
    tokens, sizes = sized(model, budget, page_size, **arguments)
    plan, layers = sizes.int2_budget.plan, sizes.int2_budget.layers

    def bytes_of(count: int) -> int:
        slots = count + page_size
        return slots * plan.bytes_per_slot(layers) + plan.bytes_of_rows(layers, slots)

    assert tokens > 0
    assert tokens % page_size == 0
    assert bytes_of(tokens) <= budget
    # Where every slot has a row, the tables that only a larger pool needs may be left over.
    assert bytes_of(tokens + page_size) > budget - 24 * plan.row_limit
    if page_size == 1:
        assert allocated(Engine(model, tokens=tokens, **arguments).inner) == bytes_of(tokens)


@pytest.mark.differs
def test_two_bits_hold_six_to_seven_times_the_tokens() -> None:
    """Head dimension 64 as here: 5.3 times 16 bit at groups of 64. At 256, with 160 bytes for 1024, 6.4."""
    budget = 16 << 20
    few, _ = sized(PLAIN, budget)
    many, sizes = sized(PLAIN, budget, int2_sink_tokens=0, int2_window_tokens=0, **INT2)
    assert few * 5 < many
    from sglang.srt.layers.attention.int2_kv import Int2Layout

    assert 2 * 256 * 2 / Int2Layout(2, 256, 256, 64).bytes_per_token_head == pytest.approx(6.4)
    assert sizes.int2_budget.plan.layout.group == 64


@pytest.mark.differs
def test_rows_are_for_the_requests_that_can_run() -> None:
    """The state cache of a hybrid model limits requests, and with them the rows."""
    rows = {"int2_sink_tokens": 4, "int2_window_tokens": 8}
    limits = {
        (asked, states): sized(
            HYBRID, 1 << 20, max_running_requests=asked, max_mamba_cache_size=states, **INT2, **rows
        )[1]
        for asked, states in ((2, 512), (512, 512), (512, 12))
    }
    assert {key: sizes.int2_budget.plan.row_limit // 12 - 1 for key, sizes in limits.items()} == {
        (2, 512): 2,
        (512, 512): 64,
        (512, 12): 12 // configurator(publish(HYBRID, **INT2))._calculate_mamba_ratio(),
    }


@pytest.mark.differs
def test_a_stage_without_attention_layers_costs_nothing() -> None:
    kvc = configurator(
        publish(HYBRID, **INT2), layer_info=SimpleNamespace(start_layer=0, end_layer=1, num_effective_layers=1)
    )
    sizes = create_memory_pool_configurator(kvc)
    assert sizes._cell_size == 0
    assert sizes.calculate_pool_sizes(1 << 20, 1).max_total_num_tokens >= CONTEXT


@pytest.mark.unchanged
@MODELS
def test_other_dtypes_are_sized_as_they_were(model: dict[str, Any], record_property: Any) -> None:
    tokens, sizes = sized(model, 1_000_003)
    record_property("trace", f"{tokens} {sizes._cell_size}")
