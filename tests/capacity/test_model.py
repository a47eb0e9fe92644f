"""Models from their configuration, flags from command lines, sizes, and what is wrong with each."""

from __future__ import annotations

import json

import pytest

from rebasekit.errors import StateError, UsageError
from rebasekit.model.size import parse_size, size
from rebasekit.probes.capacity import flags_from_arguments
from rebasekit.probes.capacity.model import model_of, read_model, weights_in

from .figures import TINY


def test_a_hybrid_model_from_its_configuration():
    found = model_of(TINY, "tiny")
    assert (found.attention_layers, found.kv_heads, found.head_dim, found.v_head_dim) == (1, 2, 32, 32)
    assert found.linear is not None
    assert (found.linear.layers, found.linear.key_heads, found.linear.value_heads) == (2, 2, 4)
    assert (found.linear.state_type, found.type, found.context, found.multimodal) == ("float32", "float16", 4096, False)


def test_a_model_that_sees_keeps_its_text_part_apart():
    found = model_of({"architectures": ["X"], "vision_config": {}, "text_config": TINY}, "seeing")
    assert found.multimodal and found.linear == model_of(TINY, "tiny").linear


def test_a_dense_model_without_what_can_be_derived():
    data = {
        "hidden_size": 64,
        "num_attention_heads": 4,
        "num_hidden_layers": 3,
        "max_position_embeddings": 128,
        "torch_dtype": "bfloat16",
    }
    found = model_of(data, "dense")
    assert (found.attention_layers, found.kv_heads, found.head_dim, found.linear) == (3, 4, 16, None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_hidden_layers": 0}, "`num_hidden_layers` must be a whole number above 0"),
        ({"num_attention_heads": "4"}, "`num_attention_heads` must be"),
        ({"num_key_value_heads": True}, "`num_key_value_heads` must be"),
        ({"hidden_size": 10**30}, "`hidden_size` must be"),
        ({"linear_conv_kernel_dim": None}, "`linear_conv_kernel_dim` must be"),
        ({"kv_lora_rank": 512}, "latent attention"),
        ({"mamba_num_heads": 8}, "Mamba layers"),
        ({"sliding_window": 128}, "sliding windows"),
        ({"dtype": "int8"}, "no type"),
        ({"layer_types": ["full_attention"] * 3}, "every 3th layer"),
        ({"full_attention_interval": 4}, "every 4th layer"),
    ],
)
def test_what_is_not_known_is_said_by_name(change, message):
    with pytest.raises(UsageError, match=message):
        model_of({**TINY, **change}, "tiny")


def test_models_on_disk(tmp_path):
    with pytest.raises(StateError, match="there is no"):
        read_model(tmp_path)
    (tmp_path / "config.json").write_text("[1]")
    with pytest.raises(StateError, match="not a model's configuration"):
        read_model(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(StateError, match="cannot be read"):
        read_model(tmp_path)
    (tmp_path / "config.json").write_text("[" * 100_000)
    with pytest.raises(StateError):
        read_model(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(TINY))
    (tmp_path / "a.safetensors").write_bytes(b"x" * 100)
    assert read_model(tmp_path).linear == read_model(tmp_path / "config.json").linear
    assert (weights_in(tmp_path), weights_in(tmp_path / "config.json")) == (100, 0)


def test_flags_as_people_write_them():
    words = "--tp-size 2 --kv-cache-dtype=int2 --host localhost --disable-radix-cache --lora-paths a b"
    found = flags_from_arguments([*words.split(), "--mem-fraction-static", ".9"])
    assert (found.tp_size, found.kv_cache_dtype, found.disable_radix_cache) == (2, "int2", True)
    assert str(found.mem_fraction_static) == "9/10"
    assert flags_from_arguments(["--tp", "4", "--tensor-parallel-size", "8"]).tp_size == 8


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--disable-radix-cache yes", "takes no value"),
        ("--tp", "needs a number"),
        ("--tp two", "needs a number, not `two`"),
        ("--mem-fraction-static 1/0", "needs a number"),
        ("--max-total-tokens -5", "out of range"),
        ("--disaggregation-mode prefill", "--disaggregation-mode"),
        ("--mamba-full-memory-ratio 0", "above 0"),
    ],
)
def test_flags_that_cannot_be_meant(words, message):
    with pytest.raises(UsageError, match=message):
        flags_from_arguments(words.split())


@pytest.mark.parametrize(
    ("text", "count"),
    [("12 GiB", 12 << 30), ("11.4GiB", (114 * (1 << 30) // 10)), ("575 MB", 575_000_000), ("17", 17), ("1kb", 1000)],
)
def test_sizes(text, count):
    assert parse_size(text) == count


@pytest.mark.parametrize("text", ["", "GiB", "-1 GiB", "1 TiB2", "1e3 GiB", "9" * 60, "1 GiB 2", "2000000 GiB"])
def test_what_is_no_size(text):
    with pytest.raises(ValueError):
        parse_size(text)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (5124, "5124 B"),
        (20_643_840, "19.7 MiB"),
        (12 << 30, "12.0 GiB"),
        (1 << 30, "1.00 GiB"),
        (500 << 20, "500 MiB"),
    ],
)
def test_sizes_for_people(count, text):
    assert size(count) == text
