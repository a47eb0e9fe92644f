"""Rotations from captured queries, keys and values, after OSCAR (arXiv 2605.17757).

Keys are rotated into the eigenbasis of the query covariance, since an error in K matters by what queries see of it;
values into that of
their own covariance, each token weighted by how strongly queries score its key. A Hadamard matrix then spreads every
eigenvector
over the head, and its columns go in bit-reversed order of the eigenvalues, so that each group gets a fair mix.

    python -m int2_kv.calibrate CAPTURES K_FILE V_FILE

CAPTURES holds one `<layer>.pt` per attention layer: a dict of `q` [n, heads, D], `k` and `v` [n, kv_heads, D], before
any rotation, after
positional encoding.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from .rotation import hadamard, save_rotations


def query_covariance(q: torch.Tensor, kv_heads: int) -> torch.Tensor:
    """Second moment float64[kv_heads, D, D] of the queries that share a KV head, from q[n, heads, D]."""
    n, heads, dim = q.shape
    shared = q.double().view(n, kv_heads, heads // kv_heads, dim).permute(1, 0, 2, 3).reshape(kv_heads, -1, dim)
    return shared.mT @ shared / shared.shape[1]


def value_covariance(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Second moment float64[kv_heads, D, D] of v[n, kv_heads, D], tokens weighted by the mean squared score of
    their key.
    """
    keys, values = k.double().transpose(0, 1), v.double().transpose(0, 1)
    weight = ((keys @ query_covariance(q, k.shape[1])) * keys).sum(-1)
    weight = weight / weight.mean(-1, keepdim=True).clamp(min=1e-12)
    return (values * weight[..., None]).mT @ values / values.shape[1]


def digit_reversal(dim: int) -> list[int]:
    """Indices 0…dim-1 with their digits reversed: bits for a power of two, the odd factor as one digit otherwise."""
    radices = []
    while dim % 2 == 0:
        radices.append(2)
        dim //= 2
    radices += [dim] if dim > 1 else []
    order = [0]
    for radix in radices:
        order = [i * radix + digit for digit in range(radix) for i in order]
    return order


def rotation_from(covariance: torch.Tensor) -> torch.Tensor:
    """Orthogonal float64[D, D]: eigenvectors, Hadamard, then columns so ordered that neighbours differ most in
    eigenvalue.
    """
    values, vectors = torch.linalg.eigh((covariance + covariance.mT) / 2)
    dim = covariance.shape[-1]
    columns = torch.empty(dim, dtype=torch.long)
    columns[torch.tensor(digit_reversal(dim))] = values.argsort(descending=True)
    return (vectors @ hadamard(dim).double())[:, columns]


def rotations(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The rotations of one layer for K and V, float64[D, D], from captures of that layer."""
    return rotation_from(query_covariance(q, k.shape[1]).mean(0)), rotation_from(value_covariance(q, k, v).mean(0))


def calibrate(captures: Path, k_file: Path, v_file: Path) -> int:
    """Write both rotation files from a folder of captures; returns the number of layers."""
    for_k, for_v = {}, {}
    for path in sorted(captures.glob("*.pt"), key=lambda p: int(p.stem)):
        layer = torch.load(path, map_location="cpu", weights_only=True)
        for_k[int(path.stem)], for_v[int(path.stem)] = rotations(layer["q"], layer["k"], layer["v"])
    if not for_k:
        raise FileNotFoundError(f"no `<layer>.pt` in `{captures}`")
    save_rotations(k_file, for_k, "query_covariance")
    save_rotations(v_file, for_v, "score_weighted_value_covariance")
    return len(for_k)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("captures", "k_file", "v_file"):
        parser.add_argument(name, type=Path)
    options = parser.parse_args()
    print(f"{calibrate(options.captures, options.k_file, options.v_file)} layers")


if __name__ == "__main__":
    main()
