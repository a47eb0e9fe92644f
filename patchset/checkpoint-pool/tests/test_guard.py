"""Thinning that would silently not happen fails at start, through the door that serving uses: create_tree_cache."""

from __future__ import annotations

import pytest
import tree

tree.require()

from small_cache import small_cache

NEEDS_PYTHON = "--mamba-checkpoint-thinning needs the Python tree core"


def needs_rust() -> None:
    if not tree.has_rust_core():
        pytest.skip("this tree has no Rust core extension")


@pytest.mark.differs
def test_thinning_with_the_rust_core_fails_at_start() -> None:
    needs_rust()
    with pytest.raises(ValueError, match=f"{NEEDS_PYTHON}.*RustUnifiedTreeCore.*BACKEND=python"):
        small_cache(8, core="rust", served=True, thinning=True)


def test_thinning_with_the_python_core_starts() -> None:
    small = small_cache(8, served=True, thinning=True)
    assert small.core == "UnifiedTreeCore"
    assert small.component.checkpoint_thinning is not None


@pytest.mark.parametrize("core", ["python", "rust"])
def test_without_thinning_both_cores_start(core: str) -> None:
    if core == "rust":
        needs_rust()
    small = small_cache(8, core=core, served=True)
    assert small.core == {"python": "UnifiedTreeCore", "rust": "RustUnifiedTreeCore"}[core]
    assert getattr(small.component, "checkpoint_thinning", None) is None


@pytest.mark.differs
def test_thinning_without_a_radix_cache_fails_at_start() -> None:
    """v0.5.19 builds a ChunkCache then, v0.5.22 a disabled UnifiedRadixCache."""
    with pytest.raises(ValueError, match=NEEDS_PYTHON):
        small_cache(8, served=True, thinning=True, disable_radix_cache=True)


def test_a_component_that_skips_our_init_is_refused_not_broken() -> None:
    """MlxAuxiliaryStateComponent inherits the eviction without MambaComponent.__init__."""
    small = small_cache(8, thinning=True)
    del small.component.checkpoint_thinning  # what such a component has: the class's default
    assert small.component.checkpoint_thinning is None
    small.insert_path(list(range(100)), [2, 4, 6])
    small.evict(1)
    assert small.resumable(list(range(6))) == [4, 6]

    from sglang.srt.mem_cache.mamba_checkpoint_guard import require_thinning_core

    with pytest.raises(ValueError, match="keeps no mamba states that can be thinned"):
        require_thinning_core(small.cache)
