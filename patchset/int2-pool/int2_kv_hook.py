"""Refuse at start, by name, what INT2 KV cache does not serve."""

from __future__ import annotations

from typing import Any

from sglang.srt.arg_groups.overrides import (
    attention_backends_of,
    model_config_of,
    post_capture_kv_sizing_planned,
    resolved_view,
    resolving_view,
    use_mla_backend,
)
from sglang.srt.configs.hybrid_arch import hybrid_lightning_config
from sglang.srt.configs.model_config import is_minimax_sparse
from sglang.srt.layers.attention.int2_kv import Int2Layout
from sglang.srt.model_executor.cuda_graph_config import Backend

WIDEST_WINDOW = 16384
"""Sinks and window of one request: decode keeps one partial result for every 64 of them."""


def handle_int2_kv_cache(server_args: Any) -> None:
    """Raise ``ValueError`` for what does not go with ``--kv-cache-dtype int2``; do nothing for any other dtype."""
    cfg = resolving_view(server_args)
    if cfg.kv_cache_dtype != "int2":
        return
    _check_sizes(cfg)
    for name, unserved in _unserved(server_args, cfg).items():
        if unserved:
            raise ValueError(f"--kv-cache-dtype int2 does not serve {name}.")
    backends = {backend for backend in attention_backends_of(resolved_view(server_args)) if backend is not None}
    if backends - {"triton"}:
        raise ValueError(
            f"--kv-cache-dtype int2 needs --attention-backend triton, got {', '.join(sorted(backends - {'triton'}))}."
        )
    _check_model(model_config_of(server_args), cfg)


def _check_sizes(cfg: Any) -> None:
    if cfg.int2_sink_tokens < 0 or cfg.int2_window_tokens < 0:
        raise ValueError("--int2-sink-tokens and --int2-window-tokens must not be negative.")
    if cfg.int2_sink_tokens + cfg.int2_window_tokens > WIDEST_WINDOW:
        raise ValueError(f"--int2-sink-tokens plus --int2-window-tokens must not exceed {WIDEST_WINDOW}.")


def _unserved(server_args: Any, cfg: Any) -> dict[str, bool]:
    """Name of a feature, and whether it was asked for. An argument that a release does not have yet was not."""

    def asked(name: str, off: Any = False) -> bool:
        return getattr(cfg, name, off) not in (off, None)

    graphs = cfg.cuda_graph_config
    return {
        "MLA models": use_mla_backend(server_args),
        # The ranks would each see a part of the tokens: silently wrong, not slow.
        "decode context parallelism (--dcp-size)": asked("dcp_size", 1),
        "context-parallel attention (--attn-cp-size)": asked("attn_cp_size", 1) or asked("enable_prefill_cp"),
        "speculative decoding (--speculative-algorithm)": asked("speculative_algorithm"),
        "deterministic inference (--enable-deterministic-inference)": asked("enable_deterministic_inference"),
        # Also wrong upstream on hybrid models at a full hit (sglang issue 39830), for any dtype.
        "the hierarchical cache (--enable-hierarchical-cache)": asked("enable_hierarchical_cache"),
        "LMCache (--enable-lmcache)": asked("enable_lmcache"),
        "FlexKV (--enable-flexkv)": asked("enable_flexkv"),
        "an external cache (--enable-unified-cache-external-linker)": asked("enable_unified_cache_external_linker"),
        "the KV cache canary (--kv-canary)": asked("kv_canary", "none"),
        "HiSparse (--enable-hisparse)": asked("enable_hisparse"),
        "KV cache sharding (--enable-kv-cache-sharding)": asked("enable_kv_cache_sharding"),
        "the unified memory pool (--enable-unified-memory)": asked("enable_unified_memory"),
        "the page-major layout (--enable-page-major-kv-layout)": asked("enable_page_major_kv_layout"),
        "disaggregated prefill and decode (--disaggregation-mode)": asked("disaggregation_mode", "null"),
        "role switching (--enable-pd-role-switch)": asked("enable_pd_role_switch"),
        "PD multiplexing (--enable-pdmux)": asked("enable_pdmux"),
        "diffusion language models (--dllm-algorithm)": asked("dllm_algorithm"),
        "two-batch overlap (--enable-two-batch-overlap)": asked("enable_two_batch_overlap"),
        "a prefill without KV cache (--prefill-only-disable-kv-cache)": asked("prefill_only_disable_kv_cache"),
        "full CUDA graphs for prefill (--cuda-graph-backend-prefill full)": graphs is not None
        and graphs.prefill.backend == Backend.FULL,
        "post-capture KV sizing (SGLANG_ENABLE_POST_CAPTURE_KV_SIZING)": graphs is not None
        and post_capture_kv_sizing_planned(server_args),
    }


def _check_model(model: Any, cfg: Any) -> None:
    if model.is_hybrid_swa:
        raise ValueError("--kv-cache-dtype int2 does not serve sliding-window attention.")
    if _is_sparse(model.hf_config):
        raise ValueError("--kv-cache-dtype int2 does not serve sparse attention.")
    # Its linear layers convert queries to the cache's type.
    if hybrid_lightning_config(model) is not None:
        raise ValueError("--kv-cache-dtype int2 does not serve lightning attention.")
    try:
        Int2Layout(1, model.head_dim, model.v_head_dim, cfg.kv_cache_quant_group_size)
    except ValueError as error:
        raise ValueError(
            f"--kv-cache-dtype int2 does not serve this model with --kv-cache-quant-group-size "
            f"{cfg.kv_cache_quant_group_size}: {error}."
        ) from error


def _is_sparse(config: Any) -> bool:
    """Whether layers of this model choose the tokens that they attend to; such models have pools and backends of their own."""
    if is_minimax_sparse(config):
        return True
    try:
        from sglang.srt.layers.attention.qsa.config import parse_qsa_profile
    except ImportError:  # before v0.5.20
        return False
    return parse_qsa_profile(config) is not None
