"""Every place, on random modules: the new file is the old one with our piece at that spot of its syntax tree."""

from __future__ import annotations

import ast
from random import Random

import edit_grammar as grammar
from hypothesis import given, settings
from hypothesis import strategies as st

from rebasekit.edit import anchors, inserts
from rebasekit.edit.blocks import Unplaceable, docstring
from rebasekit.edit.imports import is_future
from rebasekit.edit.match import Candidate, candidates, matches
from rebasekit.edit.patterns import PatternError, parse_pattern
from rebasekit.edit.scopes import Scope, find, module_scope, walk
from rebasekit.edit.source import Source
from rebasekit.model.hunk import Form, Place

OURS = "ours('''a\nb''')\nif ours:\n    # ours\n    ours2(\n        1)\n"
SEEDS = st.integers(0, 10**9)


def pick(seed: int) -> tuple[Source, Scope, Candidate, Random]:
    """A statement of a random module, in a tree that nobody else has."""
    random = Random(seed)
    source = Source(grammar.module(seed, random.randint(1, 4)))
    scope = random.choice([s for s in walk(module_scope(source)) if len(find(source, s.label)) == 1])
    return source, scope, random.choice(list(candidates(scope))), random


def check(source: Source, form: Form, why: str = "") -> None:
    """`source.tree` has been changed by hand to what the form has to give."""
    pristine = Source(source.text)
    text = grammar.applied([form], pristine)
    assert ast.dump(ast.parse(text)) == ast.dump(source.tree), f"{why}\n{text}"


@given(SEEDS, st.sampled_from([Place.BEFORE, Place.AFTER, Place.REPLACE, Place.DELETE]))
@settings(max_examples=250, deadline=None)
def test_statements(seed: int, place: Place) -> None:
    source, scope, chosen, _ = pick(seed)
    at = next(anchors.patterns(chosen, scope), None)
    if at is None or chosen.elif_:
        return
    form = Form("a.py", scope.label, place, at=at, lines="" if place is Place.DELETE else OURS)
    try:
        grammar.applied([form], Source(source.text))
    except Unplaceable:
        return
    body, index, ours = chosen.siblings, chosen.index, ast.parse(form.lines).body
    body[index + (place is Place.AFTER) : index + (place is not Place.BEFORE)] = ours
    if body:
        check(source, form, f"{place} {at}")


@given(SEEDS, st.sampled_from([Place.FIRST, Place.LAST]))
@settings(max_examples=150, deadline=None)
def test_ends_of_scopes(seed: int, place: Place) -> None:
    source, scope, _, _ = pick(seed)
    form = Form("a.py", scope.label, place, lines=OURS)
    try:
        grammar.applied([form], Source(source.text))
    except Unplaceable:
        return
    head = sum(is_future(node) or node is docstring(scope.node) for node in scope.body)
    index = len(scope.body) if place is Place.LAST else head
    scope.body[index:index] = ast.parse(OURS).body
    check(source, form, str(place))


@given(SEEDS, st.sampled_from(["ours", "ours=(1, 2)", "*ours", "9: 'ü',", "ours(\n    1,\n)", "lambda a, b: a"]))
@settings(max_examples=400, deadline=None)
def test_items(seed: int, ours: str) -> None:
    source, scope, chosen, random = pick(seed)
    blocks = [n for b in ("body", "orelse", "finalbody", "handlers") for n in getattr(chosen.node, b, [])]
    blocks = [n for block in blocks if isinstance(block, ast.AST) for n in ast.walk(block)]
    targets = [n for n in ast.walk(chosen.node) if n not in blocks]
    targets = [n for n in targets if isinstance(n, ast.Call | ast.List | ast.Tuple | ast.Set | ast.Dict)]
    targets = [n for n in targets if not isinstance(getattr(n, "ctx", None), ast.Store | ast.Del)]
    if not targets or isinstance(chosen.node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    target, ours = random.choice(targets), ours.strip(",")
    place = Place.ARGUMENT if isinstance(target, ast.Call) else Place.ELEMENT
    at = ("el" if chosen.elif_ else "") + inserts._marked(chosen.node, target)
    form = Form("a.py", scope.label, place, at=at, lines=ours)
    try:
        if [m.node for m in matches(parse_pattern(at), scope)] != [chosen.node]:
            return
        grammar.applied([form], Source(source.text))
    except (Unplaceable, PatternError):
        return
    mine = ast.parse(f"{{{ours}}}" if isinstance(target, ast.Dict) else f"f({ours})", mode="eval").body
    if isinstance(target, ast.Dict):
        assert isinstance(mine, ast.Dict)
        target.keys += mine.keys
        target.values += mine.values
        check(source, form, at)
        return
    assert isinstance(mine, ast.Call)
    if isinstance(target, ast.Call):
        target.keywords += mine.keywords
        plain = [n for n in target.args if not isinstance(n, ast.Starred)]
        index = len(plain) if mine.args and not isinstance(mine.args[0], ast.Starred) else len(target.args)
        target.args[index:index] = mine.args
    else:
        target.elts += mine.args  # type: ignore[attr-defined]
    check(source, form, at)


@given(SEEDS)
@settings(max_examples=150, deadline=None)
def test_parameters_and_bases(seed: int) -> None:
    source, _, _, random = pick(seed)
    scopes = [s for s in walk(module_scope(source)) if s.name and len(find(source, s.label)) == 1]
    if not scopes:
        return
    scope = random.choice(scopes)
    node = scope.node
    if isinstance(node, ast.ClassDef):
        node.bases.append(ast.Attribute(ast.Name("our", ast.Load()), "Base", ast.Load()))
        check(source, Form("a.py", scope.label, Place.BASE, lines="our.Base"))
        return
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    named = random.random() < 0.5 and node.args.args
    to = node.args.args[-1].arg if named else ""
    form = Form("a.py", scope.label, Place.PARAMETER, lines="ours: int = 3", to=to)
    arg, args, default = ast.arg("ours", ast.Name("int", ast.Load())), node.args, ast.Constant(3)
    if to or not (args.vararg or args.kwonlyargs):
        args.args.append(arg)
        args.defaults.append(default)
    else:
        args.kwonlyargs.append(arg)
        args.kw_defaults.append(default)
    check(source, form)


def test_the_random_modules_are_worth_it() -> None:
    """Most of the forms above get as far as the comparison."""
    placed = 0
    for seed in range(40):
        _, scope, chosen, _ = pick(seed)
        at = next(anchors.patterns(chosen, scope), None)
        placed += at is not None
    assert placed > 25
