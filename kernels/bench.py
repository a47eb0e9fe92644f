"""Decode, prefill and store, side by side, in one run on one card: SGLang's bf16 Triton, OSCAR's INT2, ours.

    python kernels/bench.py [--baselines DIR] [--only decode,store,prefill] [--shapes 12x2x256,…] [--sweep]
                            [--json FILE]

Without `--baselines` only ours is timed. `--sweep` also times ours in other cuts than `plan` and `CUTS` choose, for a
card on which they may be wrong; the table's figures stay those of the usual cut. DIR, never committed, holds other
people's files: `sglang/kernels/ops/attention/{decode,extend,prefill}_attention.py` with import stand-ins for the rest,
and `oscar_decode.py`, OSCAR's `triton_ops/decode_attention.py`. Times are medians of CUDA-graph replays over index sets
that rotate through at least 300 MB; every competitor gets its best split count.
"""
# ruff: noqa: B023 -- every closure is called before its loop goes on

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))

from int2_kv import Int2Layout, decode, default_rotation, load, naive, prefill, store
from int2_kv.decode import DecodePlan, card_of, launch_stage, plan, workspace
from int2_kv.merge import launch_merge
from int2_kv.quantize import CUTS, DENSE, PLAIN, WALSH
from int2_kv.rotation import Rotation

SHAPES = ((12, 2, 256), (24, 4, 256), (32, 8, 128))
CONTEXTS = (8192, 32768, 131072)
BATCHES = (1, 8, 32)
SPLITS = (8, 16, 32, 64, 128)
OSCAR_SETTINGS = ((32, 8, 1), (64, 8, 2), (128, 8, 4))
BUILDS = (
    (32, 3, None, 8), (32, 3, None, 4), (32, 3, 168, 12), (16, 3, None, 12), (16, 3, None, 8), (16, 4, None, 12),
    (16, 3, 128, 16),
)  # fmt: skip
"""Tokens per step, pipeline stages, registers and programs per multiprocessor that `--sweep` times."""
STORE_CUTS: dict[int, tuple[tuple[int, int, int, int | None], ...]] = {
    PLAIN: ((16, 2, 1, None), (8, 1, 1, None)), DENSE: ((128, 8, 3, None), (128, 8, 2, None), (64, 4, 2, None)),
    WALSH: ((16, 1, 1, None), (32, 2, 1, None), (64, 4, 1, None)),
}  # fmt: skip
SLOTS = 1 << 20
ROTATE_BYTES = 300 << 20
LEAST_CALLS = 8
"""Calls in a CUDA graph, where they are short: launching a graph costs about 4 us, once."""
DEVICE = "cuda"


