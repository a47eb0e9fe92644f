"""Which unpacked release these tests run on.

REBASEKIT_PATCHED_TREE   folder with `sglang/`, the series applied
REBASEKIT_PRISTINE_TREE  the same release as upstream ships it; needed by test_pristine.py only

Run, in an environment with checkpoint-pool/tests/requirements-cpu.txt (torch first, from PyPI's CPU build or any other):

    REBASEKIT_PATCHED_TREE=… REBASEKIT_PRISTINE_TREE=… python -m pytest patchset/int2-pool/tests

One release per process.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import stand_in

# SGLang's index kernels, and its 16-bit attention that int2 is compared with, run on the CPU in Triton's interpreter only.
os.environ["TRITON_INTERPRET"] = "1"
os.environ["HF_HUB_OFFLINE"] = "1"

PATCHED = os.environ.get("REBASEKIT_PATCHED_TREE")
PRISTINE = os.environ.get("REBASEKIT_PRISTINE_TREE")


def require() -> None:
    """Call before the first import of sglang in a test module."""
    if PATCHED is None:
        pytest.skip("REBASEKIT_PATCHED_TREE is not set", allow_module_level=True)
    if PATCHED not in sys.path:
        sys.path.insert(0, PATCHED)
        stand_in.install()
    import sglang

    found = Path(sglang.__file__).resolve()
    assert found.is_relative_to(Path(PATCHED).resolve()), f"sglang was imported from `{found}`, not from the tree"
