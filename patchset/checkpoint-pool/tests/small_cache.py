"""A tiny hybrid cache from the real classes of one release: UnifiedRadixCache, full attention plus mamba, on CPU.

Needs the release's tree on sys.path (conftest.py puts it there). Written against what v0.5.19 to v0.5.23 share.
"""

from __future__ import annotations

import inspect
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from sglang.srt.configs.mamba_utils import Mamba2CacheParams, Mamba2StateShape
from sglang.srt.environ import envs
from sglang.srt.mem_cache.allocator import TokenToKVPoolAllocator
from sglang.srt.mem_cache.base_prefix_cache import EvictParams, InsertParams, MatchPrefixParams
from sglang.srt.mem_cache.cache_init_params import CacheInitParams
from sglang.srt.mem_cache.memory_pool import HybridLinearKVPool, HybridReqToTokenPool
from sglang.srt.mem_cache.radix_cache import RadixKey
from sglang.srt.mem_cache.registry import TreeCacheBuildContext, create_tree_cache
from sglang.srt.mem_cache.unified_cache.component_type import ComponentType
from sglang.srt.mem_cache.unified_radix_cache import UnifiedRadixCache
from sglang.srt.server_args import ServerArgs, set_global_server_args_for_scheduler

LINEAR_LAYERS = [0, 1, 2]
FULL_LAYERS = [3]
KV_TOKENS = 4096


def knows(argument: str) -> bool:
    return argument in inspect.signature(ServerArgs).parameters


def publish(thinning: bool = False, **arguments: Any) -> ServerArgs:
    """Make ``arguments`` the process's server arguments. A tree without the patch does not know thinning."""
    if knows("mamba_checkpoint_thinning"):
        arguments["mamba_checkpoint_thinning"] = thinning
    server_args = ServerArgs(model_path="dummy", page_size=1, **arguments)
    server_args._mamba_cache_chunk_size = 1  # otherwise read from the model's config.json
    set_global_server_args_for_scheduler(server_args)
    return server_args


def cache_params(layers: list[int] = LINEAR_LAYERS) -> Mamba2CacheParams:
    shape = Mamba2StateShape.create(
        tp_world_size=1, intermediate_size=64, n_groups=1, num_heads=2, head_dim=16, state_size=8, conv_kernel=4
    )
    return Mamba2CacheParams(shape=shape, layers=layers)


def state_pool(slots: int, extra_buffer: bool = False, **sizes: Any) -> HybridReqToTokenPool:
    arguments: dict[str, Any] = {
        "size": 8,
        "mamba_size": slots,
        "mamba_spec_state_size": 8,
        "max_context_len": KV_TOKENS,
        "device": "cpu",
        "enable_memory_saver": False,
        "cache_params": cache_params(),
        "mamba_layer_ids": LINEAR_LAYERS,
        "enable_mamba_extra_buffer": extra_buffer,
    }
    return HybridReqToTokenPool(**(arguments | sizes))


