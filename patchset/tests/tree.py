"""Which unpacked release the patches' tests run on.

REBASEKIT_PATCHED_TREE   folder with `sglang/`, the series applied
REBASEKIT_PRISTINE_TREE  the same release as upstream ships it; needed by test_pristine.py only

Run one patch's at a time, in an environment with requirements-cpu.txt (torch first, from PyPI's CPU build or any other):

    REBASEKIT_PATCHED_TREE=… REBASEKIT_PRISTINE_TREE=… python -m pytest patchset/int2-pool/tests

One release per process. The trees need the wheel's `.so` files, or the Rust core's tests are skipped, and say so.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import stand_in

os.environ["HF_HUB_OFFLINE"] = "1"

PATCHED = os.environ.get("REBASEKIT_PATCHED_TREE")
PRISTINE = os.environ.get("REBASEKIT_PRISTINE_TREE")


def require() -> None:
    """Call before the first import of sglang in a test module."""
    if PATCHED is None:
        pytest.skip("REBASEKIT_PATCHED_TREE is not set", allow_module_level=True)
    if PATCHED not in sys.path:  # an installation is on it
        sys.path.insert(0, PATCHED)
    stand_in.install()
    import sglang

    found = Path(sglang.__file__).resolve()
    assert found.is_relative_to(Path(PATCHED).resolve()), f"sglang was imported from `{found}`, not from the tree"


def has_rust_core() -> bool:
    """A tree without the extension falls back to the Python core without a word (v0.5.21) or raises (v0.5.19)."""
    return any(Path(PATCHED or "", "sglang/srt/mem_cache/rust_tree_core").glob("mem_cache*.so"))
