"""Kernel tests run on the card where there is one, else in Triton's interpreter on the CPU."""

from __future__ import annotations

import os
import sys
from pathlib import Path

try:
    import torch

    HAS_CARD = torch.cuda.is_available()
except ImportError:
    HAS_CARD = False

if not HAS_CARD:  # must be set before triton is imported for the first time
    os.environ["TRITON_INTERPRET"] = "1"

# The folder `kernels/`, so that `int2_kv` imports as it will inside SGLang; never its parent, which would make
# `kernels` importable.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "kernels"))
