"""A hunk held against the maintainer's own rebase: the same statements, in the same scope and blocks, in his order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from tests.backtest.statements import Reading, Statement

TELLING = 3  # below it a statement says too little to be looked for: `return None`, `else`, `x = 1`
_FREE = ("def ", "class ", "Import(", "ImportFrom(")  # their order among their neighbours means nothing


@dataclass(frozen=True)
class Verdict:
    """`kept` statements are where the maintainer has them; `why` is what is wrong; neither: he has no answer."""

    kept: int = 0
    why: str = ""


def compare(
    added: Iterable[tuple[Statement, int]], removed: Iterable[Statement], ours: Reading, upstream: Reading, his: Reading
) -> Verdict:
    """`added` are statements and their weights that the hunk put in `ours`, the tool's finished file."""
    mine, theirs, pristine = ours.count, his.count, upstream.count
    kept = 0
    for statement, weight in added:
        if weight < TELLING or not mine[statement]:
            continue  # too little to say, or a later hunk of the fork went over it
        if theirs[statement]:
            if mine[statement] > theirs[statement] and pristine[statement]:
                return Verdict(kept, f"twice: {_short(statement)}")
            if why := _order(statement, ours, upstream, his):
                return Verdict(kept, why)
            kept += 1
        elif why := _elsewhere(statement, ours, upstream, his):
            return Verdict(kept, why)
    for statement in removed:
        key = (statement.scope, statement.code)
        twin = [s for s in upstream.coded.get(statement.code, ()) if s.scope == statement.scope and s != statement]
        if any(mine[s] > theirs[s] for s in twin) and theirs[statement] > mine[statement]:
            return Verdict(kept, f"took out another one: {_short(statement)}")
        kept += his.scoped[key] <= ours.scoped[key]
    return Verdict(kept)


def lost(added: Iterable[tuple[Statement, int]], ours: Reading | None, his: Reading | None) -> str:
    """What the maintainer still carries although the tool says that upstream has it."""
    if his is None:
        return ""
    for statement, weight in added:
        key = (statement.scope, statement.code)
        if weight >= TELLING and his.scoped[key] > (ours.scoped[key] if ours else 0):
            return f"left out: {_short(statement)}"
    return ""


def _elsewhere(statement: Statement, ours: Reading, upstream: Reading, his: Reading) -> str:
    """Whether the maintainer put the same code somewhere else, in a place that the release has too."""
    if (statement.scope, statement.blocks) not in upstream.places:
        return ""  # inside the fork's own text, where no tool decides anything
    twins = [s for s in his.coded.get(statement.code, ()) if not upstream.count[s]]
    if any(ours.count[t] for t in twins):
        return ""
    twins = [t for t in twins if (t.scope, t.blocks) in upstream.places]
    if not twins or ((statement.scope, statement.blocks) not in his.places and twins[0].scope == statement.scope):
        return ""
    where = ".".join(twins[0].scope) or "the module"
    return f"stands elsewhere, the maintainer has it in `{where}`: {_short(statement)}"


def _order(statement: Statement, ours: Reading, upstream: Reading, his: Reading) -> str:
    """Whether statements of the block that both have stand on the same side of it in both."""
    if statement.code.startswith(_FREE) or (statement.scope, statement.blocks) not in upstream.places:
        return ""
    mine, theirs = (reading.places[statement.scope, statement.blocks] for reading in (ours, his))
    once = {c for c, n in Counter(mine).items() if n == 1} & {c for c, n in Counter(theirs).items() if n == 1}
    if statement.code not in once:
        return ""
    here, there = mine.index(statement.code), theirs.index(statement.code)
    for code in once - {statement.code}:
        if not code.startswith(_FREE) and (mine.index(code) < here) != (theirs.index(code) < there):
            return f"on the other side of a statement: {_short(statement)}"
    return ""


def _short(statement: Statement) -> str:
    return f"{'.'.join(statement.scope)}: {statement.code[:60]}"
