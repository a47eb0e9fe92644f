"""The pool itself: what is stored, what is refused, what moves."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import tree

tree.require()

import torch
from sglang.srt.mem_cache.memory_pool import MHATokenToKVPool
from small_engine import CONTEXT, DIM, DTYPE, HYBRID, INT2, KV_HEADS, PLAIN, Engine, configurator, made_up, publish

MODELS = pytest.mark.parametrize("model", [PLAIN, HYBRID], ids=["plain", "hybrid"])
NO_ROWS = {"int2_sink_tokens": 0, "int2_window_tokens": 0}
ALL_ROWS = {"int2_sink_tokens": 0, "int2_window_tokens": CONTEXT}
HALF = 1e-3  # one fp16 rounding of values up to 4


def written(engine: Engine, tokens: int = 17, seed: int = 0) -> tuple[torch.Tensor, Any]:
    """Slots, and (k, v) by layer, that were put there through the outer pool as the backend does it."""
    slots = engine.allocate(1, 0, tokens)
    _, k, v = made_up(tokens, seed, len(engine.layers))
    for place, layer in enumerate(engine.layers):
        engine.pool.set_kv_buffer(layer, slots, k[place].clone(), v[place].clone())
    return slots, (k, v)


@pytest.mark.differs
@MODELS
@pytest.mark.parametrize("group", [32, 64, 0])
def test_what_is_written_comes_back_after_two_bits(model: dict[str, Any], group: int) -> None:
    engine = Engine(model, kv_cache_quant_group_size=group, **INT2, **NO_ROWS)
    slots, (k, v) = written(engine)
    from reference import two_bits

    for place in range(len(engine.layers)):
        got = engine.inner.load(place, slots)
        for have, true in zip(got, (k[place], v[place]), strict=True):
            torch.testing.assert_close(have.double(), two_bits(true, group or DIM), atol=HALF, rtol=HALF)


@pytest.mark.differs
@MODELS
def test_a_row_holds_the_token_bit_for_bit(model: dict[str, Any]) -> None:
    engine = Engine(model, **INT2, **ALL_ROWS)
    slots, (k, v) = written(engine)
    for place in range(len(engine.layers)):
        rows = engine.inner.row_table(place)
        row = rows.row_of_slot[slots].long()
        assert torch.equal(rows.k[row], k[place])
        assert torch.equal(rows.v[row], v[place])


@pytest.mark.differs
def test_a_rotation_file_is_used_for_its_own_layer(tmp_path: Any) -> None:
    """Global layer ids: the hybrid model's only attention layer is number 1."""
    publish(PLAIN, **INT2)
    configurator(publish(PLAIN, **INT2))  # fails the test, and not its set-up, where the dtype is unknown
    from reference import two_bits
    from sglang.srt.layers.attention.int2_kv.rotation import save_rotations

    turns = {i: torch.linalg.qr(torch.randn(DIM, DIM, generator=torch.Generator().manual_seed(i)))[0] for i in range(2)}
    save_rotations(tmp_path / "k.pt", turns, "test")
    engine = Engine(HYBRID, int2_k_rotation=str(tmp_path / "k.pt"), int2_v_rotation="none", **INT2, **NO_ROWS)
    slots, (k, v) = written(engine)
    got_k, got_v = engine.inner.load(0, slots)
    torch.testing.assert_close(got_k.double(), two_bits(k[0], turn=turns[1]), atol=HALF, rtol=HALF)
    torch.testing.assert_close(got_v.double(), two_bits(v[0], turn=torch.eye(DIM)), atol=HALF, rtol=HALF)
    save_rotations(tmp_path / "k.pt", {0: turns[0]}, "test")
    with pytest.raises(ValueError, match="has no layer 1"):
        Engine(HYBRID, int2_k_rotation=str(tmp_path / "k.pt"), **INT2)


