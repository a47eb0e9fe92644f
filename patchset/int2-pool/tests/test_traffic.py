"""What a server answers under random traffic: pages, chunks mixed with decodes, padding, aborted requests, batches of nobody.

Every output is held against float64 attention over keys and values by position: 16 bit where the plan gave a token a row and its
position lets it be read, two bits elsewhere. Contents of records and rows are test_life's.
"""

from __future__ import annotations

import math
import random
import zlib
from dataclasses import dataclass, field
from typing import Any

import pytest
import tree

tree.require()

import torch
from small_engine import CONTEXT, DIM, DTYPE, HEADS, HYBRID, INT2, KV_HEADS, PLAIN, Engine, made_up
from sglang.srt.model_executor.forward_batch_info import ForwardMode

Path = tuple[int, ...]
Work = list[tuple["Request", int, int]]
"""Request, tokens before, and new tokens."""
ROUNDING = 4e-3
PLACES = 8


@dataclass
class Request:
    """A request in its place of the table; it has read as many of its tokens as it has slots."""

    place: int
    tokens: Path
    pages: list[int] = field(default_factory=list)
    slots: list[int] = field(default_factory=list)

    @property
    def decodes(self) -> bool:
        return len(self.slots) == len(self.tokens) < CONTEXT - 2


class Traffic:
    """A scheduler over pages; whole pages of finished requests are the prefix cache."""

    def __init__(self, seed: int, model: dict[str, Any], tokens: int, page: int, **arguments: Any) -> None:
        self.random = random.Random(seed)
        self.engine = Engine(model, tokens=tokens, page_size=page, **INT2, **arguments)
        self.pool, self.page = self.engine.inner, page
        self.free = list(range(1, tokens // page + 1))
        self.cached: dict[Path, int] = {}
        self.running: list[Request] = []
        self.known: dict[Path, Any] = {}
        self.static: Any = None
        self.read = self.exact = 0

    # what the scheduler does

    def start(self) -> None:
        places = [place for place in range(1, PLACES) if place not in {r.place for r in self.running}]
        fresh = []
        for place in self.random.sample(places, min(len(places), self.random.randint(1, 3))):
            request = Request(place, self.prompt())
            while (page := self.cached.get(request.tokens[: len(request.slots) + self.page])) is not None:
                if len(request.slots) + self.page >= len(request.tokens):
                    break
                request.pages.append(page)
                self.fill(request, self.page)
            fresh.append(request)
        self.running += fresh
        self.chunks(fresh, mixed=self.random.random() < 0.3)

    def prompt(self) -> Path:
        known = list(self.cached) + [r.tokens for r in self.running]
        base = self.random.choice(known) if known and self.random.random() < 0.75 else ()
        base = base[: self.random.randint(0, len(base))][:70]
        return (*base, *(self.random.randrange(3) for _ in range(self.random.randint(1, 30))))

    def chunks(self, requests: list[Request], mixed: bool) -> None:
        """A chunk of each; mixed with a token of everybody who decodes, as `--enable-mixed-chunk` has it."""
        keep, work = list(requests), []
        for request in requests:
            left = len(request.tokens) - len(request.slots)
            if left and request in self.running:
                work += self.take(request, self.random.randint(1, left), keep)
        if mixed:
            work += self.tokens(keep)
        self.forward(ForwardMode.MIXED if mixed else ForwardMode.EXTEND, work)

    def tokens(self, keep: list[Request]) -> Work:
        work: Work = []
        for request in [r for r in self.running if r.decodes and r not in keep]:
            if request in self.running:
                keep.append(request)
                request.tokens = (*request.tokens, self.random.randrange(3))
                new = self.take(request, 1, keep)
                work += new
                request.tokens = request.tokens if new else request.tokens[:-1]
        return work

    def decode(self) -> None:
        self.forward(ForwardMode.DECODE, self.tokens([]))

    def finish(self) -> None:
        if self.running:
            request = self.running.pop(self.random.randrange(len(self.running)))
            for nth, page in enumerate(request.pages, 1):
                path = request.tokens[: nth * self.page]
                if page not in self.cached.values():
                    if nth * self.page <= len(request.slots) and path not in self.cached:
                        self.cached[path] = page
                    else:
                        self.free.append(page)

    def abort(self) -> None:
        """Anywhere, also between two chunks. Its place of the table may say anything from then on."""
        if self.running:
            self.drop(self.random.choice(self.running))

    def nobody(self) -> None:
        """A rank without work among others that prefill: a made-up request over the padding slot."""
        count = self.random.randint(1, 9)
        batch = self.engine._batch(ForwardMode.EXTEND, [(0, 0, None)], [0], [count], torch.zeros(count).long())
        self.lengths(batch, [0], [count])
        self.plan(batch)
        broken = torch.full((count, HEADS, DIM), math.nan, dtype=DTYPE)
        for layer in self.engine.layers:
            self.engine.backend.forward_extend(
                broken.flatten(1), broken[:, :KV_HEADS], broken[:, :KV_HEADS], layer, batch
            )

    # what it needs for that

    def drop(self, request: Request) -> None:
        self.running.remove(request)
        self.free += [page for page in request.pages if page not in self.cached.values()]
        self.random.shuffle(self.free)
        self.engine.table[request.place] = self.random.choice((0, -1, 1 << 30))

    def take(self, request: Request, count: int, keep: list[Request]) -> Work:
        before = len(request.slots)
        need = -(-(before + count) // self.page) - len(request.pages)
        while len(self.free) < need:
            held = {page for r in self.running for page in r.pages}
            leaves = [
                path for path, page in self.cached.items()
                if page not in held and not any(other[: len(path)] == path for other in self.cached if other != path)
            ]  # fmt: skip
            others = [r for r in self.running if r not in keep]
            if leaves:
                self.free.append(self.cached.pop(self.random.choice(leaves)))
            elif others:
                self.drop(self.random.choice(others))
            else:
                return []
        request.pages += [self.free.pop() for _ in range(need)]
        self.fill(request, count)
        return [(request, before, count)]

    def fill(self, request: Request, count: int) -> None:
        for position in range(len(request.slots), len(request.slots) + count):
            slot = request.pages[position // self.page] * self.page + position % self.page
            request.slots.append(slot)
            self.engine.table[request.place, position] = slot

    def lengths(self, batch: Any, before: list[int], new: list[int]) -> None:
        batch.extend_prefix_lens, batch.extend_seq_lens = torch.tensor(before), torch.tensor(new)
        if self.random.random() < 0.8:  # else only the device knows
            batch.extend_prefix_lens_cpu, batch.extend_seq_lens_cpu = before, new

    def plan(self, batch: Any) -> None:
        if hasattr(self.engine.translator, "bind_own_plan"):
            self.engine.translator.bind_own_plan(batch)
        self.engine.backend.init_forward_metadata(batch)

    def replay(self, batch: Any, work: Work) -> Any:
        """The static batch of a captured graph, with this one's values and padding."""
        if self.static is None:
            self.static = self.engine._batch(
                ForwardMode.DECODE, [(0, 0, None)] * PLACES, [0] * PLACES, [1] * PLACES, torch.zeros(PLACES).long()
            )
            self.engine.backend.init_cuda_graph_state(PLACES, PLACES)
            if hasattr(self.engine.translator, "bind_own_plan"):
                self.engine.translator.bind_own_plan(self.static)
            self.engine.backend.init_forward_metadata_out_graph(self.static, in_capture=True)
            self.metadata = self.engine.backend.forward_metadata
        self.engine.backend.forward_metadata = self.metadata
        for name, padding in (("req_pool_indices", 0), ("seq_lens", 1), ("out_cache_loc", 0)):
            getattr(self.static, name).fill_(padding)[: len(work)] = getattr(batch, name)[: len(work)]
        self.engine.backend.init_forward_metadata_out_graph(self.static)
        return self.static

    def forward(self, mode: Any, work: Work) -> None:
        work = [(request, before, new) for request, before, new in work if request in self.running]
        if not work:
            return
        decode = mode is ForwardMode.DECODE
        padding = self.random.randrange(3)  # requests, of no tokens where they prefill
        unused = padding if decode else self.random.randrange(5) * (padding > 0)
        paths = [r.tokens[: before + i + 1] for r, before, new in work for i in range(new)]
        slots = [slot for r, before, new in work for slot in r.slots[before : before + new]]
        before, new = [b for _, b, _ in work] + [0] * padding, [n for *_, n in work] + [int(decode)] * padding
        places = [(r.place, b, None) for r, b, _ in work] + [(0, 0, None)] * padding
        batch = self.engine._batch(mode, places, before, new, torch.tensor(slots + [0] * unused))
        if decode and self.random.random() < 0.4:
            batch, unused = self.replay(batch, work), PLACES - len(work)
        else:
            if not decode:
                batch.seq_lens[len(work) :] = 1
                self.lengths(batch, before, new)
            self.plan(batch)
        run = self.engine.backend.forward_decode if decode else self.engine.backend.forward_extend
        rows = None if self.pool.slot_rows is None else self.pool.slot_rows.row_of_slot.clone()
        for place, layer in enumerate(self.engine.layers):
            q, k, v = (torch.stack([self.values(path)[part][place] for path in paths]) for part in range(3))
            broken = self.random.choice((0.0, math.nan, 1e4))
            q, k, v = (torch.cat([x, torch.full((unused, *x.shape[1:]), broken, dtype=DTYPE)]) for x in (q, k, v))
            out = run(q.flatten(1), k.clone(), v.clone(), layer, batch).view(-1, HEADS, DIM)[: len(paths)]
            self.check(place, work, rows, out, decode)

    # what has to hold

    def values(self, path: Path) -> Any:
        """Query, key and value of a token by layer, and the latter two after two bits."""
        if path not in self.known:
            from reference import two_bits

            q, k, v = (x[:, 0] for x in made_up(1, zlib.crc32(bytes(path)), len(self.engine.layers)))
            group = self.pool.layout.k_group
            self.known[path] = (q, k, v, two_bits(k, group), two_bits(v, group))
        return self.known[path]

    def check(self, layer: int, work: Work, rows: Any, out: torch.Tensor, decode: bool) -> None:
        from sglang.srt.layers.attention.int2_kv import naive

        sink, window, done = self.pool.plan.sink, self.pool.plan.window, 0
        for request, before, new in work:
            length = before + new if decode else before  # a chunk sees itself in 16 bit
            exact = [
                position >= length
                or ((position < sink or position >= length - window) and int(rows[request.slots[position]]) >= 0)
                for position in range(before + new)
            ]
            tokens = [self.values(request.tokens[: i + 1]) for i in range(before + new)]
            k, v = (
                torch.stack([(t[p] if e else t[p + 2])[layer].double() for t, e in zip(tokens, exact, strict=True)])
                for p in (1, 2)
            )
            q = torch.stack([t[0][layer] for t in tokens[before:]])
            want = naive.attend(q, k, v, DIM**-0.5, before)[0]
            torch.testing.assert_close(out[done : done + new].double(), want, atol=ROUNDING, rtol=0)
            done += new
            self.read, self.exact = self.read + length, self.exact + sum(exact[:length])


STEPS = {"start": 5, "chunk": 4, "decode": 8, "finish": 2, "abort": 2, "nobody": 1}


@pytest.mark.differs
@pytest.mark.parametrize("seed", range(12))
def test_every_answer_is_attention_over_the_request_s_own_tokens(seed: int) -> None:
    choose = random.Random(seed).choice
    page = choose((1, 1, 2, 4, 16))
    model = PLAIN if page > 1 else choose((PLAIN, HYBRID))  # upstream keeps states of such a model without pages here
    sink, window = choose((0, 1, 3, 6, 20, 300)), choose((0, 1, 2, 5, 9, 30, 256))
    traffic = Traffic(
        seed, model, choose((80, 160, 640)), page, int2_sink_tokens=sink, int2_window_tokens=window,
        max_running_requests=choose((1, 2, 4, 7)), kv_cache_quant_group_size=choose((32, 64, 0)),
    )  # fmt: skip
    for _ in range(40):
        step = traffic.random.choices(list(STEPS), list(STEPS.values()))[0]
        if step == "chunk":
            some = traffic.random.sample(traffic.running, min(len(traffic.running), 2))
            traffic.chunks(some, mixed=traffic.random.random() < 0.4)
        else:
            getattr(traffic, step)()
    assert traffic.read > 100
    assert (traffic.exact > 0) is (sink + window > 0)
