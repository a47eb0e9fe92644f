"""Places inside a statement: an element of a literal, an argument of a call, a parameter, a base class."""

from __future__ import annotations

import ast

from rebasekit.edit import headers
from rebasekit.edit.blocks import AlreadyThere, Unplaceable
from rebasekit.edit.brackets import Bracketed, code_tokens, listed, pairs
from rebasekit.edit.match import Match, fits
from rebasekit.edit.owned import Splice
from rebasekit.edit.patterns import Pattern, PatternError, parse_pattern
from rebasekit.edit.scopes import Scope
from rebasekit.edit.source import Source
from rebasekit.edit.tokens import same

_LITERALS = (ast.List, ast.Tuple, ast.Set, ast.Dict)


def element(source: Source, pattern: Pattern, match: Match, ours: str, to: str) -> list[Splice]:
    """Add an element to the literal that the pattern marks with `...`, or that is the statement's only one."""
    literal = _target(pattern, match, _LITERALS, "literal")
    keys: list[ast.expr | None] = literal.keys if isinstance(literal, ast.Dict) else [*getattr(literal, "elts", [])]
    wrap = "{{{}}}" if isinstance(literal, ast.Dict | ast.Set) else "[{}]"
    mine = _parsed(wrap.format(ours))
    if type(mine) is not (type(literal) if wrap == "{{{}}}" else ast.List) or len(_elements(mine)) != 1:
        raise Unplaceable(f"`{ours}` is not one element of this literal")
    if ast.dump(_elements(mine)[0]) in [ast.dump(item) for item in _elements(literal)]:
        raise AlreadyThere(f"`{ours}` is already an element")
    index = len(keys) if not to else _behind(keys, to, "element")
    return _literal_list(source, literal, len(keys)).insert(ours, index)


def argument(source: Source, pattern: Pattern, match: Match, ours: str, to: str) -> list[Splice]:
    """Add an argument to the call that the pattern marks with `...`, or that is the statement's only one."""
    call = _target(pattern, match, (ast.Call,), "call")
    assert isinstance(call, ast.Call)
    mine = _one_argument(ours, "argument")
    name = mine.keywords[0].arg if mine.keywords else None
    for keyword in call.keywords:
        if name and keyword.arg == name:
            there = ast.dump(keyword.value) == ast.dump(mine.keywords[0].value)
            raise (AlreadyThere if there else Unplaceable)(f"the call already passes `{name}`")
    nodes: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    nodes.sort(key=lambda n: (n.lineno, n.col_offset))
    tokens = list(code_tokens(source, source.start(call), source.end(call)))
    close = len(tokens) - 1
    open_ = next((o for o, c in pairs(tokens).items() if c == close), None)
    if open_ is None:
        raise Unplaceable("the call's brackets cannot be read")
    if any(isinstance(n, ast.GeneratorExp) and source.start(n) == tokens[open_][1] for n in nodes):
        raise Unplaceable("a generator that is the only argument has no brackets of its own")
    index = len(nodes)
    if to:
        index = _behind(nodes, to, "argument")
    elif mine.args and isinstance(mine.args[0], ast.Starred):
        index = next((i for i, n in enumerate(nodes) if isinstance(n, ast.keyword) and n.arg is None), index)
    elif mine.args:
        index = sum(not isinstance(n, ast.keyword | ast.Starred) for n in nodes)
    return listed(source, tokens, (tokens[open_][2], tokens[close][1]), len(nodes)).insert(ours, index)


def parameter(source: Source, scope: Scope, ours: str, to: str) -> list[Splice]:
    """Add a parameter: after the one named by `to`, else last, before `**`."""
    node = scope.node
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        raise Unplaceable("only a function has parameters")
    mine = _one_parameter(ours)
    inside, names = headers.signature(source, node), headers.names(node.args)
    if mine in names:
        item = inside.items[names.index(mine)]
        there = same(f"def f({source.text[item.start : item.end]}): pass", f"def f({ours}): pass")
        raise (AlreadyThere if there else Unplaceable)(f"`{scope.name}` already has a parameter `{mine}`")
    if to and to not in names:
        raise Unplaceable(f"`{scope.name}` has no parameter `{to}`")
    index = names.index(to) + 1 if to else len(names) - (node.args.kwarg is not None)
    return inside.insert(ours, index)


