"""From what a file reads and binds to the reads that fail."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from dataclasses import dataclass

from rebasekit.checks.unbound.scopes import Binding, Guard, Load, Reading, Scope

# What a module has without binding it.
MODULE_NAMES = frozenset(dir(builtins)) | {
    *("__file__", "__name__", "__path__", "__doc__", "__spec__", "__loader__", "__package__", "__builtins__"),
    *("__annotations__", "__cached__", "__dict__", "__class__", "WindowsError"),
}


@dataclass(frozen=True)
class Problem:
    """A read that fails. `kind` is a finding's kind, or `partly` when it fails on some runs only.

    `bindings` are the places that bind the name, none when there are none, and `outside` the guard around the scope
    that has them; `scope` is where the name is read.
    """

    kind: str
    load: Load
    bindings: tuple[Binding, ...] = ()
    outside: Guard | None = None

    @property
    def name(self) -> str:
        return self.load.name

    @property
    def scope(self) -> str:
        return self.load.scope.name


def problems(reading: Reading) -> Iterator[Problem]:
    """Everything that may fail, in no order. Names that only a star import could give are `unbound` here."""
    for scope in reading.scopes:
        for load in scope.loads:
            found = _problem(reading, scope, load)
            if found is not None:
                yield found


def _problem(reading: Reading, scope: Scope, load: Load) -> Problem | None:
    """What is wrong with one read; `scope` is the scope whose own code runs it."""
    name, module = load.name, reading.module
    if load.caught:
        return None
    if scope is not module and scope.owns(name):
        return _own(scope, load)
    outer = scope.parent
    while outer is not None and outer is not module:
        if outer.kind == "function" and outer.owns(name):
            if name in outer.bindings or name in outer.declared:
                return None
            return Problem("type-checking-only", load, tuple(outer.typing[name]))
        outer = outer.parent
    return _global(reading, load, immediate=scope is module)


def _own(scope: Scope, load: Load) -> Problem | None:
    """A read of the scope's own variable."""
    name = load.name
    bindings = tuple(scope.bindings.get(name, ()))
    if load.reached:
        return Problem("partly", load, bindings, scope.guard) if bindings else None
    if bindings:
        return Problem("unbound-before-assignment", load, bindings)
    if name in scope.typing:
        return Problem("type-checking-only", load, tuple(scope.typing[name]))
    return Problem("unbound", load)


def _global(reading: Reading, load: Load, *, immediate: bool) -> Problem | None:
    """A read of a module's name; `immediate` when it happens while the module is imported."""
    name, module = load.name, reading.module
    bindings = tuple(module.bindings.get(name, ()))
    if name in MODULE_NAMES or reading.dynamic:
        return None
    if not bindings:
        if name in module.typing:
            return Problem("type-checking-only", load, tuple(module.typing[name]))
        return Problem("unbound", load)
    if any(binding.how == "lazy" for binding in bindings):
        return None
    if immediate:
        return Problem("partly" if load.reached else "unbound-before-assignment", load, bindings)
    if module.dead or name in module.must:
        return None
    return Problem("partly" if name in module.may else "unbound", load, bindings)
