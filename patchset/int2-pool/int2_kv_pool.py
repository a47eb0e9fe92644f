"""A KV pool of 2-bit keys and values, with 16-bit rows for the first and the most recent tokens of each request."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch

from sglang.srt.constants import GPU_MEMORY_TYPE_KV_CACHE
from sglang.srt.layers.attention.int2_kv import Int2Layout, Rotation, RowTable, load, store
from sglang.srt.mem_cache.int2_kv_rows import SlotRows
from sglang.srt.mem_cache.memory_pool import KVCache, unwrap_write_loc


@dataclass(frozen=True)
class Int2Plan:
    """What the pool of one rank looks like, known before it is built. `int2_kv_budget.plan` makes it."""

    layout: Int2Layout
    sink: int
    window: int
    row_limit: int
    """Rows for all requests together; a pool with fewer slots has one for each slot."""
    dtype: torch.dtype
    """The model's type, in which rows are kept."""
    rotations: list[Rotation | None] = field(default_factory=list)
    """One for each layer of the pool."""

    @property
    def tables(self) -> bool:
        """Whether any token can have a row."""
        return self.row_limit > 0

    def rows(self, slots: int) -> int:
        """Rows of a pool of that many slots."""
        return min(self.row_limit, slots)

    def bytes_per_slot(self, layers: int) -> int:
        """One token: its records in all layers, and where its row is."""
        return layers * self.layout.bytes_per_token + (4 if self.tables else 0)

    def bytes_of_rows(self, layers: int, slots: int) -> int:
        """All rows of a pool of that many slots, with the tables that belong to rows."""
        rows = self.rows(slots)
        per_row = layers * self.layout.kv_heads * (self.layout.k_dim + self.layout.v_dim) * self.dtype.itemsize
        if rows == 0:
            return 0
        if rows == slots:
            return rows * per_row
        return (rows + 1) * (per_row + 16) + 8 * rows + 8


