"""What annotations say: the classes of a union, and what a container holds."""

from __future__ import annotations

import ast
from functools import cache

_SEQUENCES = frozenset(
    ["list", "List", "Sequence", "Iterable", "Iterator", "set", "Set", "frozenset", "tuple", "Tuple", "deque", "Deque",
     "Collection", "MutableSequence", "Generator"]
)  # fmt: skip
_MAPPINGS = frozenset(["dict", "Dict", "Mapping", "MutableMapping", "defaultdict", "DefaultDict", "OrderedDict"])


@cache
def alternatives(text: str) -> tuple[str, ...]:
    """The parts of a union that are not None: `Optional[X]`, `Union[X, Y]`, `X | Y`, `Annotated[X, …]`."""
    try:
        node = ast.parse(text.strip().strip("\"'"), mode="eval").body
    except (SyntaxError, ValueError):
        return (text,)
    return tuple([ast.unparse(n) for n in _alternatives(node)])


def _alternatives(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _alternatives(node.left) + _alternatives(node.right)
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            try:
                return _alternatives(ast.parse(node.value, mode="eval").body)
            except (SyntaxError, ValueError):
                return []
        return []
    if isinstance(node, ast.Subscript):
        name = _last(node.value)
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if name in ("Optional", "Union"):
            return [n for item in inner for n in _alternatives(item)]
        if name in ("Annotated", "A", "Final", "ClassVar", "Required", "NotRequired") and inner:
            return _alternatives(inner[0])
    return [node]


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


@cache
def element(text: str) -> str | None:
    """What iterating or subscripting an annotated container gives (a mapping: its values)."""
    for part in alternatives(text):
        try:
            node = ast.parse(part, mode="eval").body
        except (SyntaxError, ValueError):
            return None
        if isinstance(node, ast.Subscript):
            inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            name = _last(node.value)
            if name in _SEQUENCES and inner:
                return ast.unparse(inner[0])
            if name in _MAPPINGS and len(inner) == 2:
                return ast.unparse(inner[1])
    return None
