"""The smallest set of changes with which all chains fit: tokens, states and activations are paid from one card."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from rebasekit.model.size import size
from rebasekit.probes.capacity.cells import INT2
from rebasekit.probes.capacity.chains import Fit, fit, slots_needed
from rebasekit.probes.capacity.flags import Flags
from rebasekit.probes.capacity.situation import Advice, Situation

_STEP = Fraction(1, 1000)
_LARGEST_CHUNK = 32768


@dataclass(frozen=True)
class _Try:
    """Flags to try, and how they differ from what there is."""

    flags: Flags
    chunk: int
    words: tuple[str, ...] = ()
    why: tuple[str, ...] = ()
    patched: bool | None = None


def together(now: Situation) -> Iterator[Advice]:
    """One piece of advice when the chains do not fit, the one with the fewest flags; nothing when they do."""
    found = now.fit
    if found is None or found.ok:
        return
    short = _short(now, found)
    for tried in sorted(_tries(now, found), key=lambda each: len(each.words)):
        pools = now.solved(tried.flags, patched=tried.patched)
        if pools is None or pools.requests < now.pools.requests:
            continue
        most = tried.flags.mamba_max_states_per_path
        if fit(pools, found.length, found.wanted, tried.chunk, most=most).ok:
            slots = f", {pools.checkpoint_slots or pools.state_slots} state slots" if pools.states else ""
            yield Advice(tried.words, f"{short}: {'; '.join(tried.why)}", f"{pools.tokens:,} tokens{slots}")
            return
    yield Advice(
        ("fewer or shorter chains",),
        f"{short}, and no type of KV cache, chunk or number of slots that is known holds them",
    )


def _short(now: Situation, found: Fit) -> str:
    said = []
    if found.tokens_needed > now.pools.tokens:
        said.append(f"{found.wanted} × {found.length:,} = {found.tokens_needed:,} tokens, {now.pools.tokens:,} fit")
    if found.slots is not None and found.slots_needed > found.slots:
        said.append(f"{found.wanted} × {found.needed[1]} = {found.slots_needed} states, {found.slots} slots are there")
    return " and ".join(said)


def _tries(now: Situation, found: Fit) -> Iterator[_Try]:
    start = _Try(now.flags, found.chunk)
    cap = now.flags.max_total_tokens
    if cap is not None and cap < found.tokens_needed:
        words = (f"--max-total-tokens {found.tokens_needed}",)
        start = replace(start, flags=replace(now.flags, max_total_tokens=found.tokens_needed), words=words)
    for chunked in _chunks(now, start):
        for kept in _states(now, found, chunked):
            yield from _kinds(now, kept)


def _chunks(now: Situation, start: _Try) -> Iterator[_Try]:
    """Larger chunks leave fewer states, and need more activations, which the static part has to leave."""
    yield start
    chunk, fraction = start.chunk, now.flags.mem_fraction_static
    if now.model.linear is None or fraction is None or chunk < 1:
        return
    each = now.model.activation_per_token(now.flags.attention_ranks(now.release)[0])
    while (chunk := chunk * 2) <= _LARGEST_CHUNK:
        more = (chunk - start.chunk) * each
        lower = (fraction - Fraction(more, now.memory.free)) // _STEP * _STEP
        if lower <= 0:
            return
        flags = replace(start.flags, chunked_prefill_size=chunk, mem_fraction_static=lower)
        words = (*start.words, f"--chunked-prefill-size {chunk}", f"--mem-fraction-static {float(lower):g}")
        why = f"each chunk leaves a state; a larger one needs at least {size(more)} more for activations"
        yield _Try(flags, chunk, words, (*start.why, why))


def _states(now: Situation, found: Fit, start: _Try) -> Iterator[_Try]:
    """As many slots as the chains need: in 8 bit beside the requests' own, or among them."""
    yield start
    states = now.pools.states
    if states is None:
        return
    needed = found.wanted * slots_needed(found.length, start.chunk, start.flags.mamba_max_states_per_path)[1]
    own = now.pools.requests * states.per_request
    why = "slots are paid from the same budget as tokens"
    flags = replace(start.flags, max_mamba_cache_size=own + needed, enable_int8_mamba_checkpoint=False)
    if not start.flags.enable_int8_mamba_checkpoint:
        words = (*start.words, f"--max-mamba-cache-size {own + needed}")
        yield replace(start, flags=flags, words=words, why=(*start.why, why))
    flags = replace(
        start.flags, max_mamba_cache_size=own, enable_int8_mamba_checkpoint=True, int8_mamba_ckpt_size=needed
    )
    words = (*start.words, f"--max-mamba-cache-size {own}", f"--int8-mamba-ckpt-size {needed}")
    if not start.flags.enable_int8_mamba_checkpoint:
        words = (*words, "--enable-int8-mamba-checkpoint")
    yield replace(start, flags=flags, words=words, why=(*start.why, f"{why}, and an int8 one is half of another"))


def _kinds(now: Situation, start: _Try) -> Iterator[_Try]:
    """Smaller tokens."""
    if start.words:
        yield start
    for kind in ("fp8_e4m3", INT2):
        if kind == now.pools.cell.kind or now.pools.cell.kind == INT2:
            continue
        words: tuple[str, ...] = (*start.words, f"--kv-cache-dtype {kind}")
        if kind == INT2:
            words = (*words, "--attention-backend triton")
        series = " of this series" if kind == INT2 else ""
        yield replace(
            start,
            flags=replace(start.flags, kv_cache_dtype=kind),
            words=words,
            why=(*start.why, f"a token in {kind}{series} is smaller"),
            patched=True if kind == INT2 else None,
        )