def median_ms(calls: list[Callable[[], object]], replays: int = 7) -> float:
    """Median milliseconds per call of a CUDA graph that holds all of them."""
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(side):
        for call in calls[:2]:
            call()
        side.synchronize()
        graph.capture_begin()
        for call in calls:
            call()
        graph.capture_end()
    torch.cuda.synchronize()
    times = []
    for replay in range(replays + 1):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        if replay:
            times.append(start.elapsed_time(end) / len(calls))
    return sorted(times)[len(times) // 2]


def ceilings() -> dict[str, float]:
    """Copy bandwidth of the card in GB/s, bytes read plus written."""
    source = torch.randn(1 << 29, device=DEVICE)
    target = torch.empty_like(source)
    return {"copy GB/s": 8 * source.numel() / median_ms([lambda: torch.neg(source, out=target)]) / 1e6}


def random_pool(layout: Int2Layout) -> torch.Tensor:
    """Random codes with plausible scales and zeros."""
    pool = torch.randint(-32768, 32767, (SLOTS, layout.row_words), dtype=torch.int16, device=DEVICE)
    *_, meta = layout.parts(pool)
    value = torch.rand(meta.shape, device=DEVICE) * 0.3 + 0.6
    for first, groups in ((0, layout.k_groups), (2 * layout.k_groups, layout.v_groups)):
        value[..., first + groups : first + 2 * groups] -= 2.1
    meta.copy_(value.half().view(torch.int16))
    return pool


class Case:
    """One head shape at one context and batch: queries and rotating index sets."""

    def __init__(self, shape: tuple[int, int, int], context: int, batch: int, bytes_per_token: int) -> None:
        heads, _, dim = shape
        self.context, self.batch, self.tokens = context, batch, context * batch
        sets = min(32, max(1, ROTATE_BYTES // (self.tokens * bytes_per_token)))
        rounds = -(-self.tokens // SLOTS)
        self.indices = [
            torch.cat([torch.randperm(SLOTS, device=DEVICE) for _ in range(rounds)])[: self.tokens] for _ in range(sets)
        ]
        calls = max(sets, LEAST_CALLS if self.tokens <= SLOTS else 2)
        self.rounds = [self.indices[call % sets] for call in range(calls)]
        self.indptr = torch.arange(batch + 1, device=DEVICE, dtype=torch.int32) * context
        self.q = torch.randn(batch, heads, dim, device=DEVICE, dtype=torch.bfloat16)
        self.out = torch.empty_like(self.q)
        self.sm_scale = dim**-0.5

    def error(self, dense: Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]) -> float:
        """Relative error of `out` for the first sequence against float64 over the K and V that were meant."""
        k, v = dense(self.indices[0][: self.context])
        want, _ = naive.attend(self.q[:1], k, v, self.sm_scale)
        return ((self.out[:1].double() - want).norm() / want.norm()).item()


def time_ours(case: Case, layout: Int2Layout, pool: torch.Tensor, cut: DecodePlan) -> float:
    mid, lse = workspace(case.batch, case.q.shape[1], layout, cut.splits, None, case.q.device)
    total = torch.empty(case.batch, case.q.shape[1], device=DEVICE)

    def call(indices: torch.Tensor) -> None:
        launch_stage(case.q, pool, case.indptr, indices, layout, case.sm_scale, cut, mid, lse)
        launch_merge(mid, lse, case.out, total)

    return median_ms([lambda i=i: call(i) for i in case.rounds])


def bench_ours(case: Case, layout: Int2Layout, pool: torch.Tensor, sweep: bool) -> dict[str, object]:
    heads = case.q.shape[1]
    card = card_of(case.q.device)
    usual = plan(case.batch, layout, heads, card)
    result: dict[str, object] = {"ours": time_ours(case, layout, pool, usual), "splits": usual.splits}
    case.out.fill_(float("nan"))
    decode(case.q, pool, case.indptr, case.indices[0], layout, case.sm_scale, out=case.out)
    dense = lambda slots: naive.unpack_rows(pool[slots], layout)  # noqa: E731
    result["ours error"] = case.error(dense)
    if sweep:
        wave = card.processors / (case.batch * layout.tiles(heads // layout.kv_heads))
        cuts = [DecodePlan(max(1, min(512, int(b[3] * wave))), b[0], 32, b[1], b[2]) for b in BUILDS]
        result["sweep"] = {
            f"{cut.splits}x{cut.block} {cut.stages} {cut.maxnreg}": round(time_ours(case, layout, pool, cut), 5)
            for cut in cuts
        }
    return result


def scratch(case: Case, splits: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """SGLang's buffers for a split count: logits, log-sum-exps, splits per sequence."""
    batch, heads, dim = case.q.shape
    logits = torch.empty(batch, heads, splits, dim, dtype=torch.float32, device=DEVICE)
    lse = torch.empty(batch, heads, splits, dtype=torch.float32, device=DEVICE)
    return logits, lse, torch.full((batch,), splits, dtype=torch.int32, device=DEVICE)


def bench_bf16(case: Case, k: torch.Tensor, v: torch.Tensor) -> dict[str, float]:
    from sglang.kernels.ops.attention.decode_attention import decode_attention_fwd

    def call(indices: torch.Tensor, splits: int, buffers: tuple[torch.Tensor, ...]) -> None:
        decode_attention_fwd(
            case.q, k, v, case.out, case.indptr, indices, *buffers, splits, case.sm_scale, 1.0, 1.0
        )  # fmt: skip

    times = {}
    for splits in SPLITS:
        buffers = scratch(case, splits)
        times[splits] = median_ms([lambda i=i, s=splits, b=buffers: call(i, s, b) for i in case.rounds])
    case.out.fill_(float("nan"))
    call(case.indices[0], SPLITS[0], scratch(case, SPLITS[0]))
    best = min(times, key=times.__getitem__)
    dense = lambda slots: (k[slots], v[slots])  # noqa: E731
    return {"bf16 cap 8": times[8], "bf16 best": times[best], "bf16 splits": best, "bf16 error": case.error(dense)}


class Oscar:
    """OSCAR's pool and kernel, group 64."""

    def __init__(self, shape: tuple[int, int, int], group: int = 64) -> None:
        _, kv_heads, dim = shape
        size = (SLOTS, kv_heads)
        self.group = group
        self.codes = [torch.randint(0, 255, (*size, dim // 4), dtype=torch.uint8, device=DEVICE) for _ in range(2)]
        self.scales = [torch.rand(*size, 2 * dim // group, device=DEVICE).add_(0.5).bfloat16() for _ in range(2)]

    def dense(self, slots: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Float64 K and V of `slots`."""
        out = []
        for codes, scales in zip(self.codes, self.scales, strict=True):
            levels = torch.cat([(codes[slots] >> (2 * quarter)) & 3 for quarter in range(4)], -1).double()
            scale, zero = (scales[slots, :, part::2].double().repeat_interleave(self.group, -1) for part in (0, 1))
            out.append((levels - zero) * scale)
        return out[0], out[1]

    def call(self, case: Case, indices: torch.Tensor, splits: int, buffers: tuple[torch.Tensor, ...]) -> None:
        from oscar_decode import decode_attention_fwd_quantized

        decode_attention_fwd_quantized(
            case.q, *self.codes, *self.scales, case.out, case.indptr, indices, *buffers, splits, case.sm_scale, "int2"
        )  # fmt: skip


def oscar_setting(setting: tuple[int, int, int]) -> None:
    """Choose its tile; eight heads per block always, since four read wrong KV heads for a group of six."""
    for name, value in zip(("BLOCK_N", "BLOCK_H", "NUM_WARPS"), setting, strict=True):
        os.environ[f"SGL_INT2_{name}"] = str(value)


def bench_oscar(case: Case, oscar: Oscar) -> dict[str, float]:
    times = {}
    for setting in OSCAR_SETTINGS:
        oscar_setting(setting)
        for splits in SPLITS:
            buffers = scratch(case, splits)
            times[splits, setting] = median_ms(
                [lambda i=i, s=splits, b=buffers: oscar.call(case, i, s, b) for i in case.rounds]
            )
    best = min(times, key=times.__getitem__)
    oscar_setting(best[1])
    case.out.fill_(float("nan"))
    oscar.call(case, case.indices[0], best[0], scratch(case, best[0]))
    return {"oscar": times[best], "oscar splits": best[0], "oscar error": case.error(oscar.dense)}


def bench_decode(
    shapes: Iterable[tuple[int, int, int]],
    baselines: bool,
    copy: float,
    without_oscar: set[tuple[int, int, int]],
    sweep: bool,
) -> list[dict[str, object]]:
    rows = []
    for shape in shapes:
        _, kv_heads, dim = shape
        layout = Int2Layout(kv_heads, dim, dim)
        pool = random_pool(layout)
        dense = [torch.randn(SLOTS, kv_heads, dim, device=DEVICE, dtype=torch.bfloat16) for _ in range(2 * baselines)]
        oscar = Oscar(shape) if baselines and shape not in without_oscar else None
        for context in CONTEXTS:
            for batch in BATCHES:
                case = Case(shape, context, batch, layout.bytes_per_token)
                floor = case.tokens * layout.bytes_per_token / copy / 1e6
                row: dict[str, object] = {"shape": shape, "context": context, "batch": batch, "floor": floor}
                row |= bench_ours(case, layout, pool, sweep)
                if baselines:
                    row |= bench_bf16(case, dense[0], dense[1])
                    row["vs bf16"] = row["bf16 best"] / row["ours"]
                if oscar is not None:
                    row |= bench_oscar(case, oscar)
                    row["vs oscar"] = row["oscar"] / row["ours"]
                show(row)
                rows.append(row)
    return rows


def some_rotation(dim: int) -> Rotation:
    """A rotation that is no Hadamard matrix, as from a file."""
    matrix = torch.linalg.qr(torch.randn(dim, dim, dtype=torch.float64))[0].float().to(DEVICE)
    return Rotation(matrix, matrix)


def bench_store(copy: float, sweep: bool, tokens: int = 8192) -> list[dict[str, object]]:
    rows = []
    for _, kv_heads, dim in SHAPES:
        layout = Int2Layout(kv_heads, dim, dim)
        pool = layout.allocate(SLOTS, DEVICE)
        fresh = [torch.randn(2, tokens, kv_heads, dim, device=DEVICE, dtype=torch.bfloat16) for _ in range(16)]
        slots = [torch.randperm(SLOTS, device=DEVICE)[:tokens] for _ in fresh]
        moved = tokens * (kv_heads * dim * 4 + layout.bytes_per_token)  # K and V in 16 bit, one record out
        multiplied = 4 * tokens * kv_heads * dim * dim
        row: dict[str, object] = {
            "store": (kv_heads, dim), "floor": moved / copy / 1e6, "full matrix floor": multiplied / 790e9,
        }  # fmt: skip
        for name, turn, kind in (
            ("plain", None, PLAIN), ("hadamard", default_rotation(dim, dim, DEVICE), WALSH),
            ("full matrix", some_rotation(dim), DENSE),
        ):  # fmt: skip
            calls = [
                lambda x=x, s=s, r=turn: store(x[0], x[1], s, pool, layout, rotation=r)
                for x, s in zip(fresh, slots, strict=True)
            ]
            row[name] = median_ms(calls)
            usual = CUTS[kind]
            for cut in STORE_CUTS[kind] if sweep else ():
                CUTS[kind] = cut
                row[f"{name} {cut[0]}/{cut[1]}/{cut[2]}/{cut[3]}"] = median_ms(calls)
            CUTS[kind] = usual
        row["load"] = median_ms([lambda s=s: load(pool, s, layout, torch.bfloat16) for s in slots])
        show(row)
        rows.append(row)
    return rows


def bench_prefill(baselines: bool, prefix: int = 131072) -> list[dict[str, object]]:
    shape, rows = (12, 2, 256), []
    heads, kv_heads, dim = shape
    layout = Int2Layout(kv_heads, dim, dim)
    pool = random_pool(layout)
    slots = torch.randperm(SLOTS, device=DEVICE)[:prefix]
    for chunk in (4096, 8192):
        q = torch.randn(chunk, heads, dim, device=DEVICE, dtype=torch.bfloat16)
        k, v = (torch.randn(chunk, kv_heads, dim, device=DEVICE, dtype=torch.bfloat16) for _ in range(2))
        out = torch.empty_like(q)
        row: dict[str, object] = {"prefill": shape, "prefix": prefix, "chunk": chunk}
        row["floor"] = chunk * (prefix + chunk / 2) * heads * dim * 4 / 790e9
        for name, turn in (("ours", None), ("rotated", default_rotation(dim, dim, DEVICE))):
            call = lambda r=turn: prefill(q, k, v, pool, slots, layout, dim**-0.5, rotation=r, out=out)  # noqa: E731
            row[name] = eager_ms(call)
            row[f"{name} MiB"] = peak_mib(call)
            out.fill_(float("nan"))
            call()
            row[f"{name} error"] = prefill_error(q, k, v, pool, slots, layout, out, turn)
        if baselines:
            row |= extend_bf16(q, k, v, out, prefix)
            row["vs bf16"] = row["bf16 extend"] / row["ours"]
        show(row)
        rows.append(row)
    return rows


def eager_ms(call: Callable[[], object], repeats: int = 5) -> float:
    """Median milliseconds of a call that starts many kernels."""
    times = []
    for _ in range(repeats + 1):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return sorted(times[1:])[repeats // 2]


def peak_mib(call: Callable[[], object]) -> float:
    """Memory that a call takes and gives back, at its highest."""
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / 2**20


def prefill_error(q, k, v, pool, slots, layout, out, turn) -> float:  # type: ignore[no-untyped-def]
    """Relative error of the last 16 queries against float64."""
    old_k, old_v = naive.unpack_rows(pool[slots], layout)
    if turn is not None:
        old_k, old_v = old_k @ turn.k.double().T, old_v @ turn.v.double().T
    few, causal_from = q[-16:], len(slots) + len(q) - 16
    keys, values = torch.cat([old_k, k.double()]), torch.cat([old_v, v.double()])
    want, _ = naive.attend(few, keys, values, q.shape[-1] ** -0.5, causal_from)
    return ((out[-16:].double() - want).norm() / want.norm()).item()


def extend_bf16(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor, prefix: int) -> dict[str, float]:
    from sglang.kernels.ops.attention.extend_attention import extend_attention_fwd

    pool_k, pool_v = (torch.randn(SLOTS, *k.shape[1:], device=DEVICE, dtype=k.dtype) for _ in range(2))
    indices = torch.randperm(SLOTS, device=DEVICE)[:prefix]
    bounds = [torch.tensor([0, n], device=DEVICE, dtype=torch.int32) for n in (len(q), prefix)]
    call = lambda: extend_attention_fwd(  # noqa: E731
        q, k, v, out, pool_k, pool_v, *bounds, indices, None, True, None, len(q), 1.0, 1.0
    )
    return {"bf16 extend": eager_ms(call, 3)}


def show(row: dict[str, object]) -> None:
    """One line per row."""
    print(
        " | ".join(
            f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()
        ),
        flush=True,
    )


def warm(job: tuple[tuple[int, int, int], tuple[int, ...] | None]) -> str | None:
    """Compile one competitor in a process of its own; returns what went wrong.

    The setting is None for bf16, three numbers for OSCAR, four for ours, one for our stores.
    """
    global SLOTS
    SLOTS = 1024
    shape, setting = job
    case = Case(shape, 256, 2, 1 << 20)
    layout = Int2Layout(*shape[1:], shape[2])
    try:
        if setting is None:
            dense = [torch.randn(SLOTS, *shape[1:], device=DEVICE, dtype=torch.bfloat16) for _ in range(2)]
            bench_bf16(case, *dense)
        elif len(setting) == 3:
            oscar_setting((setting[0], setting[1], setting[2]))
            Oscar(shape).call(case, case.indices[0], 8, scratch(case, 8))
        elif len(setting) == 4:
            time_ours(case, layout, random_pool(layout), DecodePlan(8, setting[0], 32, *setting[1:3]))
        else:
            k, v = torch.randn(2, 256, *shape[1:], device=DEVICE, dtype=torch.bfloat16)
            turn = (None, some_rotation(shape[2]), default_rotation(shape[2], shape[2], DEVICE))[setting[0]]
            for cut in STORE_CUTS[setting[0]]:
                CUTS[setting[0]] = cut
                store(k, v, case.indices[0][:256], random_pool(layout), layout, rotation=turn)
        torch.cuda.synchronize()
    except Exception as error:  # a competitor that does not build is reported, not fatal
        return f"{job}: {error!r}"[:300]
    return None


def warm_all(jobs: list[tuple[tuple[int, int, int], tuple[int, ...] | None]]) -> set[tuple[int, int, int]]:
    """Compile side by side; returns the shapes for which OSCAR does not build."""
    failed = set()
    with multiprocessing.get_context("spawn").Pool(min(len(jobs), os.cpu_count() or 1)) as pool:
        for job, failure in zip(jobs, pool.map(warm, jobs, chunksize=1), strict=True):
            if failure is not None:
                print("does not build:", failure)
                if job[1] is not None and len(job[1]) == 3:
                    failed.add(job[0])
    return failed


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baselines", type=Path)
    parser.add_argument("--only", default="decode,store,prefill")
    parser.add_argument("--shapes", default=",".join("x".join(map(str, shape)) for shape in SHAPES))
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    shapes = [tuple(map(int, shape.split("x"))) for shape in options.shapes.split(",")]
    jobs: list[tuple[tuple[int, int, int], tuple[int, ...] | None]] = []
    if options.sweep:
        builds = {build[:3]: build for build in BUILDS}.values()  # what is compiled knows nothing of the last number
        jobs += [(shape, build) for shape in shapes for build in builds if "decode" in options.only]
        jobs += [(shape, (kind,)) for shape in SHAPES for kind in STORE_CUTS if "store" in options.only]
    if options.baselines is not None:
        sys.path.insert(0, str(options.baselines.resolve()))
        os.environ["PYTHONPATH"] = f"{options.baselines.resolve()}:{os.environ.get('PYTHONPATH', '')}"
        if "decode" in options.only:
            jobs += [(shape, setting) for shape in shapes for setting in (None, *OSCAR_SETTINGS)]
    without_oscar = warm_all(jobs) if jobs else set()
    limits = ceilings()
    print(torch.cuda.get_device_name(), f"torch {torch.__version__}", limits)
    baselines = options.baselines is not None
    result: dict[str, object] = {"card": torch.cuda.get_device_name(), "torch": torch.__version__, **limits}
    if "store" in options.only:
        result["store"] = bench_store(limits["copy GB/s"], options.sweep)
    if "prefill" in options.only:
        result["prefill"] = bench_prefill(baselines)
    if "decode" in options.only:
        result["decode"] = bench_decode(shapes, baselines, limits["copy GB/s"], without_oscar, options.sweep)
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
