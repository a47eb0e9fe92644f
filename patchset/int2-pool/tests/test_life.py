"""A server's life on the real classes: pool, allocator and backend of the release, requests that come and go at random.

A token's keys and values follow from the tokens before it, as in a model. After every step each slot that anybody holds has
the record of its token, bit for bit, and its 16-bit row, if it has one, has that token's values and nobody else's.
"""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass, field
from typing import Any

import pytest
import tree

tree.require()

import torch
from small_engine import CONTEXT, DTYPE, HYBRID, INT2, KV_HEADS, PLAIN, Engine, made_up
from sglang.srt.model_executor.forward_batch_info import ForwardMode

Path = tuple[int, ...]


@dataclass
class Request:
    """A request in its place of the table: what it will read, and the slots of what it has read. The first `shared` are
    the cache's."""

    place: int
    tokens: Path
    slots: list[int] = field(default_factory=list)
    shared: int = 0

    @property
    def reading(self) -> bool:
        return len(self.slots) < len(self.tokens)


class Life:
    """A scheduler with a prefix cache that is a dictionary: every path of tokens has the slot of its last one."""

    def __init__(self, seed: int, model: dict[str, Any], tokens: int, **arguments: Any) -> None:
        self.random = random.Random(seed)
        self.engine = Engine(model, tokens=tokens, **INT2, **arguments)
        self.pool = self.engine.inner
        self.cached: dict[Path, int] = {}
        self.running: list[Request] = []
        self.content: dict[int, Path] = {}
        self.known: dict[Path, Any] = {}
        self.static: Any = None

    # what the scheduler does

    def start(self) -> None:
        """Some requests at once, each with the longest prefix that the cache has, and the first chunk of the rest."""
        places = [p for p in range(self.engine.table.shape[0]) if p not in {r.place for r in self.running}]
        fresh = []
        for place in self.random.sample(places, min(len(places), self.random.randint(1, 3))):
            request = Request(place, self.prompt())
            while request.shared < len(request.tokens) - 1 and request.tokens[: request.shared + 1] in self.cached:
                request.shared += 1
                request.slots.append(self.cached[request.tokens[: request.shared]])
            self.engine.table[place, : request.shared] = torch.tensor(request.slots, dtype=torch.int32)
            self.running.append(request)
            fresh.append(request)
        self.chunks(fresh)

    def prompt(self) -> Path:
        """Often the continuation of something known; few words, so that paths meet."""
        known = list(self.cached) + [r.tokens for r in self.running]
        base = self.random.choice(known) if known and self.random.random() < 0.7 else ()
        base = base[: self.random.randint(0, len(base))][:60]
        return (*base, *(self.random.randrange(3) for _ in range(self.random.randint(1, 25))))

    def chunks(self, requests: list[Request]) -> None:
        """A chunk of each that is still reading, in one batch."""
        work, sizes = [], []
        for request in requests:
            size = self.random.randint(1, len(request.tokens) - len(request.slots)) if request.reading else 0
            if size and self.room(size, keep=requests):
                work.append((request, len(request.slots)))
                sizes.append(size)
                self.take(request, size)
        if work:
            self.forward(ForwardMode.EXTEND, work, sizes)

    def decode(self) -> None:
        """A token for everybody who has read its prompt; sometimes as a captured graph is replayed, with padding."""
        work = []
        for request in [r for r in self.running if not r.reading and len(r.tokens) < CONTEXT]:
            if request in self.running and self.room(1, keep=[*(w for w, _ in work), request]):
                request.tokens = (*request.tokens, self.random.randrange(3))
                work.append((request, len(request.slots)))
                self.take(request, 1)
        if work:
            self.forward(ForwardMode.DECODE, work, [1] * len(work))

    def finish(self) -> None:
        """What it has read is the cache's; a token that the cache has already is freed."""
        if not self.running:
            return
        request = self.running.pop(self.random.randrange(len(self.running)))
        twice = []
        for depth, slot in enumerate(request.slots, 1):
            if self.cached.setdefault(request.tokens[:depth], slot) != slot:
                twice.append(slot)
        self.free(twice)

    def retract(self) -> None:
        """A request loses its slots and its place; with its data on the host, it comes back elsewhere."""
        if not self.running:
            return
        request = self.running.pop(self.random.randrange(len(self.running)))
        own = request.slots[request.shared :]
        copy = self.pool.get_cpu_copy(torch.tensor(own, dtype=torch.int64)) if own else None
        self.free(own)
        back = self.engine.allocator.alloc(len(own)) if own and self.random.random() < 0.7 else None
        if back is not None:
            self.pool.load_cpu_copy(copy, back)
            for depth, slot in enumerate(back.tolist(), request.shared + 1):
                self.content[slot] = request.tokens[:depth]
                if self.cached.setdefault(request.tokens[:depth], slot) != slot:
                    self.free([slot])

    # what it needs for that

    def room(self, size: int, keep: list[Request]) -> bool:
        """Whether so many slots are free; the cache's leaves go first, then another request is retracted."""
        while self.engine.allocator.available_size() < size:
            held = {slot for r in self.running for slot in r.slots}
            parents = {path[:-1] for path in self.cached}
            leaves = [path for path, slot in self.cached.items() if path not in parents and slot not in held]
            others = [r for r in self.running if r not in keep]
            if leaves:
                self.free([self.cached.pop(self.random.choice(leaves))])
            elif others:
                gone = self.random.choice(others)
                self.running.remove(gone)
                self.free(gone.slots[gone.shared :])
            else:
                return False
        return True

    def take(self, request: Request, size: int) -> None:
        slots = self.engine.allocate(request.place, len(request.slots), size)
        request.slots += slots.tolist()

    def free(self, slots: list[int]) -> None:
        if slots:
            self.engine.allocator.free(torch.tensor(slots, dtype=torch.int64))

    def forward(self, mode: Any, work: list[tuple[Request, int]], sizes: list[int]) -> None:
        """Plan the batch as the backend does, and write every layer as it does."""
        engine = self.engine
        slots = torch.tensor([s for (r, at), size in zip(work, sizes, strict=True) for s in r.slots[at : at + size]])
        before = [at for _, at in work]
        batch = engine._batch(mode, [(r.place, at, None) for r, at in work], before, sizes, slots)
        if mode is ForwardMode.EXTEND:
            batch.extend_prefix_lens, batch.extend_prefix_lens_cpu = torch.tensor(before), before
            batch.extend_seq_lens, batch.extend_seq_lens_cpu = torch.tensor(sizes), sizes
        if mode is ForwardMode.DECODE and self.random.random() < 0.5:
            self.replay(batch)
        else:
            if hasattr(engine.translator, "bind_own_plan"):
                engine.translator.bind_own_plan(batch)
            engine.backend.init_forward_metadata(batch)
        paths = [r.tokens[: at + i + 1] for (r, at), size in zip(work, sizes, strict=True) for i in range(size)]
        self.content.update(zip(slots.tolist(), paths, strict=True))
        for place, layer in enumerate(engine.layers):
            k, v = (torch.cat([self.values(path)[part][place] for path in paths]) for part in (0, 1))
            engine.pool.set_kv_buffer(layer, slots, k, v)

    def replay(self, batch: Any) -> None:
        size = self.engine.table.shape[0]
        if self.static is None:
            self.static = self.engine._batch(
                ForwardMode.DECODE, [(0, 0, None)] * size, [0] * size, [1] * size, torch.zeros(size, dtype=torch.int64)
            )
            self.engine.backend.init_cuda_graph_state(size, size)
        if hasattr(self.engine.translator, "bind_own_plan"):
            self.engine.translator.bind_own_plan(self.static)
        for name, padding in (("req_pool_indices", 0), ("seq_lens", 1), ("out_cache_loc", 0)):
            getattr(self.static, name).fill_(padding)[: batch.batch_size] = getattr(batch, name)
        self.engine.backend.init_forward_metadata_out_graph(self.static)

    # what has to hold

    def values(self, path: Path) -> Any:
        """Keys and values of a token, and its records, by layer."""
        if path not in self.known:
            layers = len(self.engine.layers)
            _, k, v = made_up(1, zlib.crc32(bytes(path)), layers)
            records = []
            for place in range(layers):
                record = self.pool.layout.allocate(1, "cpu")
                from sglang.srt.layers.attention.int2_kv import store

                rotation, only = self.pool.plan.rotations[place], torch.zeros(1, dtype=torch.int64)
                store(k[place], v[place], only, record, self.pool.layout, rotation=rotation, impl="torch")
                records.append(record[0])
            self.known[path] = (k, v, records)
        return self.known[path]

    def check(self) -> int:
        """How many of the held slots have a row."""
        held = sorted({*self.cached.values(), *(slot for r in self.running for slot in r.slots)})
        for path, slot in [*self.cached.items(), *((r.tokens[: i + 1], s) for r in self.running for i, s in enumerate(r.slots))]:
            assert self.content[slot] == path, "the test itself has lost a slot"
        rows = self.pool.slot_rows
        row = [-1 if rows is None else int(rows.row_of_slot[slot]) for slot in held]
        given = [each for each in row if each >= 0]
        assert len(given) == len(set(given)), "two slots share a row"
        for place in range(len(self.engine.layers)):
            for slot, where in zip(held, row, strict=True):
                k, v, records = self.values(self.content[slot])
                assert torch.equal(self.pool.records[place][slot], records[place]), f"slot {slot}: another record"
                if where >= 0:
                    assert torch.equal(self.pool.k_rows[place][where], k[place, 0]), f"slot {slot}: another row"
                    assert torch.equal(self.pool.v_rows[place][where], v[place, 0]), f"slot {slot}: another row"
        return len(given)


