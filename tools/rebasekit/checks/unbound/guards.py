"""What the conditions on the way to a read say about the conditions under which its name is bound."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from rebasekit.checks.unbound.scopes import Binding, Flags, Guard
from rebasekit.facts.syntax import dotted

_WORD = re.compile(r"[a-z0-9]+")
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_")
# Words of flags and predicates that say nothing about what they ask for.
_EMPTY = frozenset(
    {
        *("is", "has", "have", "can", "use", "used", "using", "not", "get", "the", "self", "cls", "of", "and", "or"),
        *("support", "supported", "supports", "available", "enable", "enabled", "flag", "none", "true", "false", "in"),
        *("bool", "env", "var", "int", "str", "len", "type"),
    }
)


def branch_of(binding: Binding, outside: Guard | None = None) -> Guard | None:
    """The block in which a name is bound: the innermost arm of a condition, else the innermost `try`.

    Only blocks inside the scope count, which itself stands under `outside`.
    """
    found: Guard | None = None
    for guard in binding.guard.path() if binding.guard else ():
        if guard is outside:
            break
        if guard.branch and guard.word not in ("try", "except"):
            return guard
        if guard.branch and found is None:
            found = guard
    return found


def _split(name: str) -> set[str]:
    return set(_WORD.findall(_CAPITAL.sub(" ", name).lower()))


def _blocks(guard: Guard | None) -> Iterator[str]:
    """The blocks around a place, as words that no text has."""
    for step in guard.path() if guard else ():
        if step.branch or step.test is None:
            yield f"@{step.line}"


def words(guard: Guard | None, flags: Flags, *, held: bool = False) -> set[str]:
    """What the conditions talk about: the words in their names, and in those of the values of their flags.

    A flag that is set in a block (`HAS_X = True` beside `import x` in a `try`) also talks about the block. `held`
    leaves out the conditions that were false.
    """
    found: set[str] = set()
    seen: set[str] = set()
    steps = list(guard.path()) if guard else []
    todo = [step.test for step in steps if step.test is not None and (step.holds or not held)]
    while todo:
        for node in ast.walk(todo.pop()):
            name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                name = node.value
            found |= _split(name)
            if isinstance(node, ast.Name) and name not in seen:
                seen.add(name)
                for value, under in flags.get(name, ()):
                    todo.append(value)
                    found.update(_blocks(under))
    return found - _EMPTY


def related(load: Guard | None, bindings: Iterable[Binding], flags: Flags, path: str = "", scope: str = "") -> bool:
    """Whether the way to the read asks about anything that decides about one of the bindings.

    Names ask too: `forward_npu` and `npu/pool.py` stand for their platform, `AiterBackend` for the package `aiter`.
    """
    asked = words(load, flags)
    named = _split(scope) - _EMPTY
    place = named | (_split(path) - _EMPTY)
    for binding in bindings:
        if asked & (words(binding.guard, flags) | set(_blocks(binding.guard))):
            return True
        if place & words(binding.guard, flags, held=True):
            return True
        package = _split(binding.source.partition(".")[0])
        if package and not package & _split(path.partition("/")[0]) and package <= asked | named:
            return True
    return False


def _literals(test: ast.expr, holds: bool, flags: Flags, depth: int = 3) -> Iterator[tuple[str, bool]]:
    """The facts that follow from a condition: `a and not b` gives `a` and not `b`."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _literals(test.operand, not holds, flags, depth)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) is holds:
        for value in test.values:
            yield from _literals(value, holds, flags, depth)
    elif isinstance(test, ast.Name):
        values = flags.get(test.id, [])
        yield test.id, holds
        if len(values) == 1 and depth:
            yield from _literals(values[0][0], holds, flags, depth - 1)
    elif isinstance(test, ast.Call) and dotted(test.func) and not test.args and not test.keywords:
        yield f"{dotted(test.func)}()", holds


def _facts(guard: Guard | None, flags: Flags) -> set[tuple[str, bool]]:
    steps = [step for step in guard.path() if step.test is not None] if guard else []
    return {fact for step in steps for fact in _literals(step.test, step.holds, flags) if step.word != "except"}  # type: ignore[arg-type]


def excluded(load: Guard | None, bindings: Iterable[Binding], flags: Flags) -> bool:
    """Whether the way to the read contradicts every way that binds the name, so that the read always fails."""
    facts = _facts(load, flags)
    if not facts:
        return False
    return all(any((text, not holds) in facts for text, holds in _facts(binding.guard, flags)) for binding in bindings)
