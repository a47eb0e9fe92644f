"""The row: how one token's keys and values lie in memory."""

from __future__ import annotations

from dataclasses import dataclass

import torch

HEAD_DIMS = (64, 96, 128, 192, 256)
GROUPS = (32, 64, 128)
WHOLE_HEAD = 0
CODES_PER_WORD = 8
RECORD_CODES = 32
"""Code words of K (and of V) in a record, where there are heads enough: what one head of 256 channels has."""
MAX_ABS = 6000.0
"""Inputs saturate here, so that probability x scale stays finite in fp16 inside decode."""


@dataclass(frozen=True)
class Int2Layout:
    """Shape of a packed pool: `int16[slots, row_words]`, one row per token, all KV heads of a layer, no padding.

    A row is a sequence of records, one for each `record_heads` heads. A record holds, in words of 16 bits and head
    after head inside each part:

        k codes [k_dim/8] | v codes [v_dim/8] | k scale, k zero [k_groups each], v scale, v zero [v_groups each]

    Word `c` of a code block holds channel `j * dim/8 + c` at bits `2j, 2j+1`, j = 0…7: one mask then yields a run of
    `dim/8` neighbouring channels, and with `group` a multiple of `dim/8` every run lies in one group. Scale and zero
    are fp16; a channel is `zero + scale * code`, so zero is the value of code 0.
    Bytes per token and head: `D/4 + 4 * ceil(D/g)` for each of K and V, 160 at D = 256, g = 64. What one program of
    `decode` reads of a token is one record, because a random gather of 64-byte pieces reaches half the bandwidth of a
    copy; narrow heads share a record because their codes then start on a sector.

    `group` is 32, 64, 128 or `WHOLE_HEAD`; the last group of a head is shorter where `group` does not divide it.
    Raises `ValueError` for what is not served.
    """

    kv_heads: int
    k_dim: int
    v_dim: int
    group: int = 64

    def __post_init__(self) -> None:
        for name, dim in (("k_dim", self.k_dim), ("v_dim", self.v_dim)):
            if dim not in HEAD_DIMS:
                raise ValueError(f"`{name}` {dim} is not one of {HEAD_DIMS}")
        if self.group not in (WHOLE_HEAD, *GROUPS, self.k_dim, self.v_dim):
            raise ValueError(f"`group` {self.group} is not one of {GROUPS} or the head dimension")
        if self.kv_heads < 1:
            raise ValueError("`kv_heads` must be positive")

    @property
    def k_group(self) -> int:
        """Channels per group of K."""
        return min(self.group or self.k_dim, self.k_dim)

    @property
    def v_group(self) -> int:
        """Channels per group of V."""
        return min(self.group or self.v_dim, self.v_dim)

    @property
    def k_groups(self) -> int:
        """Groups per head of K."""
        return -(-self.k_dim // self.k_group)

    @property
    def v_groups(self) -> int:
        """Groups per head of V."""
        return -(-self.v_dim // self.v_group)

    @property
    def k_words(self) -> int:
        """Code words per head of K."""
        return self.k_dim // CODES_PER_WORD

    @property
    def v_words(self) -> int:
        """Code words per head of V."""
        return self.v_dim // CODES_PER_WORD

    @property
    def meta_words(self) -> int:
        """Scales and zeros per head."""
        return 2 * (self.k_groups + self.v_groups)

    @property
    def record_heads(self) -> int:
        """Heads of one record: as many as have 32 code words each of K and V together, in a power of two."""
        heads = 1
        while 2 * heads * max(self.k_words, self.v_words) <= RECORD_CODES and self.kv_heads % (2 * heads) == 0:
            heads *= 2
        return heads

    @property
    def record_words(self) -> int:
        """Words of one record."""
        return self.record_heads * (self.k_words + self.v_words + self.meta_words)

    @property
    def row_words(self) -> int:
        """Words per token."""
        return self.kv_heads // self.record_heads * self.record_words

    def parts(self, row: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """K codes, V codes and scales with zeros of `row[n, row_words]`.

        Views [n, kv_heads/record_heads, record_heads, …].
        """
        heads = self.record_heads
        records = row.unflatten(-1, (-1, self.record_words))
        k, v, meta = records.split([heads * self.k_words, heads * self.v_words, heads * self.meta_words], -1)
        return k.unflatten(-1, (heads, -1)), v.unflatten(-1, (heads, -1)), meta.unflatten(-1, (heads, -1))

    @property
    def bytes_per_token_head(self) -> int:
        """Bytes per token and head, K and V together."""
        return 2 * (self.k_words + self.v_words + self.meta_words)

    @property
    def bytes_per_token(self) -> int:
        """Bytes of one token in one layer."""
        return 2 * self.row_words

    def allocate(self, slots: int, device: torch.device | str) -> torch.Tensor:
        """A zeroed pool of `slots` tokens: `int16[slots, row_words]`."""
        return torch.zeros(slots, self.row_words, dtype=torch.int16, device=device)

    def check_pool(self, pool: torch.Tensor) -> None:
        """Raise `ValueError` unless `pool` has this layout and dense rows."""
        if pool.dtype != torch.int16 or pool.dim() != 2 or pool.shape[1] != self.row_words:
            raise ValueError(f"`pool` is {pool.dtype}{list(pool.shape)}, not int16[slots, {self.row_words}]")
        if pool.stride() != (self.row_words, 1):
            raise ValueError("`pool` rows must be dense")

    def constants(self, join: int = 1) -> dict[str, int]:
        """The layout as compile-time arguments of the kernels; `join` heads make one tile."""
        return {
            "KV_HEADS": self.kv_heads, "K_DIM": self.k_dim, "V_DIM": self.v_dim,
            "K_GROUP": self.k_group, "V_GROUP": self.v_group, "K_GROUPS": self.k_groups, "V_GROUPS": self.v_groups,
            "K_PAD": max(16, _power(join * self.k_words)), "V_PAD": max(16, _power(join * self.v_words)),
            "META": max(16, _power(join * self.meta_words)), "ROW": self.row_words,
            "TILE": self.record_heads, "RECORD": self.record_words,
        }  # fmt: skip

    def heads_per_tile(self, share: int) -> int:
        """KV heads that one decode program takes, for `share` query heads each: as many as fill its eight columns.

        Narrow heads then read and multiply like wide ones; at D = 128 and four query heads that is twice as fast.
        """
        join = 1
        while 2 * join * share <= 8 and 2 * join <= self.record_heads:
            join *= 2
        return join

    def tiles(self, share: int) -> int:
        """Decode programs that share a token: tiles of KV heads times eights of their `share` query heads."""
        return self.kv_heads // self.heads_per_tile(share) * -(-share // 8)


def _power(n: int) -> int:
    return 1 << (n - 1).bit_length()