class Int2TokenToKVPool(KVCache):
    """Packed records, one for each slot and layer; every token is quantised when it is written.

    Not a ``MHATokenToKVPool``: there are no dense K and V buffers, and code that would read them must fail by name.
    """

    def __init__(
        self,
        size: int,
        page_size: int,
        dtype: torch.dtype,
        head_num: int,
        head_dim: int,
        layer_num: int,
        device: str,
        enable_memory_saver: bool,
        v_head_dim: int | None = None,
        start_layer: int | None = None,
        end_layer: int | None = None,
        post_capture_active: bool = False,
        allocation_label: str | None = None,
        *,
        plan: Int2Plan,
        **unused: Any,
    ) -> None:
        """Takes what the configurator gives to any MHA pool; ``plan`` is bound by `int2_kv_budget.pool_class`."""
        super().__init__(
            size, page_size, dtype, layer_num, device, enable_memory_saver, start_layer, end_layer, allocation_label
        )
        if post_capture_active:
            raise NotImplementedError("--kv-cache-dtype int2 does not serve post-capture KV sizing")
        if unused.get("quant_method") is not None:
            raise NotImplementedError("--kv-cache-dtype int2 does not take another quantisation method")
        layout = plan.layout
        if (head_num, head_dim) != (layout.kv_heads, layout.k_dim) or v_head_dim not in (None, layout.v_dim):
            raise ValueError(f"heads of {head_num} x {head_dim}/{v_head_dim} do not fit {layout}")
        self.plan = plan
        self.layout = layout
        self.head_num, self.head_dim, self.v_head_dim = head_num, head_dim, layout.v_dim
        self.impl = "torch" if torch.device(device).type == "cpu" else "triton"
        slots = size + page_size
        rows = plan.rows(slots)
        with self.memory_saver_adapter.region(GPU_MEMORY_TYPE_KV_CACHE):
            with torch.cuda.use_mem_pool(self.custom_mem_pool) if self.enable_custom_mem_pool else nullcontext():
                self.records = [layout.allocate(slots, device) for _ in range(layer_num)]
        # Outside the region: a row number that came back as garbage would be an address.
        self.slot_rows = SlotRows(slots, rows, plan.sink, plan.window, device) if rows else None
        stored = 0 if rows == 0 else rows if rows == slots else rows + 1
        self.k_rows = [self._zeros(stored, layout.k_dim) for _ in range(layer_num)]
        self.v_rows = [self._zeros(stored, layout.v_dim) for _ in range(layer_num)]
        self._finalize_allocation_log(size)

    def _zeros(self, rows: int, dim: int) -> torch.Tensor:
        return torch.zeros(rows, self.head_num, dim, dtype=self.plan.dtype, device=self.device)

    def get_kv_size_bytes(self) -> tuple[int, int]:
        """Everything that the pool holds, split between K and V; tables count with K."""
        slots = self.size + self.page_size
        records = sum(record.nbytes for record in self.records)
        k = self.layer_num * slots * self.head_num * 2 * (self.layout.k_words + 2 * self.layout.k_groups)
        rows = self.plan.bytes_of_rows(self.layer_num, slots) + (4 * slots if self.plan.tables else 0)
        v_rows = sum(part.nbytes for part in self.v_rows)
        return k + rows - v_rows, records - k + v_rows

    def get_v_head_dim(self) -> int:
        return self.v_head_dim

    def local(self, layer_id: int) -> int:
        return layer_id - self.start_layer

    def row_table(self, local: int) -> RowTable | None:
        """What attention needs to find 16-bit rows of a layer."""
        if self.slot_rows is None:
            return None
        rows = self.slot_rows
        return RowTable(rows.row_of_slot, self.k_rows[local], self.v_rows[local], rows.sink, rows.window)

    def set_kv_buffer(
        self,
        layer: Any,
        loc_info: Any,
        cache_k: torch.Tensor,
        cache_v: torch.Tensor,
        k_scale: Any = None,
        v_scale: Any = None,
        layer_id_override: int | None = None,
        dcp_kv_mask: torch.Tensor | None = None,
    ) -> None:
        """Quantise into the slots' records, and keep a copy where a slot has a row.

        Scales belong to fp8 pools; the values come unscaled and are stored as they are.
        """
        if dcp_kv_mask is not None:
            raise NotImplementedError("--kv-cache-dtype int2 does not serve decode context parallelism")
        loc, _, _ = unwrap_write_loc(loc_info)
        local = self.local(layer.layer_id) if layer_id_override is None else self.local(layer_id_override)
        cache_k = cache_k.view(-1, self.head_num, self.head_dim)
        cache_v = cache_v.view(-1, self.head_num, self.v_head_dim)
        store(
            cache_k, cache_v, loc, self.records[local], self.layout, rotation=self.plan.rotations[local], impl=self.impl
        )
        if self.slot_rows is not None:
            row = self.slot_rows.row_or_spare(loc.long())
            self.k_rows[local][row] = cache_k.to(self.plan.dtype)
            self.v_rows[local][row] = cache_v.to(self.plan.dtype)

    def load(self, layer_id: int, slots: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """K and V of some slots as attention sees them without rows: dequantised and rotated back, in the model's type."""
        local = self.local(layer_id)
        k, v = load(self.records[local], slots, self.layout, torch.float32, impl=self.impl)
        rotation = self.plan.rotations[local]
        if rotation is not None:
            k, v = k @ rotation.k.T, v @ rotation.v.T
        return k.to(self.plan.dtype), v.to(self.plan.dtype)

    def move_kv_cache(self, tgt_loc: torch.Tensor, src_loc: torch.Tensor) -> None:
        """Records move; the targets are read packed until they are written again."""
        for records in self.records:
            records[tgt_loc] = records[src_loc]
        self._restored(tgt_loc)

    def get_cpu_copy(self, indices: torch.Tensor, *unused: Any, **unused_too: Any) -> list[torch.Tensor]:
        return [records[indices].cpu() for records in self.records]

    def load_cpu_copy(
        self, kv_cache_cpu: list[torch.Tensor], indices: torch.Tensor, *unused: Any, **unused_too: Any
    ) -> None:
        for records, copy in zip(self.records, kv_cache_cpu, strict=True):
            records[indices] = copy.to(records.device)
        self._restored(indices)

    def _restored(self, slots: torch.Tensor) -> None:
        """Slots whose records changed without their rows."""
        if self.slot_rows is None:
            return
        if self.slot_rows.every_slot:
            for layer in range(self.layer_num):
                k, v = self.load(layer + self.start_layer, slots)
                self.k_rows[layer][slots], self.v_rows[layer][slots] = k, v
        else:
            self.slot_rows.release(slots.long())

    def get_key_buffer(self, layer_id: int) -> torch.Tensor:
        raise NotImplementedError("an int2 KV pool has no dense key buffer; only the triton attention backend reads it")

    def get_value_buffer(self, layer_id: int) -> torch.Tensor:
        raise NotImplementedError(
            "an int2 KV pool has no dense value buffer; only the triton attention backend reads it"
        )

    def get_kv_buffer(self, layer_id: int) -> tuple[torch.Tensor, torch.Tensor]:
        raise NotImplementedError("an int2 KV pool has no dense KV buffers; only the triton attention backend reads it")
