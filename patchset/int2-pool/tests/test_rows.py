"""Which slots have a 16-bit row: random traffic against a plain record of who wrote what."""

from __future__ import annotations

import random
from typing import Any

import pytest
import tree

tree.require()

import torch
from torch.utils._python_dispatch import TorchDispatchMode

rows_module = pytest.importorskip("sglang.srt.mem_cache.int2_kv_rows", reason="not in this tree")
SlotRows = rows_module.SlotRows

WIDTH = 48


class Traffic:
    """Requests that start, hit each other's prefixes, decode and leave, on one table; every written token has a value of its own."""

    def __init__(self, seed: int, slots: int, rows: int, sink: int, window: int) -> None:
        self.random = random.Random(seed)
        self.rows = SlotRows(slots, rows, sink, window, "cpu")
        self.free = list(range(1, slots))
        self.table = torch.zeros(8, WIDTH, dtype=torch.int32)
        self.running: dict[int, list[int]] = {}
        self.cached: list[list[int]] = []
        self.content = torch.zeros(slots, dtype=torch.int64)
        self.in_row = torch.zeros(self.rows.rows + 1, dtype=torch.int64)
        self.next_value = 1

    def take(self, count: int) -> list[int]:
        """Fresh slots; cached prefixes make room, oldest first."""
        while len(self.free) < count and self.cached:
            gone = self.cached.pop(0)
            held = {s for r in self.running.values() for s in r} | {s for c in self.cached for s in c}
            self.free += [slot for slot in gone if slot not in held]
        self.random.shuffle(self.free)
        taken, self.free = self.free[:count], self.free[count:]
        return taken if len(taken) == count else []

    def write(self, slots: torch.Tensor) -> None:
        """What set_kv_buffer does, with a number for a tensor."""
        values = torch.arange(self.next_value, self.next_value + len(slots))
        self.next_value += len(slots)
        self.content[slots] = values
        self.in_row[self.rows.row_or_spare(slots)] = values

    def start(self, request: int) -> None:
        hit = (
            list(self.random.choice(self.cached))[: self.random.randrange(1, 20)]
            if self.cached and self.random.random() < 0.6
            else []
        )
        fresh = self.take(self.random.randrange(1, 24))
        if not fresh:
            return
        slots = hit + fresh
        self.running[request] = slots
        self.table[request, : len(slots)] = torch.tensor(slots)
        written = torch.tensor(fresh)
        self.rows.plan_extend(self.table, torch.tensor([request]), written, [len(hit)], [len(fresh)])
        self.write(written)

    def chunk(self, request: int) -> None:
        """The next part of a long prompt, without the other requests."""
        slots = self.running[request]
        fresh = self.take(min(self.random.randrange(1, 12), WIDTH - len(slots)))
        if not fresh:
            return
        before = len(slots)
        slots += fresh
        self.table[request, : len(slots)] = torch.tensor(slots)
        self.rows.plan_extend(self.table, torch.tensor([request]), torch.tensor(fresh), [before], [len(fresh)])
        self.write(torch.tensor(fresh))

    def step(self) -> None:
        moving = [r for r, slots in self.running.items() if len(slots) < WIDTH]
        fresh = self.take(len(moving))
        if not moving or not fresh:
            return
        for request, slot in zip(moving, fresh, strict=True):
            self.table[request, len(self.running[request])] = slot
            self.running[request].append(slot)
        padding = self.random.randrange(3)
        lengths = [len(self.running[r]) for r in moving] + [1] * padding
        written = torch.tensor(fresh + [0] * padding)
        self.rows.plan_decode(self.table, torch.tensor(moving + [0] * padding), torch.tensor(lengths), written)
        self.write(written)

    def leave(self) -> None:
        if self.running:
            request = self.random.choice(sorted(self.running))
            self.cached.append(self.running.pop(request))

    def check(self) -> None:
        row_of_slot = self.rows.row_of_slot
        assert row_of_slot[0] == -1
        slots = (row_of_slot >= 0).nonzero().flatten()
        row = row_of_slot[slots].long()
        assert len(set(row.tolist())) == len(row), "two slots share a row"
        assert torch.equal(self.rows.slot_of_row[row], slots), "a row and its slot disagree"
        assert torch.equal(self.in_row[row], self.content[slots]), "a slot would be read with another token's row"

    def complete(self) -> bool:
        """Whether every sink and window token of every running request has a row."""
        for slots in self.running.values():
            for position, slot in enumerate(slots):
                near = position < self.rows.sink or position >= len(slots) - self.rows.window
                if near and self.rows.row_of_slot[slot] < 0:
                    return False
        return True


def play(traffic: Traffic, steps: int = 120) -> None:
    for _ in range(steps):
        idle = [r for r in range(1, 5) if r not in traffic.running]
        what = traffic.random.random()
        if idle and what < 0.3:
            traffic.start(traffic.random.choice(idle))
        elif what < 0.42:
            traffic.leave()
        elif what < 0.55 and traffic.running:
            traffic.chunk(traffic.random.choice(sorted(traffic.running)))
        else:
            traffic.step()
        traffic.check()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("sink", "window"), [(4, 6), (0, 5), (5, 0), (1, 1)])
@pytest.mark.parametrize("rows", [3, 11, 60])
def test_no_slot_is_ever_read_with_another_tokens_row(seed: int, sink: int, window: int, rows: int) -> None:
    """Frees, hits and reuse in any order, and far too few rows among the sizes."""
    play(Traffic(seed, 90, rows, sink, window))


