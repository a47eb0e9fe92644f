"""Elements, arguments, parameters and bases, in the layout of the list they join."""

from __future__ import annotations

import pytest
from edit_grammar import placed

from rebasekit.edit.blocks import AlreadyThere, Unplaceable


def arg(call: str, ours: str = "o=1", to: str = "") -> str:
    text = placed(f"x = {call}\n", "argument", ours, "x = f(...)", to=to)
    return text.removeprefix("x = ").removesuffix("\n")


@pytest.mark.parametrize(
    ("call", "ours", "to", "new"),
    [
        ("f()", "o=1", "", "f(o=1)"),
        ("f( )", "o=1", "", "f(o=1)"),
        ("f(a)", "o=1", "", "f(a, o=1)"),
        ("f(a,)", "o=1", "", "f(a, o=1,)"),
        ("f(a, k=1)", "o", "", "f(a, o, k=1)"),
        ("f(k=1)", "o", "", "f(o, k=1)"),
        ("f(*a, k=1, **b)", "o=1", "", "f(*a, k=1, **b, o=1)"),
        ("f(k=1, **b)", "*o", "", "f(k=1, *o, **b)"),
        ("f(** b)", "o", "", "f(o, ** b)"),
        ("f(a, k=1, j=2)", "o=1", "k", "f(a, k=1, o=1, j=2)"),
        ("f(a, b)", "o", "a", "f(a, o, b)"),
        ("f(a['x'], b)", "o", 'a["x"]', "f(a['x'], o, b)"),
        ("f(g(1), b)", "o", "g(...)", "f(g(1), o, b)"),
        ("f((a))", "o", "", "f((a), o)"),
        ("f((a), ((b)),)", "o", "", "f((a), ((b)), o,)"),
        ("f((y := 1))", "o", "", "f((y := 1), o)"),
        ("f(y := 1)", "o=2", "", "f(y := 1, o=2)"),
        ("f(lambda a, b=(1, 2): a, c)", "o", "lambda a, b=(1, 2): a", "f(lambda a, b=(1, 2): a, o, c)"),
        ("f(lambda: 0)", "o", "", "f(lambda: 0, o)"),
        ("f(a if b else c)", "lambda x, y: x", "", "f(a if b else c, lambda x, y: x)"),
        ("f(')', \"(\", '''[,\n''')", "o", "", "f(')', \"(\", '''[,\n''', o)"),
        ("f('ü☃', b)", "'ö'", "'ü☃'", "f('ü☃', 'ö', b)"),
        ("f(a)[0](b)", "o", "", None),
        ("f(\n    a\n)", "o=1", "", "f(\n    a,\n    o=1,\n)"),
        ("f(\n    a,\n)", "o=1", "", "f(\n    a,\n    o=1,\n)"),
        ("f(\n    a,\n)", "o", "", "f(\n    a,\n    o,\n)"),
        ("f(\n    a)", "o=1", "", "f(\n    a,\n    o=1)"),
        ("f(\n    a, b)", "o=1", "", "f(\n    a, b, o=1)"),
        ("f(a,\n  b)", "o=1", "", "f(a,\n  b,\n  o=1)"),
        ("f(\n)", "o=1", "", "f(o=1\n)"),
        ("f(\n    k=1,\n)", "o", "", "f(\n    o,\n    k=1,\n)"),
        ("f(\n    a,  # a, (\n    # more\n)", "o=1", "", "f(\n    a,  # a, (\n    o=1,\n    # more\n)"),
        ("f(\n    a  # a)\n)", "o=1", "", "f(\n    a,  # a)\n    o=1,\n)"),
        ("f(\n    (\n        a\n    )  # a\n    ,\n)", "o", "", "f(\n    (\n        a\n    )  # a\n    ,\n    o,\n)"),
        ("f(\n    a,\n    k=1,\n)", "o=1", "a", "f(\n    a,\n    o=1,\n    k=1,\n)"),
        ("f(\n    a, k=1\n)", "o=1", "a", "f(\n    a, o=1, k=1\n)"),
        ("f(a,  # a\n  b)", "o=1", "", "f(a,  # a\n  b,\n  o=1)"),
        ("f(a, b,  # b\n)", "o=1", "", "f(a, b, o=1,  # b\n)"),
        ("f(\n    a,\n)", "o=[\n    1,\n]", "", "f(\n    a,\n    o=[\n        1,\n    ],\n)"),
        ("f(\n    a,\n)", "'''o\n o'''", "", "f(\n    a,\n    '''o\n o''',\n)"),
    ],
)
def test_arguments(call: str, ours: str, to: str, new: str | None) -> None:
    if new is None:
        with pytest.raises(AssertionError):
            arg(call, ours, to)
        return
    assert arg(call, ours, to) == new
    if "'''" not in call + ours:
        crlf = placed(f"x = {call}\n".replace("\n", "\r\n"), "argument", ours, "x = f(...)", to=to)
        assert crlf == f"x = {new}\n".replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("call", "ours", "to", "word"),
    [
        ("f(o=2)", "o=1", "", "already passes"),
        ("f(a)", "o=1, p=2", "", "not one argument"),
        ("f(a)", "o=1  # why", "", "not one argument"),
        ("f(a)", "o) + (1", "", "not one argument"),
        ("f(a)", "o)(1", "", "not one argument"),
        ("f(a)", "", "", "not one argument"),
        ("f(a)", "o", "b", "no argument"),
        ("f(a)", "o", "b = 1", "no argument"),
        ("f(a)", "o", ")", "no argument"),
        ("f(\n# why\n)", "o", "", "a comment and nothing else"),
        ("f(y for y in z)", "o", "", "generator"),
    ],
)
def test_arguments_that_do_not_fit(call: str, ours: str, to: str, word: str) -> None:
    with pytest.raises(Unplaceable, match=word):
        arg(call, ours, to)


