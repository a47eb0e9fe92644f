"""Attention over dense tiles that also returns its log-sum-exp, by the fastest library at hand."""

from __future__ import annotations

import torch

from . import torch_path

CUDNN_STEP = 128
"""cuDNN builds a plan per shape, tens of milliseconds once: it gets round shapes only, the rest goes to flash."""


def attend(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, sm_scale: float, causal: bool = False, engine: str | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention of q[m, heads, k_dim] over k[n, kv_heads, k_dim], v[n, kv_heads, v_dim], n > 0.

    Returns the output [m, heads, v_dim] and the natural log-sum-exp fp32 [m, heads], of any strides. `causal` needs m
    = n.
    `engine` is "cudnn", "flash" or "torch" (fp32, any device); None takes cuDNN for round shapes, flash for others.
    """
    if causal and q.shape[0] != k.shape[0]:
        raise ValueError("`causal` needs as many keys as queries")
    if engine is None:
        round_shape = q.shape[0] % CUDNN_STEP == 0 and k.shape[0] % (8 * CUDNN_STEP) == 0
        engine = "cudnn" if round_shape and k.shape[-1] == v.shape[-1] else "flash"
    if engine == "torch":
        return torch_path.attend(q, k, v, sm_scale, causal)
    k_dim, v_dim = k.shape[-1], v.shape[-1]
    if k_dim != v_dim:  # neither library takes two widths everywhere
        wide = max(k_dim, v_dim)
        q, k, v = (torch.nn.functional.pad(x, (0, wide - x.shape[-1])) for x in (q, k, v))
    if engine == "cudnn":
        out, lse = torch.ops.aten._scaled_dot_product_cudnn_attention(
            q.transpose(0, 1)[None], k.transpose(0, 1)[None], v.transpose(0, 1)[None],
            None, True, 0.0, causal, False, scale=sm_scale,
        )[:2]  # fmt: skip
        return out[0].transpose(0, 1)[..., :v_dim], lse.reshape(q.shape[1], q.shape[0]).T
    out, lse = torch.ops.aten._flash_attention_forward(
        q[None], k[None], v[None], None, None, q.shape[0], k.shape[0], 0.0, causal, False, scale=sm_scale
    )[:2]
    return out[0][..., :v_dim], lse[0, :, : q.shape[0]].T
