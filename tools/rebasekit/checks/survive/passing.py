"""Functions that are handed to others together with the arguments they will get."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from rebasekit.facts.syntax import dotted

_OPEN = frozenset({"partial", "partialmethod"})  # whoever calls the result may add arguments
_NEXT = frozenset({"submit", "to_thread", "call_soon", "call_soon_threadsafe", "run_in_executor"})
_LATER = frozenset({"Thread", "Process"})


def passed_on(node: ast.Call) -> Iterator[ast.Call]:
    """The calls that a call prepares: `partial(f, 1)`, `pool.submit(f, 1)`, `Thread(target=f, args=(1,))`."""
    name = dotted(node.func).rpartition(".")[2] or getattr(node.func, "attr", "")
    if name in _OPEN or name in _NEXT:
        given = node.args[name == "run_in_executor" :]
        if given and isinstance(given[0], (ast.Name, ast.Attribute)):
            yield _call(node, given[0], given[1:], node.keywords, more=name in _OPEN)
    elif name in _LATER:
        by_name = {keyword.arg: keyword.value for keyword in node.keywords}
        target, args, named = by_name.get("target"), by_name.get("args"), by_name.get("kwargs")
        if not isinstance(target, (ast.Name, ast.Attribute)) or not _plain(args, named):
            return
        given = args.elts if isinstance(args, (ast.Tuple, ast.List)) else []
        pairs = zip(named.keys, named.values, strict=True) if isinstance(named, ast.Dict) else ()
        keywords = [ast.keyword(str(k.value), value) for k, value in pairs if isinstance(k, ast.Constant)]
        yield _call(node, target, given, keywords)


def _plain(args: ast.expr | None, named: ast.expr | None) -> bool:
    """Whether all arguments stand in the text."""
    keys = named.keys if isinstance(named, ast.Dict) else []
    return (args is None or isinstance(args, (ast.Tuple, ast.List))) and (
        named is None or (isinstance(named, ast.Dict) and all(isinstance(key, ast.Constant) for key in keys))
    )


def _call(
    node: ast.Call, function: ast.expr, args: list[ast.expr], keywords: list[ast.keyword], more: bool = False
) -> ast.Call:
    rest = ast.Name("_", ast.Load())
    starred = [ast.Starred(rest, ast.Load())] if more else []
    made = ast.Call(function, [*args, *starred], [*keywords, *([ast.keyword(None, rest)] if more else [])])
    return ast.fix_missing_locations(ast.copy_location(made, node))
