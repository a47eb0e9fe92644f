"""Findings that come of a hunk without a place: what it would define is missing for the hunks that use it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import replace
from textwrap import dedent

from rebasekit.edit.presence import statements
from rebasekit.edit.script import ScriptError, parse
from rebasekit.model.finding import Finding
from rebasekit.model.hunk import Form, Place
from rebasekit.model.placement import Placement
from rebasekit.model.verdict import Verdict

_MISSING = {"api-gone", "unbound", "signature-changed"}
_NAMED = re.compile(r"`([A-Za-z_][\w.]*)`")


def explained(findings: Iterable[Finding], verdict: Verdict) -> list[Finding]:
    """The findings, each that an open hunk is behind with that hunk as what to do next."""
    givers = [(p, given(p.form)) for p in verdict.placements if p.outcome.open and p.form is not None]
    return [_explained(finding, givers, verdict) for finding in findings]


def _explained(finding: Finding, givers: list[tuple[Placement, set[str]]], verdict: Verdict) -> Finding:
    named = [name.rpartition(".")[2] for name in _NAMED.findall(finding.message)]
    if finding.kind not in _MISSING or not named:
        return finding
    # a call that does not fit names what it calls, and then the parameter that is not there
    wanted = set(named if finding.kind == "signature-changed" else named[:1])
    giver = next((p for p, names in givers if wanted & names), None)
    if giver is None:
        return finding
    message = f"{finding.message}; `{giver.name}` has it, and has no place on {verdict.tag} yet"
    return replace(finding, message=message, next=f"rebasekit resolve {giver.name} --tag {verdict.tag}")


def _pieces(lines: str) -> list[ast.AST]:
    """Lines that make no sense together, each as a statement, as the head of a block or as parameters.

    An edit may change the end of one function's parameters and the beginning of its body.
    """
    found: list[ast.AST] = []
    for line in lines.splitlines():
        text = line.strip()
        if text.endswith(",") and ":" not in text and not text.startswith(("def ", "async def ")):
            continue  # `a=b,` may be an argument as well
        head, _, rest = text.partition("(")
        heads = (f"{text}\n pass", f"{head}({rest}): ...", f"{head}(): ...")
        for form in (text, *heads, f"def _({text}): ...", f"def _({text} ..."):
            try:
                body = ast.parse(form).body
                found += [n.args if isinstance(n, ast.FunctionDef) and n.name == "_" else n for n in body]
                break
            except (SyntaxError, ValueError):
                continue
    return found


def given(form: Form) -> set[str]:
    """Names that a form's lines define: assigned, imported, taken as parameters, or defined."""
    found: set[str] = set()
    lines = form.lines
    if form.place in (Place.EDIT, Place.TEXT):
        try:
            lines = dedent("".join(line for change in parse(lines) for line in change.lines))
        except ScriptError:
            return found
    if form.place is Place.PARAMETER:
        lines = f"def _({lines}): ..."
    for node in (n for piece in statements(lines) or _pieces(lines) for n in ast.walk(piece)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
    return found
