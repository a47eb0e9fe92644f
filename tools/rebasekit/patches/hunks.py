"""The hunks of one `patch.toml`."""

from __future__ import annotations

from typing import Any

from rebasekit.model.hunk import Form, Hunk
from rebasekit.patches.body import Folder
from rebasekit.patches.form import read_form
from rebasekit.patches.paths import name_problem
from rebasekit.patches.pattern import PatternCheck
from rebasekit.patches.problems import Problems, short
from rebasekit.patches.ranges import Interval, interval
from rebasekit.patches.table import Table


def read_hunks(
    patch: str, raw: list[dict[str, Any]], shown: str, folder: Folder, check: PatternCheck, problems: Problems
) -> tuple[Hunk, ...]:
    """Read every hunk of a patch; `shown` is the file's name in messages."""
    hunks: list[Hunk] = []
    names: set[str] = set()
    for number, data in enumerate(raw, 1):
        ident = _id(data, number, shown, problems)
        where = f'{shown}: hunk "{ident}"' if ident else f"{shown}: hunk {number}"
        if ident and ident in names:
            problems.add(f"{where}: id", "is used twice in this patch")
        names.add(ident)
        hunk = _read_hunk(patch, ident, Table(data, where, problems), folder, check)
        if hunk is not None:
            hunks.append(hunk)
    return tuple(hunks)


def _id(data: dict[str, Any], number: int, shown: str, problems: Problems) -> str:
    return Table(data, f"{shown}: hunk {number}", problems).text("id", required=True, check=name_problem)


def _read_hunk(patch: str, ident: str, table: Table, folder: Folder, check: PatternCheck) -> Hunk | None:
    table.has("id")
    base = read_form(table, folder, None, check)
    decision, why, idle = (table.prose(key) for key in ("decision", "why", "idle"))
    variants = table.tables("variant")
    table.close()
    if base is None:
        return None
    forms: list[Form] = [base]
    seen: list[tuple[int, Interval]] = []
    for number, data in enumerate(variants, 1):
        variant = Table(data, f"{table.where}: variant {number}", table.problems)
        form = read_form(variant, folder, base, check)
        variant.close()
        if form is None:
            continue
        forms.append(form)
        if form.tags is not None:
            mine = interval(form.tags)
            for other, theirs in seen:
                if mine.overlaps(theirs):
                    variant.problem("tags", f"{short(form.tags)} overlaps with variant {other}")
            seen.append((number, mine))
    return Hunk(patch=patch, id=ident, forms=tuple(forms), decision=decision, why=why, idle=idle)
