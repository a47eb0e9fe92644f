"""What one token of KV cache takes on one rank, for each type, and the 16-bit rows of the 2-bit pool."""

from __future__ import annotations

from dataclasses import dataclass

from rebasekit.errors import UsageError
from rebasekit.probes.capacity.flags import Flags
from rebasekit.probes.capacity.model import TYPES, Model, NotCovered

INT2 = "int2"
_FP8 = ("fp8_e4m3", "fp8_e5m2")
_INT2_DIMS = (64, 96, 128, 192, 256)
_INT2_GROUPS = (0, 32, 64, 128)
_ROW_REQUESTS = 64  # rows are kept for so many requests at most


@dataclass(frozen=True)
class Cell:
    """One token in all attention layers of one rank.

    `row` is what a 16-bit row adds (0 without rows), `row_limit` how many rows there are for all requests together.
    """

    kind: str
    bytes: int
    row: int = 0
    row_limit: int = 0

    def rows_bytes(self, slots: int) -> int:
        """All rows of a pool of so many slots, with the tables that belong to them."""
        rows = min(self.row_limit, slots)
        if rows <= 0:
            return 0
        return rows * self.row if rows == slots else (rows + 1) * (self.row + 16) + 8 * rows + 8

    def tokens(self, available: int, page: int) -> int:
        """Tokens that fit into so many bytes, in whole pages."""
        if self.kind != INT2:
            return max(available, 0) // self.bytes // page * page
        tokens = (available - self.rows_bytes(self.row_limit + 1)) // self.bytes - page
        if tokens + page <= self.row_limit:  # then every slot has a row
            tokens = min(available // (self.bytes + self.row), self.row_limit) - page
        return max(tokens, 0) // page * page

    def pool_bytes(self, tokens: int, page: int) -> int:
        """What a pool for so many tokens takes, with the page that takes padding."""
        return (tokens + page) * self.bytes + self.rows_bytes(tokens + page)


def dense_bytes(model: Model, ranks: int, tokens: int) -> int:
    """One 16-bit copy of a prefix in one layer, K and V: what a prefill that expands a packed prefix needs at once."""
    return tokens * model.kv_heads_of(ranks) * (model.head_dim + model.v_head_dim) * 2


def cell_of(model: Model, flags: Flags, ranks: int, *, kind: str = "", requests: int = _ROW_REQUESTS) -> Cell:
    """One token of `kind` (default: the flags' own); `requests` are those that rows are kept for.

    Raises UsageError for a type whose cell is not known, and for what the 2-bit pool does not serve.
    """
    kind = kind or flags.kv_cache_dtype
    heads = model.kv_heads_of(ranks)
    channels = model.attention_layers * heads * (model.head_dim + model.v_head_dim)
    if kind == INT2:
        return _int2(model, flags, heads, requests)
    if kind == "auto":
        kind = flags.dtype
        if kind == "auto":  # the server halves models that were saved in 32 bits
            kind = "float16" if model.type in ("float32", "float") else model.type
    if kind in _FP8:
        return Cell(kind, channels)
    if kind not in TYPES:
        raise NotCovered(f"`--kv-cache-dtype {kind[:40]}` is not known here")
    return Cell(kind, channels * TYPES[kind])


def _int2(model: Model, flags: Flags, heads: int, requests: int) -> Cell:
    group = flags.kv_cache_quant_group_size
    for dim in (model.head_dim, model.v_head_dim):
        if dim not in _INT2_DIMS:
            raise UsageError(f"int2 does not serve heads of {dim} channels")
        if group not in (*_INT2_GROUPS, model.head_dim, model.v_head_dim):
            raise UsageError(f"`--kv-cache-quant-group-size {group}` is none of 0, 32, 64, 128")
    codes = sum(dim // 4 + 4 * -(-dim // min(group or dim, dim)) for dim in (model.head_dim, model.v_head_dim))
    context = flags.context_length or model.context
    kept = min(min(flags.int2_sink_tokens, context) + min(flags.int2_window_tokens, context), context)
    limit = (min(requests, _ROW_REQUESTS) + 1) * kept
    row = model.attention_layers * heads * (model.head_dim + model.v_head_dim) * 2 if limit else 0
    return Cell(INT2, model.attention_layers * heads * codes + (4 if limit else 0), row, limit)
