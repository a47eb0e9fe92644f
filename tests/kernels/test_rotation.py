"""Rotations: the default, the file format, calibration."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from int2_kv import Int2Layout, RotationError, calibrate, load_rotations, naive  # noqa: E402
from int2_kv.layout import HEAD_DIMS  # noqa: E402
from int2_kv.rotation import hadamard, save_rotations  # noqa: E402


@pytest.mark.parametrize("dim", HEAD_DIMS)
def test_hadamard_is_orthogonal_and_reaches_everything(dim: int) -> None:
    matrix = hadamard(dim).double()
    assert torch.allclose(matrix @ matrix.T, torch.eye(dim, dtype=torch.float64), atol=1e-6)
    assert matrix.abs().min() >= 0.5 / dim**0.5
    assert matrix.abs().max() <= 1.2 / dim**0.5


def test_hadamard_flattens_an_outlier() -> None:
    x = torch.randn(64, 1, 128)
    x[..., 17] *= 30
    layout = Int2Layout(1, 128, 128)
    turn = hadamard(128)
    plain = naive.unpack_rows(naive.pack_rows(x, x, layout), layout)[0] - x
    turned = naive.unpack_rows(naive.pack_rows(x @ turn, x, layout), layout)[0] @ turn.double().T - x
    assert turned.norm() < 0.7 * plain.norm()


def test_file_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "k.pt"
    save_rotations(path, {3: hadamard(96), 0: torch.eye(96)}, "hadamard")
    back = load_rotations(path, 96)
    assert sorted(back) == [0, 3]
    assert torch.equal(back[3], hadamard(96))


def test_string_keys_and_extra_fields(tmp_path: Path) -> None:
    path = tmp_path / "k.pt"
    layer = {"layer_id": 2, "rotation": torch.eye(64), "eigenvalues": torch.ones(64)}
    torch.save({"format_version": 1, "objective": "x", "source_grouping": "layer", "layers": {"2": layer}}, path)
    assert list(load_rotations(path, 64)) == [2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format_version": 2}, "format_version"), ({"layers": None}, "layers"), ({"layers": {0: {}}}, "no `rotation`"),
        ({"layers": {0: {"layer_id": 0, "rotation": torch.eye(32)}}}, "32, 32"),
        ({"layers": {0: {"layer_id": 1, "rotation": torch.eye(64)}}}, "layer_id"),
        ({"layers": {0: {"layer_id": 0, "rotation": torch.eye(64) * 1.1}}}, "not orthogonal"),
        ({"layers": {0: {"layer_id": 0, "rotation": torch.full((64, 64), float("nan"))}}}, "not orthogonal"),
    ],
)  # fmt: skip
def test_refusals(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = tmp_path / "k.pt"
    good = {"format_version": 1, "objective": "x", "layers": {0: {"layer_id": 0, "rotation": torch.eye(64)}}}
    torch.save(good | change, path)
    with pytest.raises(RotationError, match=message):
        load_rotations(path, 64)


class Payload:
    def __reduce__(self):  # type: ignore[no-untyped-def]
        return (exec, ("raise SystemExit('a rotation file ran code')",))


def test_a_file_cannot_run_code(tmp_path: Path) -> None:
    path = tmp_path / "k.pt"
    path.write_bytes(pickle.dumps(Payload()))
    with pytest.raises(RotationError, match="cannot read"):
        load_rotations(path, 64)


@pytest.mark.parametrize("dim", [8, 12, 96, 192, 256])
def test_digit_reversal_is_a_permutation(dim: int) -> None:
    order = calibrate.digit_reversal(dim)
    assert sorted(order) == list(range(dim))
    if dim == 8:
        assert order == [0, 4, 2, 6, 1, 5, 3, 7]


@pytest.mark.parametrize("dim", [64, 96])
def test_calibrated_rotations(tmp_path: Path, dim: int) -> None:
    """Orthogonal, and better than none where a few directions carry the variance."""
    torch.manual_seed(0)
    spread = torch.linalg.qr(torch.randn(dim, dim))[0] * torch.logspace(1, -2, dim)
    q, k, v = (torch.randn(200, heads, dim) @ spread for heads in (4, 2, 2))
    captures = tmp_path / "captures"
    captures.mkdir()
    for layer in (1, 5):
        torch.save({"q": q, "k": k, "v": v}, captures / f"{layer}.pt")
    assert calibrate.calibrate(captures, tmp_path / "k.pt", tmp_path / "v.pt") == 2
    turn = load_rotations(tmp_path / "k.pt", dim)[5]
    assert sorted(load_rotations(tmp_path / "v.pt", dim)) == [1, 5]
    layout = Int2Layout(2, dim, dim, 32)

    def score_error(matrix: torch.Tensor) -> torch.Tensor:
        back = naive.unpack_rows(naive.pack_rows(k @ matrix, v, layout), layout)[0] @ matrix.double().T
        return torch.einsum("nhd,mhd->hnm", q[:, ::2].double(), back - k).norm()

    assert score_error(turn) < 0.9 * score_error(torch.eye(dim))


def test_covariances_follow_their_definition() -> None:
    torch.manual_seed(2)
    q, k, v = torch.randn(11, 4, 8), torch.randn(11, 2, 8), torch.randn(11, 2, 8)
    first = q[:, :2].reshape(-1, 8).double()
    want = first.T @ first / 22
    assert torch.allclose(calibrate.query_covariance(q, 2)[0], want)
    weight = torch.tensor([float(k[i, 0].double() @ want @ k[i, 0].double()) for i in range(11)])
    weight = weight / weight.mean()
    by_hand = sum(weight[i].double() * torch.outer(v[i, 0].double(), v[i, 0].double()) for i in range(11)) / 11
    assert torch.allclose(calibrate.value_covariance(q, k, v)[0], by_hand, rtol=1e-5)
