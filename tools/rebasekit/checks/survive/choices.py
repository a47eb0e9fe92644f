"""Values that a place accepts: string literals of annotations and choices, enum members, constants."""

from __future__ import annotations

import ast

from rebasekit.facts.query import Facts
from rebasekit.facts.syntax import expression


def accepted(facts: Facts, scope: int, annotation: str | None, depth: int = 3) -> frozenset[str] | None:
    """Strings that an annotation allows (`Literal[…]`, an alias of one, `choices=[…]`); None when it allows any."""
    if not annotation:
        return None
    node = expression(annotation.strip().strip("\"'"))
    if node is None:
        return None
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Subscript) and _last(part.value) == "Literal":
            found |= _strings(part.slice)
        elif isinstance(part, ast.keyword) and part.arg == "choices":
            found |= _strings(part.value) or _alias(facts, scope, part.value, depth)
    if not found and isinstance(node, (ast.Name, ast.Attribute)):
        found = _alias(facts, scope, node, depth)
    return frozenset(found) or None


def _alias(facts: Facts, scope: int, node: ast.expr, depth: int) -> set[str]:
    """`Kind = Literal["a", "b"]` or `KINDS = ["a", "b"]` at the top of a module."""
    if depth == 0 or not isinstance(node, (ast.Name, ast.Attribute)):
        return set()
    found: set[str] = set()
    for entity in facts.resolver.chain(scope, ast.unparse(node)):
        if entity.kind == "global" and not entity.rest:
            text = global_text(facts, entity.scope, entity.name)
            start = facts.program.first[entity.scope]
            found |= _listed(text) or set(accepted(facts, start, text, depth - 1) or ())
    return found


def _listed(text: str | None) -> set[str]:
    node = expression(text)
    return _strings(node) if node is not None else set()


def _strings(node: ast.expr) -> set[str]:
    items = node.elts if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else [node]
    return {n.value for n in items if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def global_text(facts: Facts, index: int, name: str) -> str | None:
    """Source of the only value that a module gives a name; None when there is none, or several."""
    texts = {assign[5] for assign in facts.program.file(index).raw_assigns(0) if assign[2] == name}
    return next(iter(texts)) if len(texts) == 1 else None


def keys(text: str | None) -> frozenset[str] | None:
    """The keys of a dictionary display; None for anything else, and when more come from elsewhere."""
    node = expression(text)
    if not isinstance(node, ast.Dict):
        return None
    found = [key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    return frozenset(found) if len(found) == len(node.keys) else None


def literal(text: str | None) -> object:
    """The value of a literal, or `literal` itself (never equal to one) for anything else."""
    if text is None:
        return literal
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return literal
