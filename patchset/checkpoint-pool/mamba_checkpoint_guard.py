"""Refuse to start when mamba checkpoint thinning was asked for and would silently not happen."""

from __future__ import annotations

from typing import Any

from sglang.srt.mem_cache.unified_cache.component_type import ComponentType
from sglang.srt.mem_cache.unified_cache.unified_tree_core import UnifiedTreeCore
from sglang.srt.runtime_context import get_exec


def require_thinning_core(cache: Any) -> None:
    """Fail when ``--mamba-checkpoint-thinning`` is on and ``cache`` would silently not do it.

    Asks the built cache, not the environment: the Rust backend falls back to the Python one on some
    machines, and other caches have no tree core at all.
    """
    if not get_exec().mamba.mamba_checkpoint_thinning:
        return
    core = getattr(cache, "tree_core", None)
    component = getattr(cache, "components", {}).get(ComponentType.MAMBA)
    if getattr(cache, "disable", False):
        found = "the radix cache is disabled"
    elif core is None:
        found = f"the tree cache is {type(cache).__name__}"
    elif not isinstance(core, UnifiedTreeCore):
        found = f"the tree core is {type(core).__name__}; set SGLANG_UNIFIED_RADIX_TREE_CORE_BACKEND=python"
    elif getattr(component, "checkpoint_thinning", None) is None:
        found = "this model's cache keeps no mamba states that can be thinned"
    else:
        return
    raise ValueError(f"--mamba-checkpoint-thinning needs the Python tree core of the unified radix cache, but {found}.")
