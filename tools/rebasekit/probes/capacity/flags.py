"""Server flags as far as memory goes: from a command line, a profile, or a running server's answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any

from rebasekit.errors import UsageError
from rebasekit.probes.capacity.model import NotCovered
from rebasekit.probes.capacity.release import Release

STRATEGIES = ("auto", "no_buffer", "extra_buffer", "extra_buffer_lazy")
ALIASES = {
    "tp": "tp_size",
    "tensor_parallel_size": "tp_size",
    "dp": "dp_size",
    "data_parallel_size": "dp_size",
    "pp": "pp_size",
    "pipeline_parallel_size": "pp_size",
    "mamba_scheduler_strategy": "mamba_radix_cache_strategy",
    "model": "model_path",
}
_OFF = (None, False, "", "null", "none")
_UNSERVED: dict[str, tuple[object, ...]] = {  # features with pools of their own, and the values that leave them off
    "speculative_algorithm": _OFF,
    "pp_size": (*_OFF, 1, "1"),
    "dcp_size": (*_OFF, 1, "1"),
    "attn_cp_size": (*_OFF, 1, "1"),
    "disaggregation_mode": _OFF,
    "enable_unified_memory": _OFF,
    "enable_hisparse": _OFF,
    "enable_page_major_kv_layout": _OFF,
    "enable_linear_replayssm": _OFF,
    "enable_linear_replayssm_spec": _OFF,
    "enable_kv_cache_sharding": _OFF,
    "prefill_only_disable_kv_cache": _OFF,
}


@dataclass(frozen=True)
class Flags:
    """Names are the server's own. None means that the release decides."""

    tp_size: int = 1
    dp_size: int = 1
    attn_dp_size: int | None = None
    enable_dp_attention: bool = False
    page_size: int | None = None
    device: str = "cuda"
    dtype: str = "auto"
    mem_fraction_static: Fraction | None = None
    max_total_tokens: int | None = None
    max_running_requests: int | None = None
    context_length: int | None = None
    chunked_prefill_size: int | None = None
    disable_radix_cache: bool = False
    disable_overlap_schedule: bool = False
    kv_cache_dtype: str = "auto"
    kv_cache_quant_group_size: int = 64
    int2_sink_tokens: int = 64
    int2_window_tokens: int = 256
    max_mamba_cache_size: int | None = None
    mamba_full_memory_ratio: Fraction = Fraction(9, 10)
    mamba_radix_cache_strategy: str = "auto"
    mamba_ssm_dtype: str | None = None
    mamba_max_states_per_path: int = -1
    enable_int8_mamba_checkpoint: bool = False
    int8_mamba_ckpt_size: int | None = None
    enable_multimodal: bool | None = None
    environment: Mapping[str, str] = field(default_factory=dict)

    def attention_ranks(self, release: Release) -> tuple[int, int]:
        """Tensor-parallel and data-parallel ranks of attention."""
        if release.attn_dp == "attn_dp_size":
            replicas = self.attn_dp_size or (self.dp_size if self.enable_dp_attention else 1)
        else:
            replicas = self.dp_size if self.enable_dp_attention else 1
        if replicas < 1 or self.tp_size % replicas:
            raise UsageError(f"{self.tp_size} ranks cannot be split into {replicas} data-parallel groups")
        return self.tp_size // replicas, replicas

    def switch(self, name: str) -> bool:
        """Whether an environment variable is on, as the release reads booleans."""
        return self.environment.get(name, "").lower() in ("1", "true", "yes", "y", "t", "on")


_KINDS = {each.name: str(each.type) for each in fields(Flags) if each.name != "environment"}


def flags_from_arguments(words: Sequence[str], environment: Mapping[str, str] | None = None) -> Flags:
    """Read a server's command line; flags that take no memory are passed over. Raises UsageError."""
    found: dict[str, Any] = {}
    name = ""
    for word in words:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            name = known_name(name)
            found[name] = value if equals else True
        elif name:
            found[name] = word if found[name] is True else f"{found[name]} {word}"
    return flags_from(found, environment)


def known_name(name: str) -> str:
    """`tp` and `tensor-parallel-size` as `tp_size`, as the server calls it."""
    plain = name.replace("-", "_")
    return ALIASES.get(plain, plain)


def flags_from(values: Mapping[str, Any], environment: Mapping[str, str] | None = None) -> Flags:
    """Read flags by the server's names; other names are passed over. Raises NotCovered, or UsageError."""
    for name, off in _UNSERVED.items():
        if name in values and values[name] not in off:
            raise NotCovered(f"`--{name.replace('_', '-')}` brings pools of its own, which are not counted here")
    read = {name: _value(name, values[name]) for name in _KINDS if values.get(name) is not None}
    flags = replace(Flags(environment=dict(environment or {})), **read)
    _check(flags)
    return flags


def _value(name: str, value: Any) -> Any:
    kind, shown = _KINDS[name], name.replace("_", "-")
    if kind.startswith("bool"):
        if value in (True, False):
            return bool(value)
        raise UsageError(f"`--{shown}` takes no value")
    if kind.startswith("str"):
        return str(value)
    try:
        if isinstance(value, bool):
            raise ValueError
        return int(str(value)) if kind.startswith("int") else Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise UsageError(f"`--{shown}` needs a number, not `{str(value)[:40]}`") from None


def _check(flags: Flags) -> None:
    least = {
        "tp_size": 1,
        "page_size": 1,
        "max_total_tokens": 1,
        "max_running_requests": 1,
        "context_length": 1,
        "max_mamba_cache_size": 1,
        "int8_mamba_ckpt_size": 0,
        "int2_sink_tokens": 0,
        "int2_window_tokens": 0,
        "kv_cache_quant_group_size": 0,
    }
    for name, low in least.items():
        value = getattr(flags, name)
        if value is not None and not low <= value <= 1 << 40:
            raise UsageError(f"`--{name.replace('_', '-')} {value}` is out of range")
    if flags.mem_fraction_static is not None and not 0 < flags.mem_fraction_static < 1:
        raise UsageError(f"`--mem-fraction-static {float(flags.mem_fraction_static)}` is not between 0 and 1")
    if flags.mamba_full_memory_ratio <= 0:
        raise UsageError("`--mamba-full-memory-ratio` must be above 0")
    if flags.mamba_radix_cache_strategy not in STRATEGIES:
        raise UsageError(f"`--mamba-radix-cache-strategy {flags.mamba_radix_cache_strategy}` is not known")
