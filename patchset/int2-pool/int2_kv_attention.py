"""Attention over an INT2 pool, called from the Triton attention backend."""

from __future__ import annotations

from typing import Any

import torch

from sglang.srt.layers.attention import int2_kv
from sglang.srt.layers.radix_attention import AttentionType
from sglang.srt.mem_cache.int2_kv_pool import Int2TokenToKVPool


def int2_pool(pool: Any) -> Int2TokenToKVPool | None:
    """The int2 pool behind the pool that a backend sees, if it is one; a hybrid model's is one level down.

    Raises ``ValueError`` for a pool of another kind that was built for the same flag: it would store keys and values as whole numbers.
    """
    inner = getattr(pool, "full_kv_pool", pool)
    if isinstance(inner, Int2TokenToKVPool):
        return inner
    if getattr(inner, "dtype", None) == torch.int16:
        raise ValueError(
            f"--kv-cache-dtype int2 does not serve this model: its KV cache is a `{type(inner).__name__}`."
        )
    return None


def v_head_dim(pool: Any, usual: Any) -> int:
    """Width of V: asked of the pool by name, where upstream looks at a buffer (``usual`` does that)."""
    inner = int2_pool(pool)
    return usual() if inner is None else inner.get_v_head_dim()


def plan_rows(backend: Any, forward_batch: Any) -> None:
    """Give the batch's new tokens their 16-bit rows, before the first layer writes. Runs outside any captured forward."""
    pool = int2_pool(backend.token_to_kv_pool)
    if pool is None or pool.slot_rows is None or forward_batch.out_cache_loc is None:
        return
    mode = forward_batch.forward_mode
    table, requests, written = backend.req_to_token, forward_batch.req_pool_indices, forward_batch.out_cache_loc
    if mode.is_decode_or_idle():
        if written.shape[0]:
            pool.slot_rows.plan_decode(table, requests, forward_batch.seq_lens, written)
    else:
        prefix_lens, chunk_lens = lengths(forward_batch)
        pool.slot_rows.plan_extend(table, requests, written[: sum(chunk_lens)], prefix_lens, chunk_lens)


def lengths(forward_batch: Any) -> tuple[list[int], list[int]]:
    """Prefix and chunk length of each request, on the host."""
    return (
        _on_host(forward_batch.extend_prefix_lens_cpu, forward_batch.extend_prefix_lens),
        _on_host(forward_batch.extend_seq_lens_cpu, forward_batch.extend_seq_lens),
    )


def _on_host(there: Any, here: torch.Tensor) -> list[int]:
    values = here if there is None else there
    return values.tolist() if isinstance(values, torch.Tensor) else list(values)


def _layer(backend: Any, layer: Any) -> tuple[Int2TokenToKVPool, int]:
    """The pool and the layer's place in it."""
    outer = backend.token_to_kv_pool
    pool = int2_pool(outer)
    assert pool is not None
    if pool is outer:
        return pool, pool.local(layer.layer_id)
    return pool, outer._transfer_full_attention_id(layer.layer_id)


def _features(layer: Any, sinks: Any, score_mod: Any, aux_tensors: Any) -> dict[str, Any]:
    """What the kernels refuse by themselves; raises for what they do not know."""
    if score_mod is not None or aux_tensors is not None:
        raise int2_kv.UnsupportedFeature("int2 does not serve a score modification (`score_mod`)")
    if layer.is_cross_attention or layer.attn_type != AttentionType.DECODER:
        raise int2_kv.UnsupportedFeature(f"int2 serves causal self-attention only (`attn_type` = {layer.attn_type})")
    if layer.xai_temperature_len > 0:
        raise int2_kv.UnsupportedFeature("int2 does not serve length-scaled logits (`xai_temperature_len`)")
    return {"logit_cap": layer.logit_cap, "sinks": sinks, "sliding_window": layer.sliding_window_size}


def extend(
    backend: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, o: torch.Tensor, layer: Any, forward_batch: Any,
    sinks: Any = None, score_mod: Any = None, aux_tensors: Any = None,
) -> torch.Tensor:  # fmt: skip
    """Attention of the batch's chunks over their packed prefixes and themselves, into ``o``; the chunks are stored already."""
    features = _features(layer, sinks, score_mod, aux_tensors)
    if not forward_batch.forward_mode.is_extend() or forward_batch.forward_mode.is_target_verify():
        raise int2_kv.UnsupportedFeature(f"int2 does not serve {forward_batch.forward_mode}")
    pool, local = _layer(backend, layer)
    prefix_lens, chunk_lens = lengths(forward_batch)
    tokens = sum(chunk_lens)
    out = o.view(-1, layer.tp_q_head_num, layer.v_head_dim)
    out[tokens:] = 0  # padding of data-parallel or piecewise batches
    int2_kv.extend(
        q.view(-1, layer.tp_q_head_num, layer.qk_head_dim)[:tokens],
        k.view(-1, layer.tp_k_head_num, layer.qk_head_dim)[:tokens].contiguous(),
        v.view(-1, layer.tp_v_head_num, layer.v_head_dim)[:tokens].contiguous(),
        pool.records[local], backend.forward_metadata.kv_indices, pool.layout, layer.scaling, chunk_lens, prefix_lens,
        rotation=pool.plan.rotations[local], rows=pool.row_table(local), out=out[:tokens], impl=pool.impl, **features,
    )  # fmt: skip
    return o


def decode(
    backend: Any, q: torch.Tensor, o: torch.Tensor, layer: Any,
    sinks: Any = None, score_mod: Any = None, aux_tensors: Any = None,
) -> torch.Tensor:  # fmt: skip
    """Attention of one new token per request, into ``o``; the token is stored already."""
    features = _features(layer, sinks, score_mod, aux_tensors)
    pool, local = _layer(backend, layer)
    metadata = backend.forward_metadata
    out = o.view(-1, layer.tp_q_head_num, layer.v_head_dim)
    batch = min(out.shape[0], metadata.kv_indptr.shape[0] - 1)
    out[batch:] = 0
    if batch:
        int2_kv.decode(
            q.view(-1, layer.tp_q_head_num, layer.qk_head_dim)[:batch],
            pool.records[local], metadata.kv_indptr[: batch + 1], metadata.kv_indices, pool.layout, layer.scaling,
            rotation=pool.plan.rotations[local], rows=pool.row_table(local), out=out[:batch], impl=pool.impl, **features,
        )  # fmt: skip
    return o
