"""The shape of a model as far as memory goes, from its `config.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rebasekit.errors import StateError, UsageError

TYPES = {"float32": 4, "float": 4, "float16": 2, "half": 2, "bfloat16": 2, "bf16": 2}
"""Bytes of an element, by the names that configurations and flags use."""
_MOST = 1 << 24  # a hostile file must not make numbers that take minutes to multiply
_INTERVAL = 4  # full_attention_interval where a configuration leaves it out
_OTHER = {  # keys of models whose pools have other formulas
    "kv_lora_rank": "latent attention (MLA)",
    "linear_attn_config": "Kimi-style linear attention",
    "mamba_d_state": "Mamba layers",
    "mamba_num_heads": "Mamba layers",
    "ssm_state_size": "Mamba layers",
    "conv_L_cache": "short convolutions",
}


class NotCovered(UsageError):
    """The question makes sense, and the formulas for it are not here."""


@dataclass(frozen=True)
class Linear:
    """Gated-delta-net layers: heads of the whole model, channels of one head."""

    layers: int
    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    conv_kernel: int
    state_type: str = "float32"


@dataclass(frozen=True)
class Model:
    """Heads are those of the whole model, before ranks split them. `context` is the trained limit in tokens."""

    name: str
    attention_layers: int
    query_heads: int
    kv_heads: int
    head_dim: int
    v_head_dim: int
    context: int
    type: str = "bfloat16"
    linear: Linear | None = None
    multimodal: bool = False
    hidden: int = 0
    intermediate: int = 0

    def kv_heads_of(self, ranks: int) -> int:
        """KV heads on one of so many ranks; with fewer heads than ranks each keeps one."""
        return max(1, self.kv_heads // ranks)

    def activation_per_token(self, ranks: int) -> int:
        """About what a token of a chunk needs while a layer runs: a lower bound of what a larger chunk costs.

        The residual stream with its norms, and the widest of one layer's tensors, all in 16 bit.
        """
        attention = (2 * self.query_heads + 2 * self.kv_heads) * self.head_dim
        widest = max(3 * self.intermediate, attention, self._linear_channels())
        return 2 * (6 * self.hidden + -(-widest // ranks))

    def _linear_channels(self) -> int:
        if self.linear is None:
            return 0
        keys, values = self.linear.key_heads * self.linear.key_dim, self.linear.value_heads * self.linear.value_dim
        return 2 * (2 * keys + values) + 2 * values  # before and after the convolution, the gate, the output


def weights_in(folder: Path) -> int:
    """Bytes of the weight files in a folder, 0 when there are none: the whole model, not one rank's part."""
    return sum(path.stat().st_size for path in folder.glob("*.safetensors")) if folder.is_dir() else 0


def read_model(folder: Path) -> Model:
    """The model in a folder, or of a `config.json`; raise StateError when it cannot be read, NotCovered for a
    kind of model whose formulas are not here."""
    path = folder / "config.json" if folder.is_dir() else folder
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StateError(f"there is no `{path}`", hint="name the model's folder with --model DIR") from None
    except (OSError, ValueError, RecursionError) as error:
        raise StateError(f"`{path}` cannot be read: {error}") from None
    if not isinstance(data, dict):
        raise StateError(f"`{path}` is not a model's configuration")
    return model_of(data, str(folder))


def model_of(data: Mapping[str, Any], name: str) -> Model:
    """The same for a parsed configuration; vision-language models keep the text part in `text_config`."""
    text = data.get("text_config")
    config = text if isinstance(text, dict) else data
    for key, what in _OTHER.items():
        if config.get(key):
            raise NotCovered(f"`{name}` has {what} (`{key}`), whose sizes are not known here")
    kinds = _layer_kinds(config, name)
    odd = sorted(set(kinds) - {"linear_attention", "full_attention"})
    if odd or (config.get("sliding_window") and config.get("use_sliding_window", True)):
        raise NotCovered(f"`{name}` has {odd[0] if odd else 'sliding windows'}, whose sizes are not known here")
    heads = _number(config, "num_attention_heads", name)
    head_dim = _number(config, "head_dim", name, _number(config, "hidden_size", name, heads) // heads or 1)
    return Model(
        name=name,
        attention_layers=kinds.count("full_attention"),
        query_heads=heads,
        kv_heads=_number(config, "num_key_value_heads", name, heads),
        head_dim=head_dim,
        v_head_dim=_number(config, "v_head_dim", name, head_dim),
        context=_number(config, "max_position_embeddings", name),
        type=_type(config.get("dtype") or config.get("torch_dtype") or data.get("dtype") or "bfloat16", name),
        linear=_linear(config, kinds.count("linear_attention"), name),
        multimodal="vision_config" in data,
        hidden=_number(config, "hidden_size", name),
        intermediate=_number(config, "intermediate_size", name, 1),
    )


def _layer_kinds(config: Mapping[str, Any], name: str) -> list[str]:
    """What each layer is. The release counts by `full_attention_interval` alone, so the list has to agree with it."""
    layers = _number(config, "num_hidden_layers", name)
    listed = config.get("layer_types")
    if "linear_num_value_heads" not in config:
        return [str(kind) for kind in listed] if isinstance(listed, list) else ["full_attention"] * layers
    every = _number(config, "full_attention_interval", name, _INTERVAL)
    kinds = ["full_attention" if (layer + 1) % every == 0 else "linear_attention" for layer in range(layers)]
    if listed is not None and listed != kinds:
        raise UsageError(f"`{name}`: `layer_types` is not every {every}th layer, which is how a server counts them")
    return kinds


def _linear(config: Mapping[str, Any], layers: int, name: str) -> Linear | None:
    if layers == 0:
        return None
    return Linear(
        layers=layers,
        key_heads=_number(config, "linear_num_key_heads", name),
        value_heads=_number(config, "linear_num_value_heads", name),
        key_dim=_number(config, "linear_key_head_dim", name),
        value_dim=_number(config, "linear_value_head_dim", name),
        conv_kernel=_number(config, "linear_conv_kernel_dim", name),
        state_type=_type(config.get("mamba_ssm_dtype") or "float32", name),
    )


def _number(config: Mapping[str, Any], key: str, name: str, default: int | None = None) -> int:
    value = config.get(key)
    if value is None and default is not None:
        return default
    if type(value) is not int or not 1 <= value <= _MOST:
        raise UsageError(f"`{name}`: `{key}` must be a whole number above 0")
    return value


def _type(value: object, name: str) -> str:
    kind = str(value).removeprefix("torch.")
    if kind not in TYPES:
        raise UsageError(f"`{name}`: `{kind[:40]}` is no type of 16 or 32 bits")
    return kind
