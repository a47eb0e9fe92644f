"""How a capacity plan is shown: tables, and the JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rebasekit.model.size import size

if TYPE_CHECKING:
    from rich.table import Table

    from rebasekit.console import Console
    from rebasekit.probes.capacity.plan import Plan
    from rebasekit.probes.capacity.server import Running

SCHEMA = 1
DENSE_AT = 131_072  # tokens of the prefix by which dense copies are compared


def show(console: Console, plan: Plan, reported: Running | None = None) -> None:
    """Everything for people; what does not fit is said in the last lines, with what to change."""
    console.show(_card(plan), _tokens(plan))
    for line in _lines(plan, reported):
        console.line(line)
    for advice in plan.advice:
        console.line(f"change together: {' '.join(advice.flags)}")
        console.line(f"    {advice.why}" + (f"; {advice.after}" if advice.after else ""))


def _card(plan: Plan) -> Table:
    """Where a card's memory goes."""
    table = _table("memory of one card", "", "size", "")
    for name, count, note in _parts(plan):
        table.add_row(name, size(count), note)
    return table


def _parts(plan: Plan) -> list[tuple[str, int, str]]:
    pools, memory = plan.pools, plan.deployment.memory
    taken = memory.total - memory.free
    found = [("taken before", taken, "")] if taken > 0 else []
    found.append(("weights", memory.weights, ""))
    if pools.states is not None:
        note = f"{pools.state_slots} slots of {size(pools.states.slot)}, and one for padding"
        found.append(("states", pools.state_bytes, note))
    if pools.checkpoint_slots and pools.states is not None:
        note = f"{pools.checkpoint_slots} int8 slots of {size(pools.states.checkpoint)}, and one for padding"
        note += "" if pools.counted else "; outside the budget"
        found.append(("checkpoints", pools.checkpoint_bytes, note))
    rows = pools.cell.rows_bytes(pools.tokens + (plan.deployment.flags.page_size or 1))
    note = f"{pools.tokens:,} tokens of {pools.cell.bytes:,} B"
    found.append(("KV cache", pools.kv_bytes, note + (f", 16-bit rows {size(rows)}" if rows else "")))
    left = pools.rest - pools.state_bytes - pools.kv_bytes - (pools.checkpoint_bytes if pools.counted else 0)
    found.append(("not used", max(left, 0), "of the static part"))
    found.append(("reserve", pools.reserve, "activations, CUDA graphs, the request table"))
    return found


def _tokens(plan: Plan) -> Table:
    """A token in each type of KV cache."""
    table = _table("KV cache", "type", "bytes of a token and rank", "16-bit rows")
    for cell in plan.cells:
        rows = f"{cell.row_limit} of {size(cell.row)}" if cell.row_limit else ""
        table.add_row(cell.kind, f"{cell.bytes:,}", rows)
    return table


def _lines(plan: Plan, reported: Running | None) -> list[str]:
    pools, asked = plan.pools, plan.deployment
    found = [f"max_total_num_tokens  {pools.tokens:,}, limited by {_limit(pools.binding)}"]
    if reported is not None:
        off = 100 * (pools.tokens - reported.tokens) / max(reported.tokens, 1)
        found.append(f"the server says       {reported.tokens:,}; the prediction is {off:+.1f} % off")
        found.append(f"its KV cache          {size(reported.kv_bytes)}, {_own_cell(plan, reported)}")
    found.append(f"requests at once      {pools.requests:,}, limited by {pools.request_limit}")
    if pools.states is not None:
        each = f"{pools.states.per_request} slots each with {pools.states.strategy}"
        found.append(f"state slots allow     {pools.state_requests:,} requests, {each}")
        others = [f"{name} ({slots}) {pools.state_slots // slots:,}" for name, slots in _strategies(plan).items()]
        found.append(f"    by strategy       {', '.join(others)}")
    if plan.fit is not None:
        found += _chains(plan)
    copy = size(plan.dense_copy(DENSE_AT))
    made = f"{asked.dense_copies} of them at once" if asked.dense_copies else "none is made"
    found.append(f"dense prefix copy     {copy} at {DENSE_AT:,} tokens, one layer in 16 bit; {made}")
    return found


def _strategies(plan: Plan) -> dict[str, int]:
    from rebasekit.probes.capacity.states import every_strategy

    return every_strategy(plan.deployment.flags)


def _own_cell(plan: Plan, reported: Running) -> str:
    """Bytes of a token by the server's own figures, which say whether this is the model and the type that it serves."""
    page = plan.deployment.flags.page_size or 1
    rows = plan.pools.cell.rows_bytes(reported.tokens + page)
    return f"{(reported.kv_bytes - rows) / max(reported.tokens + page, 1):,.1f} bytes a token"


def _limit(binding: str) -> str:
    return {"cap": "the cap --max-total-tokens", "mamba slots": "mamba slots that take more than their share"}.get(
        binding, "the budget"
    )


def _chains(plan: Plan) -> list[str]:
    fit = plan.fit
    assert fit is not None
    word = "fit" if fit.ok else "do not fit"
    head = f"{fit.wanted} × {fit.length:,} = {fit.tokens_needed:,} tokens"
    found = [f"chains                {fit.chains} of {fit.length:,} tokens, limited by {fit.limit}; {head} {word}"]
    if fit.slots is not None:
        low, high = fit.needed
        needed = f"{low}–{high}" if low != high else f"{high}"
        found.append(
            f"state slots           {needed} for a chain at chunk {fit.chunk}, {fit.slots_needed} for all, "
            f"{fit.slots} are there"
        )
    return found


def _table(title: str, *columns: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number == 1 else "left", overflow="fold")
    return table


def data(plan: Plan, reported: Running | None = None) -> dict[str, Any]:
    """The plan as JSON; docs/capacity.md describes it."""
    from dataclasses import asdict

    pools, asked = plan.pools, plan.deployment
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "ok": plan.ok,
        "model": asked.model.name,
        "ranks": asked.ranks,
        "patched": asked.patched,
        "memory": {**asdict(asked.memory), "static": pools.static, "rest": pools.rest, "reserve": pools.reserve},
        "tokens": {"max_total_num_tokens": pools.tokens, "limit": pools.binding, "without_cap": pools.uncapped},
        "cells": [asdict(cell) for cell in plan.cells],
        "kv_bytes": pools.kv_bytes,
        "requests": {"count": pools.requests, "limit": pools.request_limit, "by_states": pools.state_requests},
        "states": None,
        "chains": None,
        "dense_copy": {"tokens": DENSE_AT, "bytes": plan.dense_copy(DENSE_AT), "copies": asked.dense_copies},
        "advice": [asdict(advice) for advice in plan.advice],
        "shares": [{"tokens": share.tokens, **share.parts} for share in plan.shares()],
    }
    if pools.states is not None:
        found["states"] = {
            **asdict(pools.states),
            "slots": pools.state_slots,
            "bytes": pools.state_bytes,
            "checkpoint_slots": pools.checkpoint_slots,
            "checkpoint_bytes": pools.checkpoint_bytes,
            "counted": pools.counted,
            "by_strategy": {
                name: {"slots": slots, "requests": pools.state_slots // slots}
                for name, slots in _strategies(plan).items()
            },
        }
    if plan.fit is not None:
        fit = plan.fit
        found["chains"] = {**asdict(fit), "fit": fit.chains, "limit": fit.limit, "slots_needed": fit.slots_needed}
    if reported is not None:
        found["reported"] = {
            "max_total_num_tokens": reported.tokens,
            "requests": reported.requests,
            "kv_bytes": reported.kv_bytes,
        }
    return found