def test_arguments_that_are_there() -> None:
    with pytest.raises(AlreadyThere):
        arg("f(o = 'a')", 'o="a"')


def test_which_call() -> None:
    text = "x = f(g(a), b)\n"
    assert placed(text, "argument", "o", "x = f(g(...), b)") == "x = f(g(a, o), b)\n"
    assert placed(text, "argument", "o", "x = f(g(a), ...)") == "x = f(g(a), b, o)\n"
    assert (
        placed("@deco(1)\ndef f(): pass\n", "argument", "o", "@deco(...)\ndef f(...): ...")
        == "@deco(1, o)\ndef f(): pass\n"
    )
    assert placed("with open(a) as b, c():\n    pass\n", "argument", "o", "with open(...) as b, c(): ...").startswith(
        "with open(a, o) as b"
    )
    assert placed("with (\n    open(a) as b,\n):\n    pass\n", "argument", "o", "with open(...) as b: ...").startswith(
        "with (\n    open(a, o) as b"
    )
    assert placed("(f)(a)\n", "argument", "o", "f(...)") == "(f)(a, o)\n"
    assert placed("a(b)(c)\n", "argument", "o", "a(b)(...)") == "a(b)(c, o)\n"


@pytest.mark.parametrize(
    ("text", "place", "at", "word"),
    [
        ("x = f(g(a), b)\n", "argument", "x = f(g(...), ...)", "points at 2 calls"),
        ("x = f(g(a), b)\n", "element", "x = f(...)", "points at 0 literals"),
        ("x = f(a)\n", "argument", "x = $A", "points at 0 calls"),
        ("x = [1]\n", "element", "x = ...", "points at 0 literals"),
    ],
)
def test_which_call_is_not_clear(text: str, place: str, at: str, word: str) -> None:
    with pytest.raises(Unplaceable, match=word):
        placed(text, place, "o", at)


def test_f_strings_are_left_alone() -> None:
    with pytest.raises(Unplaceable, match="f-string"):
        placed("x = f'{g(a)}'\n", "argument", "o", "x = f'{g(...)}'")


@pytest.mark.parametrize(
    ("literal", "ours", "to", "new"),
    [
        ("[]", "o", "", "[o]"),
        ("[a]", "*o", "", "[a, *o]"),
        ("[(a), (b)]", "o", "", "[(a), (b), o]"),
        ("()", "o", "", None),
        ("(a,)", "o", "", "(a, o,)"),
        ("(a, b)", "o", "", "(a, b, o)"),
        ("a, b", "o", "", "a, b, o"),
        ("a, (b)", "o", "", "a, (b), o"),
        ("(a), b", "o", "(a)", "(a), o, b"),
        ("(a), (b)", "o", "", "(a), (b), o"),
        ("((a), (b))", "o", "", "((a), (b), o)"),
        ("{a}", "o", "", "{a, o}"),
        ("{}", "o: 1", "", "{o: 1}"),
        ("{a: 1, **b}", "o: 2", "", "{a: 1, **b, o: 2}"),
        ("{a: 1, b: 2}", "**o", "a", "{a: 1, **o, b: 2}"),
        ("{a: lambda x, y: x, b: 2}", "o: 2", "a", "{a: lambda x, y: x, o: 2, b: 2}"),
        ("[\n    'a',\n    'b',  # b\n]", '"o"', "", "[\n    'a',\n    'b',  # b\n    \"o\",\n]"),
        ("[\n    'a',\n    'b'  # b\n]", "'o'", "", "[\n    'a',\n    'b',  # b\n    'o',\n]"),
        ("[\n    'a',\n    'b',\n]", "'o'", "'a'", "[\n    'a',\n    'o',\n    'b',\n]"),
        (
            "{\n    'a': [\n        1,\n    ],\n}",
            "'o': [\n    2,\n]",
            "",
            "{\n    'a': [\n        1,\n    ],\n    'o': [\n        2,\n    ],\n}",
        ),
    ],
)
def test_elements(literal: str, ours: str, to: str, new: str | None) -> None:
    kind = {"[": "[...]", "{": "{...}"}.get(literal[0], "(..., $_)" if literal != "()" else "()")
    if new is None:
        new = "(o)"  # one element without a comma is no tuple
        assert placed(f"x = {literal}\n", "element", ours, "x = ()", to=to) == f"x = {new}\n"
        return
    assert placed(f"x = {literal}\n", "element", ours, f"x = {kind}", to=to) == f"x = {new}\n"


