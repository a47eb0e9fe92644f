"""Decode attention against float64 over the values that the pool really holds."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from int2_kv import Int2Layout, RowTable, UnsupportedFeature, decode, default_rotation, naive, torch_path  # noqa: E402
from int2_kv.decode import Card, DecodePlan, launch_stage, plan, workspace  # noqa: E402
from int2_kv.merge import launch_merge  # noqa: E402

CARD = torch.cuda.is_available()
AT = "cuda" if CARD else "cpu"
DTYPES = [torch.float16, torch.bfloat16] if CARD else [torch.float16]
SLOTS = 400
POISON = 0x7E00


class Batch:
    """Sequences over a pool whose unused slots would turn any output into NaN."""

    def __init__(
        self, layout: Int2Layout, share: int, lengths: list[int], *, dtype=torch.float16, page=1, turn=None
    ) -> None:  # type: ignore[no-untyped-def]
        torch.manual_seed(len(lengths) + share)
        self.layout, self.lengths, self.turn = layout, lengths, turn
        pages = torch.randperm(SLOTS // page)[: sum(-(-n // page) for n in lengths)]
        slots, taken = [], 0
        for n in lengths:
            mine = pages[taken : taken + -(-n // page)]
            slots.append((mine[:, None] * page + torch.arange(page)).flatten()[:n])
            taken += len(mine)
        self.indices = torch.cat(slots).to(AT)
        self.indptr = torch.tensor([0, *lengths]).cumsum(0).to(AT, torch.int32)
        self.k = torch.randn(sum(lengths), layout.kv_heads, layout.k_dim).to(AT, dtype)
        self.v = torch.randn(sum(lengths), layout.kv_heads, layout.v_dim).to(AT, dtype)
        self.q = torch.randn(len(lengths), layout.kv_heads * share, layout.k_dim).to(AT, dtype)
        self.pool = layout.allocate(SLOTS, AT).fill_(POISON)
        torch_path.store(self.k, self.v, self.indices, self.pool, layout, turn, 1.0)
        self.sm_scale = layout.k_dim**-0.5

    def expected(self, rows: RowTable | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        outs, lses = [], []
        for b, n in enumerate(self.lengths):
            slots = self.indices[int(self.indptr[b]) : int(self.indptr[b + 1])]
            maybe = torch.zeros(n, dtype=torch.bool, device=AT)
            if rows is not None:
                maybe[rows.positions(n)] = True
            k, v = torch_path.load_exact(self.pool, slots, self.layout, self.turn, rows, maybe)
            out, lse = naive.attend(self.q[b : b + 1], k, v, self.sm_scale)
            outs.append(out)
            lses.append(lse / math.log(2))
        return torch.cat(outs), torch.cat(lses)

    def run(self, rows: RowTable | None = None, **options):  # type: ignore[no-untyped-def]
        out = torch.full((*self.q.shape[:2], self.layout.v_dim), float("nan"), dtype=self.q.dtype, device=AT)
        return decode(
            self.q, self.pool, self.indptr, self.indices, self.layout, self.sm_scale,
            rotation=self.turn, rows=rows, out=out, **options,
        )  # fmt: skip

    def check(self, rows: RowTable | None = None, **options) -> None:  # type: ignore[no-untyped-def]
        out, lse = self.run(rows, **options)
        want, want_lse = self.expected(rows)
        assert not out.isnan().any()
        limit = 2.5e-3 if self.q.dtype == torch.bfloat16 else 1e-3
        assert ((out.double() - want).norm() / want.norm()).item() < limit
        empty = want_lse == -math.inf
        assert (lse[empty] == -math.inf).all()
        assert torch.allclose(lse[~empty].double(), want_lse[~empty], atol=2e-3, rtol=2e-5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("k_dim", "v_dim", "group"),
    [(64, 64, 64), (96, 96, 32), (96, 96, 64), (128, 128, 32), (128, 128, 0), (192, 128, 64), (192, 192, 128), (256,
    256, 64),
     (256, 256, 32), (64, 256, 128)],
)  # fmt: skip
def test_head_dims_and_groups(k_dim: int, v_dim: int, group: int, dtype: torch.dtype) -> None:
    Batch(Int2Layout(2, k_dim, v_dim, group), 3, [37, 1, 64], dtype=dtype).check(cut=DecodePlan(3))


@pytest.mark.parametrize("share", [1, 2, 4, 5, 6, 8, 9, 16])
@pytest.mark.parametrize("dim", [64, 128])
def test_any_query_group(share: int, dim: int) -> None:
    Batch(Int2Layout(4, dim, dim), share, [40]).check(cut=DecodePlan(2))


def test_a_group_of_six_at_batch_sixteen() -> None:
    """Where a published kernel reads the wrong KV head."""
    Batch(Int2Layout(4, 64, 64), 6, [9] * 17).check(cut=DecodePlan(2))


@pytest.mark.parametrize("page", [1, 16])
@pytest.mark.parametrize(
    "cut",
    [
        DecodePlan(1),
        DecodePlan(7, least=16),
        DecodePlan(3, block=16),
        DecodePlan(2, block=64, stages=3),
        DecodePlan(3, stages=4, maxnreg=168),
    ],
)
def test_pages_splits_and_blocks(page: int, cut: DecodePlan) -> None:
    Batch(Int2Layout(2, 128, 128), 4, [33, 0, 100, 1, 16], page=page).check(cut=cut)


def test_partial_buffers_may_hold_anything() -> None:
    batch = Batch(Int2Layout(2, 128, 128), 4, [70, 0, 5])
    mid, lse = workspace(3, 8, batch.layout, 4, None, batch.q.device)
    mid.fill_(float("nan"))
    lse.fill_(float("nan"))
    out, total = torch.empty(3, 8, 128, device=AT), torch.empty(3, 8, device=AT)
    launch_stage(
        batch.q, batch.pool, batch.indptr, batch.indices, batch.layout, batch.sm_scale, DecodePlan(4), mid, lse
    )
    launch_merge(mid, lse, out, total)
    want, _ = batch.expected()
    assert ((out.double() - want).norm() / want.norm()).item() < 1e-3


def test_large_and_small_queries() -> None:
    """The power of two per head keeps any query inside fp16, and an outlier in one head leaves the others alone."""
    batch = Batch(Int2Layout(1, 128, 128), 4, [50])
    batch.q[0, 0] *= 200.0
    batch.q[0, 1] *= 1e-3
    batch.q[0, 2] = 0.0
    batch.check(cut=DecodePlan(2))


def test_a_late_maximum_fades_what_came_before() -> None:
    batch = Batch(Int2Layout(1, 128, 128), 2, [200])
    for position in (40, 90, 170):
        batch.k[position] = batch.q[0, :1] * (0.5 + position / 50.0)
    torch_path.store(batch.k, batch.v, batch.indices, batch.pool, batch.layout, None, 1.0)
    batch.check(cut=DecodePlan(1))


@pytest.mark.parametrize("block", [16, 32])
@pytest.mark.parametrize("rotated", [False, True])
@pytest.mark.parametrize(("sink", "window"), [(0, 20), (4, 0), (8, 40), (300, 300)])
def test_sixteen_bit_rows(sink: int, window: int, rotated: bool, block: int) -> None:
    """The row is taken where one stands among sinks and recent tokens, and nowhere else."""
    layout = Int2Layout(2, 128, 64)
    batch = Batch(layout, 3, [90, 0, 30, 7], turn=default_rotation(128, 64, AT) if rotated else None)
    table = torch.full((SLOTS,), -1, dtype=torch.int32, device=AT)
    some = torch.randperm(len(batch.indices))[: len(batch.indices) * 2 // 3]
    table[batch.indices[some]] = torch.arange(len(some), dtype=torch.int32, device=AT)
    rows = RowTable(table, batch.k[some].contiguous(), batch.v[some].contiguous(), sink, window)
    batch.check(rows, cut=DecodePlan(3, block))
    batch.check(rows, impl="torch")


def test_rows_everywhere_are_exact() -> None:
    batch = Batch(Int2Layout(2, 64, 64), 4, [50, 20])
    table = torch.full((SLOTS,), -1, dtype=torch.int32, device=AT)
    table[batch.indices] = torch.arange(70, dtype=torch.int32, device=AT)
    out, _ = batch.run(RowTable(table, batch.k, batch.v, 64, 256), cut=DecodePlan(2))
    for b, part in ((0, slice(0, 50)), (1, slice(50, 70))):
        want, _ = naive.attend(batch.q[b : b + 1], batch.k[part], batch.v[part], batch.sm_scale)
        assert ((out[b].double() - want[0]).norm() / want.norm()).item() < 1e-3


def test_plain_torch_is_the_same_function() -> None:
    Batch(Int2Layout(2, 96, 96), 6, [33, 0, 5]).check(impl="torch")


@pytest.mark.parametrize("feature", ["logit_cap", "sinks", "sliding_window"])
def test_refused_by_name(feature: str) -> None:
    batch = Batch(Int2Layout(1, 64, 64), 1, [3])
    with pytest.raises(UnsupportedFeature, match=feature):
        batch.run(**{feature: 30})
    batch.run(logit_cap=0.0, sinks=None, sliding_window=-1, impl="torch")


def test_a_query_that_does_not_fit() -> None:
    batch = Batch(Int2Layout(2, 64, 64), 1, [3])
    with pytest.raises(ValueError, match="does not fit"):
        decode(batch.q[:, :1], batch.pool, batch.indptr, batch.indices, batch.layout, 1.0)


def test_the_plan_depends_on_the_batch_only() -> None:
    layout, card = Int2Layout(2, 256, 256), Card(132, 228 << 10)
    assert [plan(b, layout, 12, card).splits for b in (1, 8, 32, 1024)] == [264, 66, 16, 1]
    wide = [plan(b, Int2Layout(4, 256, 256), 24, card) for b in (1, 2, 8, 32)]
    assert [(cut.splits, cut.block) for cut in wide] == [(264, 16), (198, 16), (49, 16), (12, 16)]


def test_the_plan_fits_into_shared_memory() -> None:
    """A card with 100 KiB per multiprocessor holds five programs in steps of 32 tokens: eight in steps of 16 it is."""
    layout = Int2Layout(2, 256, 256)
    small = plan(8, layout, 12, Card(28, 100 << 10))
    assert (small.splits, small.block) == (8 * 28 // 16, 16)
    assert plan(8, layout, 12, Card(28, 228 << 10)).block == 32
    tiny = plan(8, layout, 12, Card(28, 48 << 10))
    assert (tiny.splits, tiny.block) == (4 * 28 // 16, 16)


@pytest.mark.skipif(not CARD, reason="needs 5 GB: slots beyond 2**31 words")
def test_offsets_beyond_32_bits() -> None:
    layout = Int2Layout(1, 256, 256)
    slots = 2**31 // layout.row_words + 1000
    pool = layout.allocate(slots, AT)
    batch = Batch(layout, 6, [64])
    far = slots - 1 - torch.arange(64, device=AT)
    pool[far] = batch.pool[batch.indices]
    batch.pool, batch.indices = pool, far
    batch.check(cut=DecodePlan(2))
