"""What a finding says."""

from __future__ import annotations

from rebasekit.checks.unbound.guards import branch_of
from rebasekit.checks.unbound.resolve import Problem
from rebasekit.checks.unbound.scopes import Binding
from rebasekit.checks.unbound.stale import Stale


def of(problem: Problem) -> str:
    """One sentence: the name, what is wrong, and where the name does come from."""
    name, bindings = problem.name, problem.bindings
    if problem.kind == "type-checking-only":
        return f"`{name}` exists only for type checkers (line {bindings[0].line}), and is read when the code runs"
    if problem.kind == "unbound-before-assignment":
        lines = _lines(bindings)
        return (
            f"`{name}` is read before it has a value: it gets one on {lines}, which makes it a variable of this scope"
        )
    if problem.kind == "partly":
        return f"`{name}` is bound only under {_branches(problem)}, and nothing on the way here asks for that"
    if bindings:
        return f"`{name}` is gone when this runs: what {_lines(bindings)} binds is deleted or ends with its `except`"
    return f"nothing binds `{name}`"


def _lines(bindings: tuple[Binding, ...]) -> str:
    numbers = sorted({binding.line for binding in bindings})
    return f"line {numbers[0]}" if len(numbers) == 1 else "lines " + ", ".join(map(str, numbers[:4]))


def _branches(problem: Problem) -> str:
    labels: list[str] = []
    for binding in problem.bindings:
        guard = branch_of(binding, problem.outside)
        text = f"`{guard.label}` (line {guard.line})" if guard is not None else ""
        if text and text not in labels:
            labels.append(text)
    return " and ".join(labels[:3])


def export(name: str) -> str:
    return f"`{name}` is in `__all__`, and nothing binds it"


def lost(name: str, scope: str) -> str:
    return f"`{name}` was a parameter or variable of `{scope}`; now this reads the builtin"


def attribute(name: str, owner: str) -> str:
    return f"nothing assigns `{name}` on `{owner}` or any class of its hierarchy"


def stale(found: Stale) -> str:
    again = found.rebinding
    return (
        f"`{found.name}` is imported by value from `{again.module}`, and {again.file}:{again.line} gives it another "
        f"value later: this module keeps the old one"
    )