@pytest.mark.differs
@MODELS
def test_a_copy_on_the_host_comes_back_and_a_move_moves(model: dict[str, Any]) -> None:
    """Also with `req_pool_index`, which callers pass since v0.5.20."""
    engine = Engine(model, int2_sink_tokens=4, int2_window_tokens=4, **INT2)
    slots, _ = written(engine)
    inner, other, third = engine.inner, engine.allocate(2, 0, 17), engine.allocate(3, 0, 17)
    before = [inner.load(place, slots) for place in range(len(engine.layers))]
    inner.load_cpu_copy(inner.get_cpu_copy(slots, req_pool_index=1), other, req_pool_index=2)
    engine.pool.move_kv_cache(third, other)
    for place, (k, v) in enumerate(before):
        for where in (other, third):
            assert torch.equal(inner.load(place, where)[0], k)
            assert torch.equal(inner.load(place, where)[1], v)
    assert (inner.slot_rows.row_of_slot[torch.cat([other, third])] == -1).all()


@pytest.mark.differs
@MODELS
def test_nobody_reads_it_as_a_dense_buffer(model: dict[str, Any]) -> None:
    engine = Engine(model, **INT2)
    layer = engine.layers[0].layer_id
    for read in (engine.pool.get_key_buffer, engine.pool.get_value_buffer, engine.pool.get_kv_buffer):
        with pytest.raises(NotImplementedError, match="int2 KV pool has no dense"):
            read(layer)
    assert engine.inner.get_v_head_dim() == engine.backend.v_head_dim == DIM


@pytest.mark.differs
def test_what_the_pool_cannot_do_it_refuses_by_name() -> None:
    engine = Engine(PLAIN, **INT2)
    _, k, v = made_up(1, 0)
    with pytest.raises(NotImplementedError, match="decode context parallelism"):
        engine.pool.set_kv_buffer(engine.layers[0], torch.tensor([1]), k[0], v[0], dcp_kv_mask=torch.tensor([True]))
    given = {
        "page_size": 1,
        "head_num": KV_HEADS,
        "head_dim": DIM,
        "layer_num": 2,
        "device": "cpu",
        "enable_memory_saver": False,
    }
    build = type(engine.inner)
    with pytest.raises(NotImplementedError, match="post-capture"):
        build(8, dtype=torch.int16, plan=engine.inner.plan, post_capture_active=True, **given)
    with pytest.raises(ValueError, match="do not fit"):
        build(8, dtype=torch.int16, plan=engine.inner.plan, v_head_dim=128, **given)


@pytest.mark.differs
@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"logit_cap": 30.0}, "soft cap"),
        ({"sliding_window_size": 16}, "sliding-window"),
        ({"is_cross_attention": True}, "cross attention"),
    ],
)
def test_a_model_with_such_layers_is_refused_before_the_pool_is_built(change: dict[str, Any], name: str) -> None:
    layers = torch.nn.ModuleList(Engine(PLAIN).layers)
    for key, value in change.items():
        setattr(layers[1], key, value)
    kvc = configurator(publish(PLAIN, **INT2), model=layers)
    with pytest.raises(ValueError, match=name):
        kvc._build_token_to_kv_pool(
            sizes=SimpleNamespace(max_total_num_tokens=64),
            is_dsa_model=False,
            is_dsv4_model=False,
            req_to_token_pool=None,
        )


@pytest.mark.differs
def test_no_backend_reads_another_pool_that_was_built_for_int2() -> None:
    """What upstream builds for a kind of model that is not known here would hold keys and values as whole numbers."""
    engine = Engine(PLAIN, **INT2)
    other = MHATokenToKVPool(
        8, page_size=1, dtype=torch.int16, head_num=KV_HEADS, head_dim=DIM, layer_num=2, device="cpu",
        enable_memory_saver=False,
    )  # fmt: skip
    for pool in (other, SimpleNamespace(full_kv_pool=other)):
        engine.backend.token_to_kv_pool = pool
        with pytest.raises(ValueError, match="int2 does not serve this model: its KV cache is a `MHATokenToKVPool`"):
            engine.extend([(1, 0, made_up(4, 0))])


@pytest.mark.unchanged
@MODELS
def test_other_dtypes_build_what_they_did(model: dict[str, Any], record_property: Any) -> None:
    engine = Engine(model)
    k, v = engine.inner.get_kv_buffer(0)
    record_property("trace", f"{type(engine.inner).__name__} {k.dtype} {list(k.shape)} {list(v.shape)}")
    assert k.dtype == DTYPE
