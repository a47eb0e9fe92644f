"""Whether a pattern's syntax fits a statement's, and what its wildcards stand for."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from rebasekit.edit.patterns import REST, WILD

_IGNORED = {"ctx", "type_comment", "kind", "type_params"}


@dataclass
class Bindings:
    """What the wildcards stand for, and which node each node of the pattern met."""

    names: dict[str, str] = field(default_factory=dict)
    nodes: dict[ast.AST, ast.AST] = field(default_factory=dict)

    def copy(self) -> Bindings:
        return Bindings(dict(self.names), dict(self.nodes))

    def take(self, other: Bindings) -> None:
        self.names, self.nodes = other.names, other.nodes


def _is_rest(node: object) -> bool:
    if isinstance(node, ast.Expr):
        node = node.value
    return isinstance(node, ast.Constant) and node.value is Ellipsis


def _wild(node: object) -> str | None:
    if isinstance(node, ast.Expr):
        node = node.value
    if isinstance(node, ast.Name) and node.id.startswith(WILD):
        return node.id[len(WILD) :]
    return None


def _bind(name: str, value: str, bindings: Bindings) -> bool:
    return name == "_" or bindings.names.setdefault(name, value) == value


def unify(pattern: ast.AST, node: ast.AST, bindings: Bindings, *, top: bool = False) -> bool:
    """Whether the node fits; `bindings` take what the wildcards met. `top` is the statement that a pattern is."""
    bindings.nodes[pattern] = node
    if not top:
        if _is_rest(pattern) and isinstance(node, ast.expr):
            return True
        name = _wild(pattern)
        if name is not None and isinstance(node, ast.expr if isinstance(pattern, ast.expr) else ast.stmt):
            return _bind(name, ast.unparse(node), bindings)
    if isinstance(pattern, ast.Set) and isinstance(node, ast.Dict) and all(_is_rest(e) for e in pattern.elts):
        return True  # `{...}` is any dict as well as any set
    if type(pattern) is not type(node):
        return False
    return all(
        _field(pattern, name, getattr(pattern, name, None), getattr(node, name, None), bindings)
        for name in pattern._fields
        if name not in _IGNORED
    )


def _field(owner: ast.AST, name: str, want: object, have: object, bindings: Bindings) -> bool:
    if not want and _left_out(owner, name):
        return True
    if isinstance(owner, ast.Call) and name == "keywords" and isinstance(have, list):
        return _keywords(owner, have, bindings)
    if isinstance(owner, ast.Constant):
        return type(want) is type(have) and want == have
    return _value(want, have, bindings)


def _left_out(owner: ast.AST, name: str) -> bool:
    """Whether a part of a header that the pattern does not have is not asked for."""
    if isinstance(owner, ast.ClassDef):
        return name in ("decorator_list", "keywords") or (name == "bases" and not owner.keywords)
    if isinstance(owner, ast.FunctionDef | ast.AsyncFunctionDef):
        return name in ("decorator_list", "returns")
    if isinstance(owner, ast.arg):
        return name == "annotation"
    return name == "orelse" and _open_body(owner)


def _has_rest(arguments: ast.arguments) -> bool:
    return arguments.vararg is not None and arguments.vararg.arg == REST


def _open_body(owner: ast.AST) -> bool:
    body = getattr(owner, "body", None)
    return isinstance(body, list) and any(_is_rest(item) for item in body)


def _value(want: object, have: object, bindings: Bindings) -> bool:
    if isinstance(want, list):
        return isinstance(have, list) and _sequence(want, have, bindings)
    if isinstance(want, ast.arguments) and isinstance(have, ast.arguments) and _has_rest(want):
        return _parameters(want, have, bindings)
    if isinstance(want, ast.AST):
        return isinstance(have, ast.AST) and unify(want, have, bindings)
    if isinstance(want, str) and want.startswith(WILD):
        return isinstance(have, str) and _bind(want[len(WILD) :], have, bindings)
    return type(want) is type(have) and want == have


def _parameters(want: ast.arguments, have: ast.arguments, bindings: Bindings) -> bool:
    """Parameters written before `...` come first, in order; those written after it are there, in any order."""
    first, listed = _positional(want), _positional(have)
    if len(first) > len(listed) or not all(_parameter(w, h, bindings) for w, h in zip(first, listed, strict=False)):
        return False
    left = listed[len(first) :] + list(zip(have.kwonlyargs, have.kw_defaults, strict=True))
    for parameter in zip(want.kwonlyargs, want.kw_defaults, strict=True):
        for index, other in enumerate(left):
            trial = bindings.copy()
            if _parameter(parameter, other, trial):
                bindings.take(trial)
                del left[index]
                break
        else:
            return False
    return want.kwarg is None or (have.kwarg is not None and unify(want.kwarg, have.kwarg, bindings))


_Parameter = tuple[ast.arg, ast.expr | None]


def _positional(arguments: ast.arguments) -> list[_Parameter]:
    listed = [*arguments.posonlyargs, *arguments.args]
    without = len(listed) - len(arguments.defaults)
    return [(arg, arguments.defaults[i - without] if i >= without else None) for i, arg in enumerate(listed)]


def _parameter(want: _Parameter, have: _Parameter, bindings: Bindings) -> bool:
    if not unify(want[0], have[0], bindings):
        return False
    return want[1] is None or (have[1] is not None and unify(want[1], have[1], bindings))


def _keywords(owner: ast.Call, have: list[ast.keyword], bindings: Bindings) -> bool:
    """Keywords are named, so their order means nothing; `...` among the arguments allows more of them."""
    want = owner.keywords
    if len(want) > len(have) or (len(want) < len(have) and not any(_is_rest(a) for a in owner.args)):
        return False
    left = list(have)
    for keyword in want:
        for index, other in enumerate(left):
            trial = bindings.copy()
            if (keyword.arg is None) == (other.arg is None) and unify(keyword, other, trial):
                bindings.take(trial)
                del left[index]
                break
        else:
            return False
    return True


def _sequence(want: Sequence[object], have: Sequence[object], bindings: Bindings) -> bool:
    """Match lists in which `...` stands for any run; backtracks over the runs only."""
    return _run(want, have, (0, 0), bindings, set())


def _run(
    want: Sequence[object], have: Sequence[object], at: tuple[int, int], bindings: Bindings, dead: set[object]
) -> bool:
    """Match from two positions on. `dead` holds what was tried in vain, so that runs do not multiply."""
    index, start = at
    while index < len(want) and not _is_rest(want[index]):
        if start >= len(have) or not _value(want[index], have[start], bindings):
            return False
        index, start = index + 1, start + 1
    if index == len(want):
        return start == len(have)
    rest = want[index + 1 :]
    if not rest:
        return True
    names = _names(rest)
    for skip in range(start, len(have) - sum(not _is_rest(item) for item in rest) + 1):
        key = (index, skip, tuple(bindings.names.get(name) for name in names))
        if key in dead:
            continue
        trial = bindings.copy()
        if _run(want, have, (index + 1, skip), trial, dead):
            bindings.take(trial)
            return True
        dead.add(key)
    return False


def _names(items: Sequence[object]) -> list[str]:
    """Wildcards in these parts of a pattern: the only bindings on which their fit depends."""
    found: set[str] = set()
    for item in items:
        for node in ast.walk(item) if isinstance(item, ast.AST) else ():
            found.update(v[len(WILD) :] for _, v in ast.iter_fields(node) if isinstance(v, str) and v.startswith(WILD))
        if isinstance(item, str) and item.startswith(WILD):
            found.add(item[len(WILD) :])
    return sorted(found - {"_"})