def base(source: Source, scope: Scope, ours: str) -> list[Splice]:
    """Add a base class after the bases there are, before keywords."""
    node = scope.node
    if not isinstance(node, ast.ClassDef):
        raise Unplaceable("only a class has bases")
    mine = _one_argument(ours, "base")
    if mine.args and ast.dump(mine.args[0]) in [ast.dump(b) for b in node.bases]:
        raise AlreadyThere(f"`{ours}` is already a base of `{scope.name}`")
    inside = headers.bases(source, node)
    if isinstance(inside, int):
        return [Splice(inside, inside, f"({ours})")]
    return inside.insert(ours, len(inside.items) if mine.keywords else len(node.bases))


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _one_argument(ours: str, word: str) -> ast.Call:
    mine = _parsed(f"f({ours})")
    if (
        not isinstance(mine, ast.Call)
        or not isinstance(mine.func, ast.Name)
        or len(mine.args) + len(mine.keywords) != 1
    ):
        raise Unplaceable(f"`{ours}` is not one {word}")
    return mine


def _one_parameter(ours: str) -> str:
    """Its name."""
    try:
        body = ast.parse(f"def f({ours}): pass").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        body = []
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef) or len(names := headers.names(body[0].args)) != 1:
        raise Unplaceable(f"`{ours}` is not one parameter")
    return names[0]


def _elements(literal: ast.expr | None) -> list[ast.AST]:
    """The elements; a pair of a dict as one node."""
    if isinstance(literal, ast.Dict):
        return [ast.Dict([key], [value]) for key, value in zip(literal.keys, literal.values, strict=True)]
    return [*getattr(literal, "elts", [])]


def _target(pattern: Pattern, match: Match, kinds: tuple[type[ast.AST], ...], word: str) -> ast.expr:
    """The node of the upstream statement that the pattern points at."""
    marked = [n for n in ast.walk(pattern.node) if isinstance(n, kinds) and _marked(n)]
    if not marked:
        marked = [n for n in ast.walk(pattern.node) if isinstance(n, kinds) and n in match.nodes]
    if len(marked) != 1:
        raise Unplaceable(f"the pattern points at {len(marked)} {word}s: mark one with `...`")
    node = match.nodes.get(marked[0])
    if not isinstance(node, ast.expr) or not isinstance(node, kinds):
        raise Unplaceable(f"the anchor has no {word} there")
    strings = (n for n in ast.walk(match.node) if isinstance(n, ast.JoinedStr))
    if any(inner is node for string in strings for inner in ast.walk(string)):
        raise Unplaceable(f"the {word} is in an f-string")
    return node


def _marked(node: ast.AST) -> bool:
    inside = node.args if isinstance(node, ast.Call) else getattr(node, "elts", [])
    return any(isinstance(n, ast.Constant) and n.value is Ellipsis for n in inside)


def _literal_list(source: Source, literal: ast.expr, count: int) -> Bracketed:
    start, end = source.start(literal), source.end(literal)
    tokens = list(code_tokens(source, start, end))
    if isinstance(literal, ast.Tuple) and pairs(tokens).get(0) != len(tokens) - 1:
        return listed(source, tokens, (start, end), count)  # a tuple without parentheses
    return listed(source, tokens, (start + 1, end - 1), count)


def _behind(nodes: list[ast.expr | None] | list[ast.expr | ast.keyword], to: str, word: str) -> int:
    """Position behind the item that `to` names: a keyword's name, or an expression with wildcards."""
    try:
        want = parse_pattern(to).node
    except PatternError:
        want = None
    for index, node in enumerate(nodes):
        if isinstance(node, ast.keyword):
            if node.arg is not None and node.arg == to:
                return index + 1
        elif node is not None and isinstance(want, ast.Expr) and fits(want.value, node):
            return index + 1
    raise Unplaceable(f"no {word} `{to}` to stand after")