@pytest.mark.parametrize(
    ("literal", "ours", "error"),
    [
        ("['a']", '"a"', AlreadyThere),
        ("{'a': 1}", "'a':1", AlreadyThere),
        ("['a']", "'b', 'c'", Unplaceable),
        ("['a']", "b: 1", Unplaceable),
        ("{'a': 1}", "b", Unplaceable),
        ("{'a'}", "b: 1", Unplaceable),
        ("[\n# why\n]", "o", Unplaceable),
    ],
)
def test_elements_that_do_not_fit(literal: str, ours: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        placed(f"x = {literal}\n", "element", ours, "x = [...]" if literal[0] == "[" else "x = {...}")


@pytest.mark.parametrize(
    ("signature", "ours", "to", "new"),
    [
        ("()", "o", "", "(o)"),
        ("(a)", "o=1", "", "(a, o=1)"),
        ("(a, **k)", "o=1", "", "(a, o=1, **k)"),
        ("(**k)", "o", "", "(o, **k)"),
        ("(a, *b)", "o", "", "(a, *b, o)"),
        ("(a, *, b)", "o", "", "(a, *, b, o)"),
        ("(a, *, b)", "o", "a", "(a, o, *, b)"),
        ("(a, /)", "o", "", "(a, /, o)"),
        ("(a, /, b)", "o", "a", "(a, o, /, b)"),
        ("(a, /, b)", "o", "/", "(a, /, o, b)"),
        ("(a, *, b)", "o", "*", "(a, *, o, b)"),
        (
            "(a: dict[str, int] = {1: 2}, b=(1, 2))",
            "o: int = 3",
            "a",
            "(a: dict[str, int] = {1: 2}, o: int = 3, b=(1, 2))",
        ),
        ("(a=lambda x, y: x)", "o=1", "", "(a=lambda x, y: x, o=1)"),
        ("(a=lambda *, y=lambda z, w: 1: x, b=1)", "o=1", "a", "(a=lambda *, y=lambda z, w: 1: x, o=1, b=1)"),
        ("(\n    self,\n    a=1,  # a\n)", "o=1", "", "(\n    self,\n    a=1,  # a\n    o=1,\n)"),
        ("(\n    self,\n    *b  # b\n)", "o=1", "", "(\n    self,\n    *b,  # b\n    o=1,\n)"),
        ("(self,\n      a=1)", "o=1", "", "(self,\n      a=1,\n      o=1)"),
        ("(ü: 'ü☃', b)", "ö", "ü", "(ü: 'ü☃', ö, b)"),
    ],
)
@pytest.mark.parametrize("head", ["def f{} -> dict[(1), 2]: pass\n", "@deco(a, b)\nasync def f {}:\n    pass\n"])
def test_parameters(head: str, signature: str, ours: str, to: str, new: str) -> None:
    assert placed(head.format(signature), "parameter", ours, scope="f", to=to) == head.format(new)


@pytest.mark.parametrize(
    ("ours", "to", "error"),
    [
        ("a: int=1", "", AlreadyThere),
        ("a", "", Unplaceable),
        ("o", "z", Unplaceable),
        ("o, p", "", Unplaceable),
        ("o): pass\ndef g(", "", Unplaceable),
        ("*", "", Unplaceable),
        ("", "", Unplaceable),
    ],
)
def test_parameters_that_do_not_fit(ours: str, to: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        placed("def f(a: int = 1): pass\n", "parameter", ours, scope="f", to=to)
    with pytest.raises(Unplaceable, match="only a function"):
        placed("class f: pass\n", "parameter", "o", scope="f")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("class A:", "class A(O):"),
        ("class A ():", "class A (O):"),
        ("class  A(B) :", "class  A(B, O) :"),
        ("class A(B, metaclass=M):", "class A(B, O, metaclass=M):"),
        ("class A(metaclass=M):", "class A(O, metaclass=M):"),
        ("class A(B[int, (str)], c.D()):", "class A(B[int, (str)], c.D(), O):"),
        ("class A(\n    B,  # b\n    **k,\n):", "class A(\n    B,  # b\n    O,\n    **k,\n):"),
        ("@deco(A)\nclass A(A):", "@deco(A)\nclass A(A, O):"),
    ],
)
def test_bases(old: str, new: str) -> None:
    assert placed(f"{old}\n    pass\n", "base", "O", scope="A") == f"{new}\n    pass\n"


def test_bases_that_do_not_fit() -> None:
    with pytest.raises(AlreadyThere):
        placed("class A(b . O): pass\n", "base", "b.O", scope="A")
    with pytest.raises(Unplaceable, match="not one base"):
        placed("class A: pass\n", "base", "O, P", scope="A")
    with pytest.raises(Unplaceable, match="only a class"):
        placed("def A(): pass\n", "base", "O", scope="A")
