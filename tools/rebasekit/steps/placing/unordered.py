"""Additions whose order among upstream's own additions means nothing: a keyword argument, a parameter with a default.

Where upstream and the hunk both add one at the same spot, every text merge conflicts; here the names decide.
"""

from __future__ import annotations

import ast

from rebasekit.edit.patterns import parse_pattern
from rebasekit.model.hunk import Form, Place
from rebasekit.steps.trial import Trial


def free(form: Form, old: Trial, new: Trial) -> str:
    """The method by which the addition is safe although merges conflict; empty when it is not."""
    if form.place is Place.PARAMETER and "=" in form.lines and not form.to:
        return "parameters by name" if _parameters_kept(old, new) else ""
    if form.place is Place.ARGUMENT and _is_keyword(form.lines) and not form.to:
        return "arguments by name" if _arguments_kept(form, old, new) else ""
    return ""


def _is_keyword(lines: str) -> bool:
    name, sign, rest = lines.strip().partition("=")
    return bool(sign) and name.strip().isidentifier() and not rest.startswith("=")


def _parameters_kept(old: Trial, new: Trial) -> bool:
    """Whether upstream's signature has all the parameters that it had, in their order."""
    before, after = old.scope.node, new.scope.node
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    if not isinstance(before, functions) or not isinstance(after, functions):
        return False
    names = [[a.arg for a in (*n.args.posonlyargs, *n.args.args, *n.args.kwonlyargs)] for n in (before, after)]
    return _in_order(*names)


def _arguments_kept(form: Form, old: Trial, new: Trial) -> bool:
    """Whether it is a call of the same thing that passes all that it passed."""
    marked = [n for n in ast.walk(parse_pattern(form.at).node) if isinstance(n, ast.Call) and _open(n)]
    if len(marked) != 1 or len(old.matches) != 1 or len(new.matches) != 1:
        return False
    before, after = old.matches[0].nodes.get(marked[0]), new.matches[0].nodes.get(marked[0])
    if not isinstance(before, ast.Call) or not isinstance(after, ast.Call):
        return False
    if ast.dump(before.func) != ast.dump(after.func):
        return False
    passed = [[ast.dump(a) for a in (*call.args, *call.keywords)] for call in (before, after)]
    return _in_order(*passed)


def _open(call: ast.Call) -> bool:
    return any(isinstance(a, ast.Constant) and a.value is Ellipsis for a in call.args)


def _in_order(part: list[str], whole: list[str]) -> bool:
    rest = iter(whole)
    return all(item in rest for item in part)
