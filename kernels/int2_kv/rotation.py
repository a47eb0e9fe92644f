"""Orthogonal matrices for K and V, one per layer: rows are rotated before they are quantised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch

FORMAT_VERSION = 1
ORTHOGONAL_WITHIN = 1e-3


class RotationError(ValueError):
    """A rotation file that cannot be used; the message says which entry and why."""


@dataclass(frozen=True)
class Rotation:
    """`x @ k` is what the pool stores of K, and `x @ v` of V; both fp32[D, D], orthogonal.

    Queries are rotated with `k` before they meet the pool, outputs with `v.T` after.
    """

    k: torch.Tensor
    v: torch.Tensor
    walsh: bool = field(init=False, compare=False)
    """Whether both are Walsh-Hadamard matrices that the store kernel can apply as sums."""
    _rounded: dict[object, tuple[torch.Tensor, torch.Tensor]] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "walsh", all(is_walsh(matrix) for matrix in (self.k, self.v)))

    def in_type(self, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        """Both matrices in a 16-bit type, rounded once and kept."""
        return self._kept(dtype, lambda matrix: matrix)

    def signs(self, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        """For a `walsh` rotation: the signs within an eighth of a head, [D/8, D/8] of K and of V."""
        return self._kept((dtype, "signs"), lambda matrix: matrix[: len(matrix) // 8, : len(matrix) // 8].sign())

    def _kept(self, key: object, change: Callable[[torch.Tensor], torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        if key not in self._rounded:
            dtype = key[0] if isinstance(key, tuple) else key
            self._rounded[key] = tuple(change(matrix).to(dtype).contiguous() for matrix in (self.k, self.v))
        return self._rounded[key]

    def rotate_query(self, q: torch.Tensor) -> torch.Tensor:
        """q[..., k_dim] in the pool's space, fp32."""
        return q.float() @ self.k

    def restore_output(self, out: torch.Tensor) -> torch.Tensor:
        """out[..., v_dim] back in the model's space, fp32."""
        return out.float() @ self.v.T


def hadamard(dim: int, device: torch.device | str = "cpu") -> torch.Tensor:
    """Orthogonal fp32[dim, dim] that spreads any channel over the head, without data.

    Walsh-Hadamard for a power of two; otherwise its Kronecker product with the reflection `1 - 2/n` of the odd factor n
    (96 = 32 x 3, 192 = 64 x 3), which has no zero, so that every channel still reaches every other.
    """
    odd = dim
    while odd % 2 == 0:
        odd //= 2
    walsh = torch.ones(1, 1, dtype=torch.float64)
    while walsh.shape[0] * odd < dim:
        walsh = torch.cat([torch.cat([walsh, walsh], 1), torch.cat([walsh, -walsh], 1)], 0)
    small = torch.ones(1, 1, dtype=torch.float64)
    if odd > 1:
        small = torch.eye(odd, dtype=torch.float64) - 2.0 / odd
    return (torch.kron(small, walsh) / walsh.shape[0] ** 0.5).float().to(device)


def is_walsh(matrix: torch.Tensor) -> bool:
    """Whether `matrix` is `hadamard(D)` of a head whose eighth is a matrix tile: D = 128 or 256."""
    dim = matrix.shape[0]
    return dim in (128, 256) and torch.equal(matrix.float(), hadamard(dim, matrix.device))


def default_rotation(k_dim: int, v_dim: int, device: torch.device | str = "cpu") -> Rotation:
    """The rotation that needs no file."""
    return Rotation(hadamard(k_dim, device), hadamard(v_dim, device))


def load_rotations(path: str | Path, dim: int, device: torch.device | str = "cpu") -> dict[int, torch.Tensor]:
    """Rotations by layer from a file in OSCAR's format (github.com/FutureMLS-Lab/OSCAR), for heads of `dim` channels.

    The file is a state dict `{format_version: 1, objective, layers: {i: {layer_id, rotation: [dim, dim]}}}`; extra
    keys are ignored, layer keys may be strings. Read with `weights_only`, so that it cannot run code. Raises
    `RotationError` for a wrong
    version, shape, layer id, or a matrix that is not orthogonal within 1e-3.
    """
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises half a dozen kinds for files that are not its own
        raise RotationError(f"cannot read rotation file `{path}`: {error}") from error
    if not isinstance(state, dict) or not isinstance(state.get("layers"), dict):
        raise RotationError(f"`{path}` has no `layers`")
    if state.get("format_version") != FORMAT_VERSION:
        raise RotationError(f"`{path}` has format_version {state.get('format_version')!r}, not {FORMAT_VERSION}")
    return {int(key): _check(path, int(key), entry, dim).to(device) for key, entry in state["layers"].items()}


def _check(path: str | Path, layer: int, entry: object, dim: int) -> torch.Tensor:
    if not isinstance(entry, dict) or not isinstance(entry.get("rotation"), torch.Tensor):
        raise RotationError(f"layer {layer} of `{path}` has no `rotation`")
    if int(entry.get("layer_id", layer)) != layer:
        raise RotationError(f"layer {layer} of `{path}` says layer_id {entry['layer_id']}")
    matrix = entry["rotation"].double()
    if tuple(matrix.shape) != (dim, dim):
        raise RotationError(f"rotation of layer {layer} in `{path}` is {list(matrix.shape)}, not [{dim}, {dim}]")
    error = (matrix @ matrix.T - torch.eye(dim, dtype=torch.float64)).abs().max().item()
    if not error <= ORTHOGONAL_WITHIN:
        raise RotationError(f"rotation of layer {layer} in `{path}` is not orthogonal (off by {error:.2g})")
    return matrix.float()


def save_rotations(path: str | Path, rotations: dict[int, torch.Tensor], objective: str) -> None:
    """Write such a file."""
    layers = {i: {"layer_id": i, "rotation": r.float().cpu().contiguous()} for i, r in sorted(rotations.items())}
    torch.save({"format_version": FORMAT_VERSION, "objective": objective, "layers": layers}, path)
