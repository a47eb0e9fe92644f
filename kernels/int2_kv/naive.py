"""The format in float64 and plain indexing: what every kernel is held against. Slow on purpose."""

from __future__ import annotations

import torch

from .layout import MAX_ABS, Int2Layout


def quantize_head(x: torch.Tensor, group: int, clip: float = 1.0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Codes int64[..., D] in 0…3, scale and zero float64[..., groups] (both already rounded to fp16).

    `clip` keeps that fraction of each group's range, about its middle.
    """
    x = x.double().nan_to_num(0.0).clamp(-MAX_ABS, MAX_ABS)
    scales, zeros, codes = [], [], []
    for start in range(0, x.shape[-1], group):
        part = x[..., start : start + group]
        low, high = part.amin(-1, keepdim=True), part.amax(-1, keepdim=True)
        middle, half = (low + high) / 2, (high - low) / 2 * clip
        zero = (middle - half).half().double()
        scale = (half * 2 / 3).half().double()
        step = torch.where(scale > 0, scale, torch.ones_like(scale))
        codes.append(((part - zero) / step + 0.5).floor().clamp(0, 3).long() * (scale > 0))
        scales.append(scale)
        zeros.append(zero)
    return torch.cat(codes, -1), torch.cat(scales, -1), torch.cat(zeros, -1)


def pack_codes(codes: torch.Tensor) -> torch.Tensor:
    """int16[..., D/8] from codes int64[..., D]."""
    width = codes.shape[-1] // 8
    words = torch.zeros(*codes.shape[:-1], width, dtype=torch.int64)
    for channel in range(codes.shape[-1]):
        words[..., channel % width] |= codes[..., channel].cpu() << (2 * (channel // width))
    return words.to(torch.int16).to(codes.device)


def unpack_codes(words: torch.Tensor) -> torch.Tensor:
    """Codes int64[..., D] from int16[..., D/8]."""
    width = words.shape[-1]
    return torch.cat([(words.long() >> (2 * place)) & 3 for place in range(8)], -1).reshape(
        *words.shape[:-1], 8 * width
    )


def pack_rows(k: torch.Tensor, v: torch.Tensor, layout: Int2Layout, clip: float = 1.0) -> torch.Tensor:
    """int16[n, row_words] from k[n, kv_heads, k_dim] and v[n, kv_heads, v_dim]."""
    codes, meta = [], []
    for x, group in ((k, layout.k_group), (v, layout.v_group)):
        code, scale, zero = quantize_head(x, group, clip)
        codes.append(pack_codes(code))
        meta += [scale.half().view(torch.int16), zero.half().view(torch.int16)]
    rows = torch.empty(k.shape[0], layout.row_words, dtype=torch.int16, device=k.device)
    for part, value in zip(layout.parts(rows), (*codes, torch.cat(meta, -1)), strict=True):
        part.copy_(value.view(part.shape))
    return rows


def unpack_rows(rows: torch.Tensor, layout: Int2Layout) -> tuple[torch.Tensor, torch.Tensor]:
    """k float64[n, kv_heads, k_dim] and v float64[n, kv_heads, v_dim] from packed rows."""
    *codes, metas = (part.flatten(1, 2) for part in layout.parts(rows))
    out = []
    meta = 0
    for words, dim, group, groups in (
        (codes[0], layout.k_dim, layout.k_group, layout.k_groups),
        (codes[1], layout.v_dim, layout.v_group, layout.v_groups),
    ):
        scale = metas[..., meta : meta + groups].contiguous().view(torch.float16).double()
        zero = metas[..., meta + groups : meta + 2 * groups].contiguous().view(torch.float16).double()
        of_channel = torch.arange(dim, device=rows.device) // group
        out.append(zero[..., of_channel] + scale[..., of_channel] * unpack_codes(words).double())
        meta += 2 * groups
    return out[0], out[1]


def attend(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, sm_scale: float, causal_from: int | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention in float64: q[m, heads, k_dim], k[n, kv_heads, k_dim], v[n, kv_heads, v_dim].

    Returns the output float64[m, heads, v_dim] and the natural log-sum-exp float64[m, heads]; zero and -inf where
    there is nothing to attend to. With `causal_from`, query i sees keys up to `causal_from + i`.
    """
    q, k, v = q.double(), k.double(), v.double()
    share = q.shape[1] // k.shape[1]
    out = torch.zeros(q.shape[0], q.shape[1], v.shape[-1], dtype=torch.float64, device=q.device)
    lse = torch.full(q.shape[:2], float("-inf"), dtype=torch.float64, device=q.device)
    if k.shape[0] == 0:
        return out, lse
    for head in range(q.shape[1]):
        logits = q[:, head] @ k[:, head // share].T * sm_scale
        if causal_from is not None:
            seen = torch.arange(q.shape[0], device=q.device)[:, None] + causal_from
            hidden = torch.arange(k.shape[0], device=q.device)[None, :] > seen
            logits = logits.masked_fill(hidden, float("-inf"))
        lse[:, head] = logits.logsumexp(-1)
        out[:, head] = logits.softmax(-1).nan_to_num(0.0) @ v[:, head // share]
    return out, lse
