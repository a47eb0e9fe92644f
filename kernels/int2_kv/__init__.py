"""INT2 KV cache kernels: pack, unpack and attend over 2-bit keys and values. See docs/kernels.md."""

from .decode import decode
from .dequantize import load
from .features import UnsupportedFeature
from .layout import Int2Layout
from .prefill import extend, prefill
from .quantize import store
from .rotation import Rotation, RotationError, default_rotation, load_rotations
from .rows import RowTable

__all__ = [
    "Int2Layout",
    "Rotation",
    "RotationError",
    "RowTable",
    "UnsupportedFeature",
    "decode",
    "default_rotation",
    "extend",
    "load",
    "load_rotations",
    "prefill",
    "store",
]
