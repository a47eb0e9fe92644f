"""Prefill over a packed prefix: streamed tiles must add up to one attention."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from int2_kv import (  # noqa: E402
    Int2Layout,
    RowTable,
    UnsupportedFeature,
    default_rotation,
    extend,
    merge,
    naive,
    prefill,
    store,
    torch_path,
)
from int2_kv.prefill import BUDGET, PrefillPlan, plan  # noqa: E402

CARD = torch.cuda.is_available()
AT = "cuda" if CARD else "cpu"
IMPLS = (
    ["torch", "triton"] if CARD else ["torch"]
)  # the fast engines are CUDA libraries; their parts are tested one by one
SLOTS = 400


def chunk(layout: Int2Layout, share: int, prefix: int, new: int, turn=None):  # type: ignore[no-untyped-def]
    torch.manual_seed(prefix + new)
    k = torch.randn(prefix + new, layout.kv_heads, layout.k_dim).to(AT).half()
    v = torch.randn(prefix + new, layout.kv_heads, layout.v_dim).to(AT).half()
    q = torch.randn(new, layout.kv_heads * share, layout.k_dim).to(AT).half()
    pool = layout.allocate(SLOTS, AT).fill_(0x7E00)
    slots = torch.randperm(SLOTS)[:prefix].to(AT)
    store(k[:prefix], v[:prefix], slots, pool, layout, rotation=turn, impl="torch")
    return q, k, v, pool, slots


def expected(q, k, v, pool, slots, layout, turn=None, rows=None):  # type: ignore[no-untyped-def]
    maybe = torch.zeros(len(slots), dtype=torch.bool, device=AT)
    if rows is not None:
        maybe[rows.positions(len(slots))] = True
    old_k, old_v = torch_path.load_exact(pool, slots, layout, turn, rows, maybe)
    keys, values = torch.cat([old_k, k[len(slots) :].float()]), torch.cat([old_v, v[len(slots) :].float()])
    return naive.attend(q, keys, values, layout.k_dim**-0.5, causal_from=len(slots))[0]


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("dims", [(64, 64), (96, 96), (192, 128), (256, 256)])
@pytest.mark.parametrize(("prefix", "new"), [(0, 17), (1, 1), (133, 50), (64, 32)])
@pytest.mark.parametrize("rotated", [False, True])
def test_against_float64(dims: tuple[int, int], prefix: int, new: int, rotated: bool, impl: str) -> None:
    layout = Int2Layout(2, *dims)
    turn = default_rotation(*dims, AT) if rotated else None
    q, k, v, pool, slots = chunk(layout, 3, prefix, new, turn)
    out = torch.full((new, 6, dims[1]), float("nan"), dtype=q.dtype, device=AT)
    prefill(
        q, k[prefix:], v[prefix:], pool, slots, layout, dims[0] ** -0.5, rotation=turn, out=out,
        cut=PrefillPlan(16, 40), impl=impl,
    )  # fmt: skip
    want = expected(q, k, v, pool, slots, layout, turn)
    assert not out.isnan().any()
    assert ((out.double() - want).norm() / want.norm()).item() < 2e-3


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize(("sink", "window"), [(0, 30), (5, 60), (100, 100)])
def test_rows_of_the_prefix(sink: int, window: int, impl: str) -> None:
    layout = Int2Layout(1, 64, 64)
    turn = default_rotation(64, 64, AT)
    q, k, v, pool, slots = chunk(layout, 2, 120, 20, turn)
    table = torch.full((SLOTS,), -1, dtype=torch.int32, device=AT)
    some = torch.randperm(120)[:80]
    table[slots[some]] = torch.arange(80, dtype=torch.int32, device=AT)
    rows = RowTable(table, k[some].contiguous(), v[some].contiguous(), sink, window)
    out = prefill(
        q, k[120:], v[120:], pool, slots, layout, 0.125, rotation=turn, rows=rows, cut=PrefillPlan(8, 33), impl=impl
    )
    want = expected(q, k, v, pool, slots, layout, turn, rows)
    assert ((out.double() - want).norm() / want.norm()).item() < 2e-3


@pytest.mark.parametrize("impl", IMPLS)
def test_several_sequences(impl: str) -> None:
    layout = Int2Layout(1, 64, 64)
    q, k, v, pool, slots = chunk(layout, 2, 100, 30)
    out = extend(
        q, k[100:], v[100:], pool, slots, layout, 0.125, [10, 20], [60, 40], cut=PrefillPlan(16, 32), impl=impl
    )  # fmt: skip
    first = expected(q[:10], torch.cat([k[:60], k[100:110]]), torch.cat([v[:60], v[100:110]]), pool, slots[:60], layout)
    second = expected(
        q[10:], torch.cat([k[60:100], k[110:]]), torch.cat([v[60:100], v[110:]]), pool, slots[60:], layout
    )
    assert ((out.double() - torch.cat([first, second])).norm() / out.double().norm()).item() < 2e-3


def test_fold_kernel_is_plain_fold() -> None:
    """With poison in an accumulator that holds nothing yet, empty parts, and a log-sum-exp laid out head first."""
    torch.manual_seed(1)
    acc, lse = torch.full((9, 3, 96), float("nan"), device=AT), torch.full((9, 3), -float("inf"), device=AT)
    other, other_lse = acc.clone(), lse.clone()
    for step in range(3):
        part, part_lse = torch.randn(3, 9, 96, device=AT).half().transpose(0, 1), torch.randn(3, 9, device=AT).T * 5
        part_lse = part_lse.clone().T.contiguous().T
        part_lse[step] = -float("inf")
        merge.fold(acc, lse, part, part_lse)
        torch_path.fold(other, other_lse, part, part_lse)
    assert torch.allclose(acc, other, atol=1e-5)
    assert torch.allclose(lse, other_lse, atol=1e-5)


@pytest.mark.parametrize("layout", [Int2Layout(2, 256, 256), Int2Layout(8, 128, 128), Int2Layout(4, 192, 128)])
@pytest.mark.parametrize("share", [1, 4, 6])
def test_the_plan_keeps_its_budget(layout: Int2Layout, share: int) -> None:
    heads = layout.kv_heads * share
    cut = plan(layout, heads, 132)
    assert cut.block % 128 == 0
    queries = cut.block * heads * (4 * layout.v_dim + 2 * layout.v_dim + 2 * layout.k_dim)
    assert queries + cut.tile * layout.kv_heads * 2 * (layout.k_dim + layout.v_dim) <= BUDGET


def test_refused_by_name() -> None:
    layout = Int2Layout(1, 64, 64)
    q, k, v, pool, slots = chunk(layout, 1, 4, 2)
    with pytest.raises(UnsupportedFeature, match="sliding window"):
        prefill(q, k[4:], v[4:], pool, slots, layout, 0.125, sliding_window=128)