STEPS = ("start", "start", "chunk", "decode", "decode", "decode", "finish", "retract")
ROWS = {
    "few": {"int2_sink_tokens": 2, "int2_window_tokens": 3, "max_running_requests": 2},
    "some": {"int2_sink_tokens": 5, "int2_window_tokens": 9},
    "window": {"int2_sink_tokens": 0, "int2_window_tokens": 6},
    "sinks": {"int2_sink_tokens": 6, "int2_window_tokens": 0},
    "none": {"int2_sink_tokens": 0, "int2_window_tokens": 0},
}


@pytest.mark.differs
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("tokens", [70, 300], ids=["tight", "wide"])
def test_no_slot_has_another_tokens_values(rows: str, tokens: int, seed: int) -> None:
    life = Life(seed, (PLAIN, HYBRID)[seed % 2], tokens, **ROWS[rows])
    seen = 0
    for _ in range(70):
        step = life.random.choice(STEPS)
        if step == "chunk":
            life.chunks(life.random.sample(life.running, min(len(life.running), 2)))
        else:
            getattr(life, step)()
        seen += life.check()
    assert (seen > 0) is (rows != "none")


@pytest.mark.differs
@pytest.mark.parametrize(
    "rows", [{}, {"int2_sink_tokens": 200, "int2_window_tokens": 200}, {"int2_sink_tokens": CONTEXT}], ids=str
)
def test_sinks_and_a_window_that_cover_the_context_cover_every_token(rows: dict[str, int]) -> None:
    """Seven requests where seven may run. One goes on while the others are followed by new ones; none ever loses a row."""
    engine = Engine(PLAIN, tokens=20_000, max_running_requests=7, **INT2, **rows)
    slot_rows, lengths = engine.inner.slot_rows, {place: 100 for place in range(1, 8)}

    def read(place: int, count: int) -> None:
        slots = engine.allocate(place, 0, count)
        slot_rows.plan_extend(engine.table, torch.tensor([place]), slots, [0], [count])
        lengths[place] = count

    for place in lengths:
        read(place, 100)
    for step in range(120):
        slots = torch.cat([engine.allocate(place, length, 1) for place, length in lengths.items()])
        lengths = {place: length + 1 for place, length in lengths.items()}
        slot_rows.plan_decode(engine.table, torch.tensor([*lengths]), torch.tensor([*lengths.values()]), slots)
        for place, length in lengths.items():
            missing = int((slot_rows.row_of_slot[engine.table[place, :length].long()] < 0).sum())
            assert missing == 0, f"request {place} lost {missing} of {length} tokens in step {step}"
        if step % 4 == 3:
            read(2 + step // 4 % 6, 200)