@dataclass
class SmallCache:
    """What one path of the tests needs: insert states at depths, ask which depths can be resumed."""

    cache: Any
    pool: Any
    allocator: Any
    server_args: ServerArgs
    params: CacheInitParams
    settle: Callable[[], object] = lambda: None

    @property
    def component(self) -> Any:
        return self.cache.components[ComponentType.MAMBA]

    @property
    def core(self) -> str:
        return type(self.cache.tree_core).__name__

    def insert(self, tokens: list[int]) -> None:
        """Put ``tokens`` into the tree with a state at their end, in the order of a request's chunk:
        match, lock, take a slot (this is where eviction happens), insert, unlock."""
        matched, node = self.match(tokens)
        reused = self.cache.tree_core.collect_full_device_indices(node, self.cache.root_node_handle())
        with self.locked(node):
            int8 = self.component.int8_ckpt_pool is not None
            slot = self.component._alloc_int8_ckpt_slot() if int8 else self.component._alloc_mamba_slot()
            fresh = self.allocator.alloc(len(tokens) - matched)
            assert fresh is not None, "the KV pool of the test is too small"
            result = self.cache.insert(
                InsertParams(
                    key=_key(tokens),
                    value=torch.cat([reused, fresh]),
                    mamba_value=slot,
                    prev_prefix_len=matched,
                )
            )
            if result.mamba_exist:
                self.component._free_mamba_value(slot)
        self.settle()

    @contextmanager
    def locked(self, node: Any) -> Iterator[None]:
        lock = self.cache.inc_lock_ref(node)
        yield
        self.cache.dec_lock_ref(node, lock.to_dec_params())

    def insert_path(self, tokens: list[int], depths: list[int]) -> None:
        for depth in depths:
            self.insert(tokens[:depth])

    def evict(self, states: int) -> None:
        self.cache.evict(EvictParams(mamba_num=states))
        self.settle()

    def match(self, tokens: list[int]) -> tuple[int, Any]:
        """How many leading tokens the device can reuse, and the node with their state. Touches the LRU list."""
        result = self.cache.match_prefix(MatchPrefixParams(key=_key(tokens)))
        length = getattr(result, "device_prefix_len", None)
        return (len(result.device_indices) if length is None else length), result.last_device_node

    def resumable(self, tokens: list[int]) -> list[int]:
        """The depths of ``tokens`` that hold a state. Touches the LRU list, so ask once, at the end."""
        return [depth for depth in range(1, len(tokens) + 1) if self.match(tokens[:depth])[0] == depth]

    def check(self) -> None:
        """The tree's own invariants, and no slot lost or held twice."""
        self.cache.sanity_check()
        store = self.pool.mamba_ckpt_pool or self.pool.mamba_allocator
        held = self.cache.all_mamba_values_flatten()
        free = (store.allocator if store is self.pool.mamba_ckpt_pool else store).free_slots
        slots = torch.cat([held.to(free.dtype), free])
        assert sorted(slots.tolist()) == list(range(1, len(slots) + 1)), "a state slot was lost or is held twice"


def small_cache(
    slots: int, core: str = "python", served: bool = False, sessions: bool = False, **arguments: Any
) -> SmallCache:
    """A cache with ``slots`` active state slots. ``served``: built as the scheduler does, guards included."""
    server_args = publish(**arguments)
    pool = state_pool(slots)
    kv = HybridLinearKVPool(
        size=KV_TOKENS,
        dtype=torch.bfloat16,
        page_size=1,
        head_num=1,
        head_dim=8,
        full_attention_layer_ids=FULL_LAYERS,
        device="cpu",
        enable_memory_saver=False,
        mamba_pool=pool.mamba_pool,
    )
    allocator = TokenToKVPoolAllocator(size=KV_TOKENS, dtype=torch.bfloat16, device="cpu", kvcache=kv, need_sort=False)
    params = CacheInitParams(
        disable=arguments.get("disable_radix_cache", False),
        req_to_token_pool=pool,
        token_to_kv_pool_allocator=allocator,
        page_size=1,
        tree_components=(ComponentType.FULL, ComponentType.MAMBA),
        enable_session_radix_cache=sessions,
    )
    with envs.SGLANG_UNIFIED_RADIX_TREE_CORE_BACKEND.override(core):
        cache = _served(server_args, params) if served else UnifiedRadixCache(params)
    return SmallCache(cache, pool, allocator, server_args, params)


def _served(server_args: ServerArgs, params: CacheInitParams) -> Any:
    context = {
        "server_args": server_args,
        "params": params,
        "is_hybrid_swa": False,
        "is_hybrid_ssm": True,
        "enable_hierarchical_cache": False,
        "disable_radix_cache": params.disable,
        "effective_chunked_prefill_size": 64,
        "tp_worker": None,
        "model_config": None,
        "tp_size": 1,
        "tp_rank": 0,
        "tp_group": None,
    }
    fields = inspect.signature(TreeCacheBuildContext).parameters
    return create_tree_cache(TreeCacheBuildContext(**{k: v for k, v in context.items() if k in fields}))


def _key(tokens: list[int]) -> RadixKey:
    return RadixKey(array("q", tokens))
