"""Storing and loading, against the float64 reference."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from int2_kv import Int2Layout, Rotation, default_rotation, load, naive, store  # noqa: E402
from int2_kv.layout import HEAD_DIMS, MAX_ABS  # noqa: E402

CARD = torch.cuda.is_available()
AT = "cuda" if CARD else "cpu"
DTYPES = [torch.float16, torch.bfloat16] if CARD else [torch.float16]  # bf16 is silently wrong in the interpreter
POISON = 0x7E00  # a NaN where scales stand


def fresh(layout: Int2Layout, tokens: int, dtype: torch.dtype = torch.float16, seed: int = 0):  # type: ignore[no-untyped-def]
    torch.manual_seed(seed)
    k = torch.randn(tokens, layout.kv_heads, layout.k_dim).to(AT, dtype)
    v = torch.randn(tokens, layout.kv_heads, layout.v_dim).to(AT, dtype)
    return k, v, torch.randperm(2 * tokens, device="cpu")[:tokens].to(AT)


@given(st.integers(0, 10**6), st.sampled_from(HEAD_DIMS))
@settings(max_examples=20, deadline=None)
def test_packing_is_its_own_inverse(seed: int, dim: int) -> None:
    codes = torch.randint(0, 4, (3, 2, dim), generator=torch.Generator().manual_seed(seed))
    assert torch.equal(naive.unpack_codes(naive.pack_codes(codes)), codes)


@given(st.integers(0, 10**6), st.sampled_from([32, 64, 128, 0]), st.sampled_from([(128, 128), (96, 64), (256, 256)]))
@settings(max_examples=20, deadline=None)
def test_error_is_at_most_half_a_step(seed: int, group: int, dims: tuple[int, int]) -> None:
    layout = Int2Layout(2, *dims, group)
    torch.manual_seed(seed)
    k, v = torch.randn(5, 2, dims[0]) * 10.0, torch.randn(5, 2, dims[1]) * 0.1
    for x, back, size in zip(
        (k, v), naive.unpack_rows(naive.pack_rows(k, v, layout), layout), (layout.k_group, layout.v_group), strict=True
    ):
        for start in range(0, x.shape[-1], size):
            part = x[..., start : start + size].double()
            step = (part.amax(-1) - part.amin(-1)) / 3
            worst = (back[..., start : start + size] - part).abs().amax(-1)
            assert (worst <= step * 0.5 + part.abs().amax(-1) * 2e-3 + 1e-6).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("k_dim", "v_dim"), [(64, 64), (96, 96), (128, 128), (192, 128), (256, 256)])
@pytest.mark.parametrize("group", [32, 64, 128, 0])
def test_store_matches_the_reference(k_dim: int, v_dim: int, group: int, dtype: torch.dtype) -> None:
    layout = Int2Layout(2, k_dim, v_dim, group)
    k, v, loc = fresh(layout, 19, dtype)
    pool = layout.allocate(40, AT).fill_(POISON)
    store(k, v, loc, pool, layout)
    want = layout.allocate(40, AT).fill_(POISON)
    want[loc] = naive.pack_rows(k.cpu(), v.cpu(), layout).to(AT)
    same = (pool == want).float().mean().item()
    assert same > 0.999  # a value halfway between two codes may fall either way in fp32
    for got, reference in zip(naive.unpack_rows(pool[loc], layout), naive.unpack_rows(want[loc], layout), strict=True):
        assert not got.isnan().any()
        assert ((got - reference).norm() / reference.norm()).item() < 0.02
    others = torch.ones(40, dtype=torch.bool, device=AT)
    others[loc] = False
    assert (pool[others] == POISON).all()


@pytest.mark.parametrize("impl", ["triton", "torch"])
def test_negative_slots_strides_and_empty(impl: str) -> None:
    layout = Int2Layout(2, 128, 128)
    wide = torch.randn(7, 2, 3, 128, device=AT).half()
    k, v = wide[:, :, 0], wide[:, :, 2]
    loc = torch.tensor([3, -1, 5, 0, -1, 9, 1], device=AT)
    pool = layout.allocate(10, AT).fill_(POISON)
    store(k, v, loc, pool, layout, impl=impl)
    store(k[:0], v[:0], loc[:0], pool, layout, impl=impl)
    assert (pool[[2, 4, 6, 7, 8]] == POISON).all()
    back, _ = load(pool, loc[[0, 2, 3]], layout, torch.float32, impl=impl)
    assert ((back - k[[0, 2, 3]].float()).norm() / back.norm()).item() < 0.5


@pytest.mark.parametrize("impl", ["triton", "torch"])
def test_nan_and_outliers_stay_finite(impl: str) -> None:
    layout = Int2Layout(1, 128, 128)
    k, v, loc = fresh(layout, 4)
    k[0, 0, 3], k[1, 0, 5], k[2, 0, 7] = float("nan"), float("inf"), float("-inf")
    v[3] = 0.25
    pool = layout.allocate(8, AT)
    store(k, v, loc, pool, layout, impl=impl)
    got_k, got_v = load(pool, loc, layout, torch.float32, impl=impl)
    assert got_k.isfinite().all()
    assert got_k.abs().max() <= MAX_ABS * 1.01
    assert torch.equal(got_v[3], torch.full_like(got_v[3], 0.25))


@pytest.mark.parametrize("dims", [(64, 96), (128, 256)])
@pytest.mark.parametrize("random", [False, True])
def test_a_rotated_nan_takes_its_head_and_no_other(dims: tuple[int, int], random: bool) -> None:
    """Every rotated channel of that head is NaN, hence zero; heads and tokens beside it are as without."""
    layout = Int2Layout(2, *dims)
    k, v, loc = fresh(layout, 5)
    turn = some_rotation(*dims) if random else default_rotation(*dims, AT)
    pool, want = layout.allocate(10, AT), layout.allocate(10, AT)
    store(k, v, loc, want, layout, rotation=turn)
    k[1, 0, 3], v[4, 1, 7], v[2, 0, 1] = float("nan"), float("nan"), float("inf")
    store(k, v, loc, pool, layout, rotation=turn)
    for got, clean, hit in zip(
        load(pool, loc, layout, torch.float32), load(want, loc, layout, torch.float32), ([(1, 0)], [(4, 1), (2, 0)]),
        strict=True,
    ):  # fmt: skip
        assert got.isfinite().all()
        assert (got[hit[0]] == 0).all()
        for place in hit:
            got[place] = clean[place]
        assert torch.equal(got, clean)


def some_rotation(k_dim: int, v_dim: int) -> Rotation:
    matrices = [torch.linalg.qr(torch.randn(dim, dim, dtype=torch.float64))[0].float().to(AT) for dim in (k_dim, v_dim)]
    return Rotation(*matrices)


def check_rotated(layout: Int2Layout, k: torch.Tensor, v: torch.Tensor, loc: torch.Tensor, turn: Rotation) -> None:
    """What the kernel stores with a rotation loads as what the reference stores."""
    pool, want = layout.allocate(2 * len(k), AT), layout.allocate(2 * len(k), AT)
    store(k, v, loc, pool, layout, rotation=turn)
    store(k, v, loc, want, layout, rotation=turn, impl="torch")
    for got, reference in zip(
        load(pool, loc, layout, torch.float32), load(want, loc, layout, torch.float32), strict=True
    ):
        assert ((got - reference).norm() / reference.norm()).item() < 0.05


@pytest.mark.parametrize("dim", [64, 96, 128, 256])
def test_a_full_matrix(dim: int) -> None:
    """More tokens than one program takes, and every channel in its place."""
    layout = Int2Layout(1, dim, dim)
    check_rotated(layout, *fresh(layout, 131), some_rotation(dim, dim))


def test_halves_go_up() -> None:
    """A value midway between two codes takes the upper one, in the kernel as in the reference."""
    layout = Int2Layout(1, 64, 64)
    k = torch.tensor([0.0, 3.0, 0.5, 1.5, 2.5, 1.0, 2.0, 0.25] * 8, device=AT).half().view(1, 1, 64)
    pool, want = layout.allocate(1, AT), layout.allocate(1, AT)
    loc = torch.zeros(1, dtype=torch.int64, device=AT)
    store(k, k, loc, pool, layout)
    store(k, k, loc, want, layout, impl="torch")
    assert torch.equal(pool, want)


def test_clip_narrows_the_range() -> None:
    layout = Int2Layout(1, 128, 128)
    k, v, loc = fresh(layout, 4)
    pool = layout.allocate(8, AT)
    spans = []
    for clip in (1.0, 0.8):
        store(k, v, loc, pool, layout, clip=clip)
        back, _ = load(pool, loc, layout, torch.float32)
        spans.append((back.amax() - back.amin()).item())
    assert spans[1] == pytest.approx(0.8 * spans[0], rel=0.05)
    with pytest.raises(ValueError, match="`clip`"):
        store(k, v, loc, pool, layout, clip=0.0)


@pytest.mark.parametrize("dims", [(64, 96), (128, 128), (256, 192)])
def test_fused_rotation(dims: tuple[int, int]) -> None:
    layout = Int2Layout(2, *dims)
    check_rotated(layout, *fresh(layout, 9), default_rotation(*dims, AT))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("k_dim", "v_dim"), [(64, 96), (128, 128), (192, 256)])
def test_load_matches_the_reference(k_dim: int, v_dim: int, dtype: torch.dtype) -> None:
    layout = Int2Layout(2, k_dim, v_dim)
    k, v, loc = fresh(layout, 35, dtype)
    pool = layout.allocate(70, AT).fill_(POISON)
    pool[loc] = naive.pack_rows(k.cpu(), v.cpu(), layout).to(AT)
    out = tuple(torch.full(x.shape, float("nan"), dtype=dtype, device=AT) for x in (k, v))
    got = load(pool, loc, layout, dtype, out=out)
    for mine, reference in zip(got, naive.unpack_rows(pool[loc], layout), strict=True):
        assert ((mine.double() - reference).norm() / reference.norm()).item() < (
            3e-3 if dtype == torch.bfloat16 else 4e-4
        )


def test_shapes_that_do_not_fit() -> None:
    layout = Int2Layout(2, 128, 128)
    k, v, loc = fresh(layout, 4)
    with pytest.raises(ValueError, match="do not fit"):
        store(k[:, :1], v, loc, layout.allocate(8, AT), layout)
    with pytest.raises(ValueError, match="`loc`"):
        store(k, v, loc[:2], layout.allocate(8, AT), layout)
