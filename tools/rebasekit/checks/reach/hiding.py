"""Whether an assignment still counts where a name is used, or later ones have replaced it on every path."""

from __future__ import annotations

from rebasekit.checks.reach.occurrences import Use
from rebasekit.facts.file import FileFacts
from rebasekit.facts.program import Program


def hidden(program: Program, scope_id: int, name: str, line: int, use: Use) -> bool:
    """Whether what `name` held at `line` is surely replaced before `use`.

    `if`/`elif`/`else` that assigns on every branch replaces it too; loops and `try` are taken as not replacing.
    """
    if line < 0 or use.scope != scope_id:
        return False
    file = program.file_of(scope_id)
    later = {
        assign.guard
        for assign in program.body(scope_id).assigns
        # `x = x or y` keeps what x held: it is followed as an assignment of its own.
        if assign.target == name and line < assign.line < use.place.line
    }
    if not later:
        return False
    branches = _branches(file, later)
    above = use.place.guard
    while True:
        if _covered(above, later, branches):
            return True
        if above == 0:
            return False
        above = file.guard(above).parent


def _branches(file: FileFacts, guards: set[int]) -> dict[int, dict[tuple[str, int], dict[bool, set[int]]]]:
    """Tests below each guard, on the way to `guards`: (text, line) to the guards of either outcome."""
    found: dict[int, dict[tuple[str, int], dict[bool, set[int]]]] = {}
    for index in guards:
        while index:
            guard = file.guard(index)
            sides = found.setdefault(guard.parent, {}).setdefault((guard.text, guard.line), {True: set(), False: set()})
            sides[guard.holds].add(index)
            index = guard.parent
    return found


def _covered(guard: int, later: set[int], branches: dict[int, dict[tuple[str, int], dict[bool, set[int]]]]) -> bool:
    if guard in later:
        return True
    return any(
        any(_covered(g, later, branches) for g in sides[True])
        and any(_covered(g, later, branches) for g in sides[False])
        for sides in branches.get(guard, {}).values()
    )
