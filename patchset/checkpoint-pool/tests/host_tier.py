"""A host tier (HiCache) for a SmallCache on a machine without CUDA: the real controller, no bytes copied.

What is replaced: the pinning of host memory, and the copy engine, whose transfers are done at once.
"""

from __future__ import annotations

import atexit
from types import SimpleNamespace

import pytest
import torch
from sglang.srt.mem_cache import l2_transfer
from small_cache import SmallCache


class _Done:
    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        pass


def flags(policy: str) -> dict[str, object]:
    """Server arguments for small_cache; ``policy`` is write_back or write_through."""
    return {
        "hicache_io_backend": "direct",
        "hicache_mem_layout": "page_first_direct",
        "hicache_write_policy": policy,
        "hicache_ratio": 2.0,
    }


def attach(small: SmallCache, monkeypatch: pytest.MonkeyPatch) -> None:
    cudart = SimpleNamespace(cudaHostRegister=lambda *_: 0, cudaHostUnregister=lambda *_: 0)
    monkeypatch.setattr(torch.cuda, "cudart", lambda: cudart)
    done = l2_transfer.TransferCompletion(_Done(), _Done(), False)
    monkeypatch.setattr(l2_transfer.L2TransferEngine, "submit_device_to_host", lambda self, transfers: done)
    small.cache.init_hicache(small.server_args, small.params)
    atexit.unregister(small.cache.shutdown)
    small.cache.write_through_threshold = 1
    small.settle = small.cache.check_hicache_events  # acknowledges the copies, which releases their locks
