"""What the text of a function says of its names beyond assignments: tests, casts, and what loops take out of others.

Names are looked at in a whole function at once, so `x` of an `isinstance(x, C)` counts as a `C` before the test too.
A hint is asked for only where nothing else says what a name is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from rebasekit.checks.survive.refs import class_text, element, of_call, to_ref
from rebasekit.facts.records import Ref
from rebasekit.facts.syntax import dotted

Hints = dict[str, tuple[Ref, ...]]  # a name, or a chain such as `self.x`, and what it may be
_KEYED = frozenset({"sorted", "max", "min", "filter", "map", "sort"})


def hints(function: ast.AST) -> Hints:
    """Hints for the names in a function, those nested in it included."""
    found: dict[str, dict[Ref, None]] = {}
    for node in ast.walk(function):
        for name, ref in _told(node):
            if ref is not None:
                found.setdefault(name, {})[ref] = None
    return {name: tuple(refs) for name, refs in found.items()}


def _told(node: ast.AST) -> Iterator[tuple[str, Ref]]:
    if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        yield from _taken(node.target, node.iter)
    elif isinstance(node, ast.Assign) and len(node.targets) == 1:
        yield from _given(node.targets[0], node.value)
    elif isinstance(node, ast.NamedExpr):
        yield from _given(node.target, node.value)
    elif isinstance(node, ast.Call):
        yield from _called(node)


def _taken(target: ast.expr, source: ast.expr) -> Iterator[tuple[str, Ref]]:
    """A loop's names: elements of what `enumerate`, `zip`, `items` and slices pass on."""
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    call = dotted(source.func) if isinstance(source, ast.Call) else ""
    given = source.args if isinstance(source, ast.Call) else []
    if call == "enumerate" and len(parts) == 2 and given:
        yield from _taken(parts[1], given[0])
    elif call == "zip" and len(parts) == len(given):
        for part, one in zip(parts, given, strict=True):
            yield from _taken(part, one)
    elif isinstance(source, ast.Call) and call.endswith(".items") and len(parts) == 2:
        assert isinstance(source.func, ast.Attribute)
        yield from _named(parts[1], ("s", to_ref(source.func.value)))
    elif len(parts) == 1 and (base := element(source)) is not None:
        yield from _named(parts[0], base)


def _given(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, Ref]]:
    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice):
        yield from _named(target, to_ref(value.value))
    elif isinstance(value, ast.Call):
        yield from _named(target, of_call(value))


def _called(node: ast.Call) -> Iterator[tuple[str, Ref]]:
    """`isinstance(x, C)`, and lambdas that get the elements of a list."""
    name = dotted(node.func)
    if name == "isinstance" and len(node.args) == 2:
        kinds = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
        for kind in kinds:
            yield from _named(node.args[0], ("r", class_text(kind)))
    if name.rpartition(".")[2] not in _KEYED:
        return
    lambdas = [n for n in (*node.args, *(k.value for k in node.keywords)) if isinstance(n, ast.Lambda)]
    sources = [n for n in node.args if not isinstance(n, ast.Lambda)]
    if not sources and isinstance(node.func, ast.Attribute):
        sources = [node.func.value]
    for one in lambdas:
        if len(one.args.args) == 1 and len(sources) == 1 and (base := element(sources[0])) is not None:
            yield one.args.args[0].arg, base


def _named(target: ast.expr, ref: Ref) -> Iterator[tuple[str, Ref]]:
    name = dotted(target)
    if name and ref is not None and ref != ("r", None):
        yield name, ref


def replaced(ref: Ref, known: Hints) -> Iterator[Ref]:
    """An expression with the name that it starts from replaced by what is known of it."""
    if isinstance(ref, str):
        parts = ref.split(".")
        for cut in range(len(parts), 0, -1):
            rest = ".".join(parts[cut:])
            for other in known.get(".".join(parts[:cut]), ()):
                if not rest:
                    yield other
                else:
                    yield f"{other}.{rest}" if isinstance(other, str) else ("a", other, rest)
    elif isinstance(ref, tuple) and ref[0] in ("s", "r", "a"):
        for other in replaced(ref[1], known):
            yield (ref[0], other, *ref[2:])
