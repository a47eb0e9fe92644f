"""Which flags to change, and which of them only together: each piece of advice is solved again before it is given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from rebasekit.model.size import size
from rebasekit.probes.capacity.situation import Advice, Situation
from rebasekit.probes.capacity.together import together

_STEP = Fraction(1, 1000)


def advise(now: Situation) -> list[Advice]:
    """What to change; nothing when everything fits."""
    return [*_cap(now), *together(now), *_requests(now), *_context(now), *_uncounted(now), *_transient(now)]


def _cap(now: Situation) -> Iterator[Advice]:
    cap, pools = now.flags.max_total_tokens, now.pools
    if cap is None:
        return
    if pools.binding == "cap":
        more = f"the budget holds {pools.uncapped:,} tokens, {pools.uncapped - pools.tokens:,} more"
        yield Advice((f"--max-total-tokens {pools.uncapped}",), f"it is a cap: {more}", f"{pools.uncapped:,} tokens")
    elif cap > pools.uncapped:
        why = f"it is a cap, not a size: the budget holds {pools.uncapped:,} tokens, so raising it changes nothing"
        yield Advice((f"--max-total-tokens {cap}",), why)


def _requests(now: Situation) -> Iterator[Advice]:
    pools, asked = now.pools, now.flags.max_running_requests
    if pools.request_limit != "mamba slots" or pools.states is None or asked is None:
        return
    slots = asked * pools.states.per_request
    after = now.solved(replace(now.flags, max_mamba_cache_size=slots))
    yield Advice(
        (f"--max-running-requests {asked}", f"--max-mamba-cache-size {slots}"),
        f"{pools.state_slots} slots serve {pools.requests} requests, since one keeps {pools.states.per_request} with "
        f"{pools.states.strategy}",
        f"{after.tokens:,} tokens" if after else "which does not fit",
    )


def _context(now: Situation) -> Iterator[Advice]:
    limit = now.flags.context_length or now.model.context
    if now.fit is not None and now.fit.length > limit:
        why = f"a chain of {now.fit.length:,} tokens is longer than {limit:,}"
        yield Advice((f"--context-length {now.fit.length}",), why)


def _uncounted(now: Situation) -> Iterator[Advice]:
    pools, fraction = now.pools, now.flags.mem_fraction_static
    if pools.counted or not pools.checkpoint_bytes or fraction is None:
        return
    lower = max((fraction - Fraction(pools.checkpoint_bytes, now.memory.free)) // _STEP * _STEP, _STEP)
    yield Advice(
        (f"--int8-mamba-ckpt-size {pools.checkpoint_slots}", f"--mem-fraction-static {float(lower):g}"),
        f"upstream pays {size(pools.checkpoint_bytes)} of checkpoints from what the budget leaves for activations",
    )


def _transient(now: Situation) -> Iterator[Advice]:
    fraction, over = now.flags.mem_fraction_static, now.transient - now.pools.reserve
    if over <= 0 or fraction is None:
        return
    lower = max((fraction - Fraction(over, now.memory.free)) // _STEP * _STEP, _STEP)
    after = now.solved(replace(now.flags, mem_fraction_static=lower))
    yield Advice(
        (f"--mem-fraction-static {float(lower):g}",),
        f"prefill expands the prefix to {size(now.transient)} outside the static part, which leaves "
        f"{size(now.pools.reserve)}, and activations need more",
        f"{after.tokens:,} tokens" if after else "which does not fit",
    )
