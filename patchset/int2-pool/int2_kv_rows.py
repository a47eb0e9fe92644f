"""Which tokens of an INT2 pool also stand in 16 bit: the first and the most recent of every running request.

A row belongs to a slot, not to a request. Requests that share a prefix share its rows, a finished request's rows stay with its cached
tokens until they are needed elsewhere, and a slot that is written anew loses its row first. So no order of frees, hits and evictions
can show a request another token's row; at worst a token has none, and is read packed.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch


class SlotRows:
    """Hands out ``rows`` rows to slots; what no request needs goes first, least recently used before others.

    ``plan_decode`` and ``plan_extend`` run once per batch, before its first layer. A decode plan uses fixed shapes, no host
    synchronisation and no Python state, so that it may itself be captured into a CUDA graph. Slot 0 is where padding is written; it
    never gets a row.

    Who is running is not known here, and need not be: a request's place in the table is its own until another request is planned
    there. As many places as there are rows for, those that were planned last, therefore keep their claim to ``sink + window`` rows,
    so a pause for somebody's long prefill costs a request nothing. Places are taken in turn, and there may be thousands: without
    that bound the claims of requests that ended long ago would stand beside those of the running ones.
    """

    def __init__(self, slots: int, rows: int, sink: int, window: int, device: torch.device | str) -> None:
        self.rows = rows
        self.sink = sink
        self.window = window
        self.every_slot = rows >= slots > 0
        """As many rows as slots: row and slot are the same number, and there is nothing to plan."""
        if self.every_slot:
            self.row_of_slot = torch.arange(slots, dtype=torch.int32, device=device)
            return
        self.row_of_slot = torch.full((slots,), -1, dtype=torch.int32, device=device)
        # One more than there are rows: where writes for tokens without a row go.
        self.slot_of_row = torch.zeros(rows + 1, dtype=torch.int64, device=device)
        self.last_used = torch.zeros(rows + 1, dtype=torch.int64, device=device)
        self.clock = torch.zeros((), dtype=torch.int64, device=device)
        self.order = torch.arange(rows, dtype=torch.int64, device=device)
        self.claims = max(rows // max(sink + window, 1), 1)
        # Length of the request in each place of the table, and when it was planned; one more for padding. The table comes
        # with the first plan.
        self.lengths = torch.zeros(0, dtype=torch.int64, device=device)
        self.planned = torch.zeros(0, dtype=torch.int64, device=device)

    @property
    def spare(self) -> int:
        """The row that holds nothing."""
        return self.rows

    def row_or_spare(self, slots: torch.Tensor) -> torch.Tensor:
        """Row of each slot, int64; the spare row where there is none."""
        row = self.row_of_slot[slots]
        return row.long() if self.every_slot else torch.where(row < 0, self.spare, row).long()

    def plan_decode(
        self, table: torch.Tensor, requests: torch.Tensor, lengths: torch.Tensor, written: torch.Tensor
    ) -> None:
        """One new token for each request: ``written`` slots, ``lengths`` with the new token."""
        if self.every_slot or self.rows == 0:
            return
        batch = min(written.shape[0], lengths.shape[0])
        written, lengths, requests = written[:batch].long(), lengths[:batch].long(), requests[:batch].long()
        self._begin(table, written)
        self._note(torch.where(written > 0, requests, table.shape[0]), lengths)
        self._touch_all(table)
        self._give(written if self.window else torch.where(lengths <= self.sink, written, 0))

    def plan_extend(
        self, table: torch.Tensor, requests: torch.Tensor, written: torch.Tensor,
        prefix_lens: Sequence[int], chunk_lens: Sequence[int],
    ) -> None:  # fmt: skip
        """Chunks laid end to end in ``written``, each behind a prefix that is in the pool already."""
        if self.every_slot or self.rows == 0:
            return
        written, requests = written.long(), requests[: len(prefix_lens)].long()
        self._begin(table, written)
        lengths = torch.tensor([prefix_lens, chunk_lens], dtype=torch.int64, device=table.device)
        real = torch.where(lengths[1] > 0, requests, table.shape[0])
        self._note(real, lengths.sum(0))
        # The chunk reads its prefix's window once more, though it is about to leave: keep it if others do not need the rows.
        self._touch(table, requests, lengths[0], 0)
        self._touch_all(table)
        wanted: list[int] = []
        start = 0
        for prefix, chunk in zip(prefix_lens, chunk_lens, strict=True):
            sinks = min(max(self.sink - prefix, 0), chunk)
            recent = max(chunk - self.window, sinks)
            wanted += range(start, start + sinks)
            wanted += range(start + recent, start + chunk)
            start += chunk
        if wanted:
            self._give(written[torch.tensor(wanted[-self.rows :], device=written.device)])

    def release(self, slots: torch.Tensor) -> None:
        """Forget the rows of slots whose content goes."""
        if self.every_slot or self.rows == 0:
            return
        row = self.row_or_spare(slots)
        self.row_of_slot[slots] = -1
        self.slot_of_row[row] = 0
        self.last_used[row] = 0

    def _begin(self, table: torch.Tensor, written: torch.Tensor) -> None:
        if self.lengths.shape[0] != table.shape[0] + 1:
            self.lengths = torch.zeros(table.shape[0] + 1, dtype=torch.int64, device=table.device)
            self.planned = torch.zeros_like(self.lengths)
        self.clock += 3
        self.release(written)

    def _note(self, places: torch.Tensor, lengths: torch.Tensor) -> None:
        self.lengths[places] = lengths
        self.planned[places] = self.clock

    def _touch_all(self, table: torch.Tensor) -> None:
        """Mark what the requests that were planned last may still read."""
        places = torch.arange(table.shape[0], device=table.device)
        if self.claims < table.shape[0]:
            # No two keys are equal here either.
            places = (self.planned[:-1] * table.shape[0] + places).topk(self.claims).indices
        self._touch(table, places, self.lengths[places], 1)

    def _touch(self, table: torch.Tensor, requests: torch.Tensor, lengths: torch.Tensor, weight: int) -> None:
        width = table.shape[1]
        nth = torch.arange(min(self.sink + self.window, width), device=table.device)
        lengths = lengths[:, None]
        first = lengths.clamp(max=self.sink)
        recent = torch.maximum(lengths - self.window, first)
        position = torch.where(nth < first, nth, recent + nth - first)
        # What a place said may be gone: a server that was put to sleep wakes with any bytes in the table.
        slots = table[requests[:, None], position.clamp(max=width - 1)].long().clamp(0, self.row_of_slot.shape[0] - 1)
        self.last_used[self.row_or_spare(torch.where(position < lengths, slots, 0))] = self.clock + weight

    def _give(self, slots: torch.Tensor) -> None:
        """Give each slot (0: none) the row that is needed least; whoever had it is read packed from now on."""
        slots = slots[: self.rows]
        # No two keys are equal: ranks that hold the same state choose the same rows.
        age = self.last_used[: self.rows] * self.rows + self.order
        least = age.topk(slots.shape[0], largest=False).indices
        real = slots > 0
        row = torch.where(real, least[(real.cumsum(0) - 1).clamp(min=0)], self.spare)
        self.row_of_slot[self.slot_of_row[row]] = -1
        self.row_of_slot[slots] = row.int()
        self.row_of_slot[:1] = -1
        self.slot_of_row[row] = slots
        self.last_used[row] = torch.where(real, self.clock + 2, 0)
