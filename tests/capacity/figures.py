"""Models and runs that the tests calculate with."""

from __future__ import annotations

from rebasekit.model.tag import Tag
from rebasekit.probes.capacity import Flags, Linear, Memory, Model, Pools, Release, release_of, solve

GIB = 1 << 30

# 64 layers, 48 of them linear: the figures on the public card of Qwen3.5-27B.
HYBRID_27B = Model(
    name="27B",
    attention_layers=16,
    query_heads=24,
    kv_heads=4,
    head_dim=256,
    v_head_dim=256,
    context=262_144,
    type="bfloat16",
    linear=Linear(48, 16, 48, 128, 128, 4, "float16"),
    hidden=5120,
    intermediate=17_408,
)
DENSE = Model("dense", 32, 32, 8, 128, 128, 131_072, hidden=4096, intermediate=11_008)

# The tiny model of the smoke: two linear layers, one of attention.
TINY = {
    "architectures": ["Qwen3NextForCausalLM"],
    "dtype": "float16",
    "full_attention_interval": 3,
    "head_dim": 32,
    "hidden_size": 128,
    "intermediate_size": 192,
    "layer_types": ["linear_attention", "linear_attention", "full_attention"],
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 32,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_value_head_dim": 32,
    "max_position_embeddings": 4096,
    "num_attention_heads": 4,
    "num_hidden_layers": 3,
    "num_key_value_heads": 2,
    "vocab_size": 512,
}

# What a v0.5.19 server answered, with the parts that are read.
INFO = {
    "version": "0.5.19+rk.8925aef9d823",
    "model_path": "/models/tiny",
    "tp_size": 1,
    "dp_size": 1,
    "pp_size": 1,
    "dcp_size": 1,
    "enable_dp_attention": False,
    "page_size": 1,
    "device": "cpu",
    "dtype": "float16",
    "kv_cache_dtype": "auto",
    "mem_fraction_static": 0.4,
    "max_total_tokens": None,
    "max_running_requests": 8,
    "context_length": 512,
    "chunked_prefill_size": 64,
    "disable_radix_cache": False,
    "disable_overlap_schedule": True,
    "disaggregation_mode": "null",
    "speculative_algorithm": None,
    "mamba_full_memory_ratio": 0.9,
    "mamba_radix_cache_strategy": "no_buffer",
    "max_mamba_cache_size": 32,
    "enable_int8_mamba_checkpoint": False,
    "int8_mamba_ckpt_size": None,
    "max_total_num_tokens": 34_850_938,
    "internal_states": [
        {
            "max_mamba_cache_size": 32,
            "effective_max_running_requests_per_dp": 8,
            "memory_usage": {
                "weight": 0.001,
                "kvcache": 8.309,
                "startup_available": 10.661,
                "token_capacity": 34_850_938,
                "token_capacity_swa": None,
                "graph": {"prefill": 0.25, "decode": 0.5},
            },
        }
    ],
}
V19 = release_of(Tag("v0.5.19"))


def pools(model: Model = HYBRID_27B, memory: Memory | None = None, release: Release = V19, **flags: object) -> Pools:
    """Pools of two 12 GB cards unless told otherwise."""
    patched = bool(flags.pop("patched", True))
    given = {"tp_size": 2, "context_length": 131_072, **flags}
    return solve(model, read(**given), memory or Memory(11 * GIB, 7 * GIB, 12 * GIB), release, patched=patched)


def read(**flags: object) -> Flags:
    from rebasekit.probes.capacity.flags import flags_from

    return flags_from({"mem_fraction_static": "0.9", **flags})
