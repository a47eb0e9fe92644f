"""The same functions in plain torch, for CPU tensors: asked for by `impl="torch"`, never fallen into."""

from __future__ import annotations

import math

import torch

from . import naive
from .layout import Int2Layout
from .rotation import Rotation
from .rows import RowTable


def store(
    k: torch.Tensor, v: torch.Tensor, loc: torch.Tensor, pool: torch.Tensor, layout: Int2Layout,
    rotation: Rotation | None, clip: float,
) -> None:  # fmt: skip
    """`quantize.store` without Triton."""
    keep = loc >= 0
    if rotation is not None:
        k, v = k.float() @ rotation.k, v.float() @ rotation.v
    pool[loc[keep]] = naive.pack_rows(k[keep], v[keep], layout, clip)


def load(
    pool: torch.Tensor, slots: torch.Tensor, layout: Int2Layout, dtype: torch.dtype
) -> tuple[torch.Tensor, torch.Tensor]:
    """`dequantize.load` without Triton."""
    k, v = naive.unpack_rows(pool[slots], layout)
    return k.to(dtype), v.to(dtype)


def load_exact(
    pool: torch.Tensor, slots: torch.Tensor, layout: Int2Layout, rotation: Rotation | None, rows: RowTable | None,
    maybe: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """K and V of `slots` in the model's space, fp32, with the 16-bit row in place where there is one and `maybe`
    says to look.
    """
    k, v = naive.unpack_rows(pool[slots], layout)
    k, v = k.float(), v.float()
    if rotation is not None:
        k, v = k @ rotation.k.T, v @ rotation.v.T
    if rows is not None:
        row = rows.row_of_slot[slots].long()
        take = maybe & (row >= 0)
        k[take], v[take] = rows.k[row[take]].float(), rows.v[row[take]].float()
    return k, v


def decode(
    q: torch.Tensor, pool: torch.Tensor, indptr: torch.Tensor, indices: torch.Tensor, layout: Int2Layout,
    sm_scale: float, rotation: Rotation | None, rows: RowTable | None, out: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """`decode.decode` without Triton."""
    lse = torch.empty(q.shape[:2], dtype=torch.float32, device=q.device)
    for b in range(q.shape[0]):
        slots = indices[int(indptr[b]) : int(indptr[b + 1])]
        maybe = torch.zeros(len(slots), dtype=torch.bool, device=slots.device)
        if rows is not None:
            maybe[rows.positions(len(slots))] = True
        k, v = load_exact(pool, slots, layout, rotation, rows, maybe)
        one, one_lse = attend(q[b : b + 1], k, v, sm_scale)
        out[b], lse[b] = one[0], one_lse[0] / math.log(2)
    return out, lse


def attend(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, sm_scale: float, causal: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention in fp32 of q[m, heads, k_dim] over k, v [n, kv_heads, …]: output [m, heads, v_dim], natural lse [m,
    heads].

    `causal` aligns the last query with the last key.
    """
    m, heads, _ = q.shape
    n, kv_heads = k.shape[:2]
    if n == 0:
        return q.new_zeros(m, heads, v.shape[-1], dtype=torch.float32), q.new_full((m, heads), -math.inf).float()
    grouped = q.float().view(m, kv_heads, heads // kv_heads, -1)
    logits = torch.einsum("mhgd,nhd->mhgn", grouped, k.float()) * sm_scale
    if causal:
        ahead = torch.ones(m, n, dtype=torch.bool, device=q.device).triu(n - m + 1)
        logits.masked_fill_(ahead[:, None, None], -math.inf)
    out = torch.einsum("mhgn,nhd->mhgd", logits.softmax(-1), v.float())
    return out.reshape(m, heads, -1), logits.logsumexp(-1).reshape(m, heads)


def fold(acc: torch.Tensor, lse: torch.Tensor, part: torch.Tensor, part_lse: torch.Tensor) -> None:
    """`merge.fold` without Triton."""
    both = torch.stack([lse, part_lse.float()])
    total = both.logsumexp(0)
    weight = (both - total).exp().nan_to_num(0.0)[..., None]
    old = torch.where(lse[..., None] > -math.inf, acc, torch.zeros_like(acc))
    acc.copy_(old * weight[0] + part.float() * weight[1])
    lse.copy_(total)