@pytest.mark.parametrize("seed", range(6))
def test_with_a_row_for_each_no_request_loses_its_own(seed: int) -> None:
    """Four requests, sink + window rows for each. All tokens near the ends have theirs, whatever the others do meanwhile."""
    sink, window = 4, 6
    traffic = Traffic(seed, 90, 4 * (sink + window), sink, window)
    for _ in range(80):
        idle = [r for r in range(1, 5) if r not in traffic.running]
        if idle and traffic.random.random() < 0.3:
            traffic.cached.clear()  # no hits: a prefix that was cached without rows stays without
            held = {s for r in traffic.running.values() for s in r}
            traffic.free = [s for s in range(1, 90) if s not in held]
            traffic.start(idle[0])
        elif traffic.running and traffic.random.random() < 0.3:
            traffic.chunk(traffic.random.choice(sorted(traffic.running)))  # others pause
        elif traffic.random.random() < 0.15:
            traffic.leave()
        else:
            traffic.step()
        traffic.check()
        assert traffic.complete()


def test_requests_that_ended_long_ago_claim_nothing() -> None:
    """Places of the table are taken in turn. A request pauses for a stranger's long prefill and keeps its rows, whatever
    ended in how many places before."""
    sink, window, places, length = 4, 6, 40, 30
    rows = SlotRows(3000, 3 * (sink + window), sink, window, "cpu")
    table = torch.zeros(places, 400, dtype=torch.int32)
    free = iter(range(1, 3000))

    def extend(place: int, prefix: int, chunk: int) -> None:
        slots = torch.tensor([next(free) for _ in range(chunk)])
        table[place, prefix : prefix + chunk] = slots.int()
        rows.plan_extend(table, torch.tensor([place]), slots, [prefix], [chunk])

    for place in range(2, places):
        extend(place, 0, length)
    extend(1, 0, length)
    near = torch.cat([table[1, :sink], table[1, length - window : length]]).long()
    for chunk in range(8):
        extend(0, chunk * 25, 25)
        assert (rows.row_of_slot[near] >= 0).all(), f"lost to chunk {chunk + 1}"


def test_what_a_place_said_may_be_gone() -> None:
    """A server that was put to sleep wakes with any bytes in the table; the places of ended requests still have their claim."""
    rows = SlotRows(90, 20, 4, 6, "cpu")
    table = torch.zeros(3, WIDTH, dtype=torch.int32)
    for place, first in ((1, 1), (2, 40)):
        slots = torch.arange(first, first + 30)
        table[place, :30] = slots.int()
        rows.plan_extend(table, torch.tensor([place]), slots, [0], [30])
    table[1, ::2], table[1, 1::2] = 0x3F80_3F80, -7
    table[2, 30] = 71
    rows.plan_decode(table, torch.tensor([2]), torch.tensor([31]), torch.tensor([71]))
    near = table[2, [*range(4), *range(25, 31)]].long()
    assert (rows.row_of_slot[near] >= 0).all()


def test_a_batch_of_nobody_changes_nothing() -> None:
    rows = SlotRows(90, 20, 4, 6, "cpu")
    table, nothing = torch.arange(3 * WIDTH, dtype=torch.int32).view(3, WIDTH) % 90, torch.zeros(0, dtype=torch.int64)
    rows.plan_extend(table, torch.tensor([1]), table[1, :30].long(), [0], [30])
    before = rows.row_of_slot.clone()
    rows.plan_extend(table, nothing, nothing, [], [])
    rows.plan_decode(table, nothing, nothing, nothing)
    assert torch.equal(rows.row_of_slot, before)


class Operations(TorchDispatchMode):
    """Names of all operations that run."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(function))
        return function(*args, **(kwargs or {}))


def test_a_decode_plan_can_be_captured() -> None:
    """All its tensors stay where they are, and nothing in it waits for a value."""
    rows = SlotRows(90, 20, 4, 6, "cpu")
    table = torch.arange(3 * WIDTH, dtype=torch.int32).view(3, WIDTH) % 90
    batch = torch.tensor([1, 0]), torch.tensor([21, 1]), torch.tensor([33, 0])
    rows.plan_decode(table, *batch)
    places = {name: value.data_ptr() for name, value in vars(rows).items() if isinstance(value, torch.Tensor)}
    with Operations() as operations:
        rows.plan_decode(table, *batch)
    assert {name: getattr(rows, name).data_ptr() for name in places} == places
    waits = ("item", "nonzero", "local_scalar", "masked_select", "unique")
    assert len(operations.names) > 20
    assert [name for name in operations.names if any(wait in name for wait in waits)] == []


def test_a_row_for_every_slot_needs_no_plan() -> None:
    rows = SlotRows(20, 25, 2, 3, "cpu")
    rows.plan_decode(torch.zeros(2, 4, dtype=torch.int32), torch.tensor([0]), torch.tensor([1]), torch.tensor([7]))
    assert torch.equal(rows.row_or_spare(torch.tensor([7, 0])), torch.tensor([7, 0]))


def test_equal_histories_choose_equal_rows() -> None:
    """Ranks of one model see the same batches; they must agree without talking."""
    one, two = Traffic(3, 90, 11, 4, 6), Traffic(3, 90, 11, 4, 6)
    play(one), play(two)
    assert torch.equal(one.rows.row_of_slot, two.rows.row_of_slot)
