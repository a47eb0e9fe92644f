from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from int2_kv import Int2Layout  # noqa: E402
from int2_kv.layout import GROUPS, HEAD_DIMS, WHOLE_HEAD  # noqa: E402


@pytest.mark.parametrize("dim", HEAD_DIMS)
@pytest.mark.parametrize("group", [*GROUPS, WHOLE_HEAD])
def test_bytes_per_token_head(dim: int, group: int) -> None:
    layout = Int2Layout(3, dim, dim, group)
    groups = -(-dim // min(group or dim, dim))
    assert layout.bytes_per_token_head == 2 * (dim // 4 + 4 * groups)
    assert layout.bytes_per_token == 3 * layout.bytes_per_token_head == 2 * layout.row_words


def test_the_documented_size() -> None:
    assert Int2Layout(2, 256, 256, 64).bytes_per_token_head == 160


def test_k_and_v_of_different_width() -> None:
    layout = Int2Layout(1, 192, 128)
    assert [part.shape[-1] for part in layout.parts(layout.allocate(1, "cpu"))] == [24, 16, 10]
    assert layout.row_words == 50


@pytest.mark.parametrize(
    ("layout", "heads", "record_bytes"),
    [
        (Int2Layout(2, 256, 256), 1, 160), (Int2Layout(8, 128, 128), 2, 160), (Int2Layout(4, 64, 64), 4, 160),
        (Int2Layout(3, 128, 128), 1, 80), (Int2Layout(2, 128, 256), 1, 120), (Int2Layout(4, 96, 96, 32), 2, 144),
    ],
)  # fmt: skip
def test_narrow_heads_share_a_record(layout: Int2Layout, heads: int, record_bytes: int) -> None:
    assert layout.record_heads == heads
    assert 2 * layout.record_words == record_bytes


def test_parts_cover_a_row_once() -> None:
    layout = Int2Layout(8, 128, 128)
    row = layout.allocate(1, "cpu")
    for part in layout.parts(row):
        part += 1
    assert (row == 1).all()


@pytest.mark.parametrize("arguments", [(1, 80, 80), (1, 128, 512), (1, 128, 128, 48), (0, 128, 128)])
def test_refusals(arguments: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="`"):
        Int2Layout(*arguments)


def test_a_foreign_pool_is_refused() -> None:
    layout = Int2Layout(2, 128, 128)
    layout.check_pool(layout.allocate(4, "cpu"))
    for pool in (
        torch.zeros(4, layout.row_words), torch.zeros(4, layout.row_words - 1, dtype=torch.int16),
        torch.zeros(4, 2 * layout.row_words, dtype=torch.int16)[:, ::2],
    ):  # fmt: skip
        with pytest.raises(ValueError, match="`pool`"):
            layout.check_pool(pool)


@pytest.mark.parametrize(
    ("layout", "share", "join"),
    [
        (Int2Layout(2, 256, 256), 6, 1), (Int2Layout(8, 128, 128), 4, 2), (Int2Layout(8, 128, 128), 2, 2),
        (Int2Layout(8, 64, 64), 1, 4), (Int2Layout(3, 64, 64), 4, 1), (Int2Layout(1, 64, 64), 16, 1),
    ],
)  # fmt: skip
def test_heads_per_tile(layout: Int2Layout, share: int, join: int) -> None:
    assert layout.heads_per_tile(share) == join
