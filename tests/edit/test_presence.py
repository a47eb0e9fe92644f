"""Whether upstream has our lines."""

from __future__ import annotations

import textwrap

import pytest

from rebasekit.edit.presence import presence, statement_lists, statements, weight
from rebasekit.edit.scopes import find, module_scope
from rebasekit.edit.source import Source


def scope(body: str) -> Source:
    return Source("def f(a):\n" + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + "\n    return a\n")


def look(ours: str, new: str, base: str = "pass"):  # type: ignore[no-untyped-def]
    (a,), (b,) = find(scope(new), "f"), find(scope(base), "f")
    return presence(textwrap.dedent(ours).lstrip("\n"), a, b)


@pytest.mark.parametrize(
    ("ours", "new", "exact"),
    [
        ("check(a, size=1)\n", "check(a, size=1)", True),
        ("check(a, size=1)\n", "check(\n    a,\n    size=1,  # why\n)", True),
        ("x: int = g(a)\n", "x = g(a)", True),
        ("x = g(a)\ny = x.b\n", "u = g(a)\nw = u.b", False),
        ("def g(x: int) -> int:\n    return x\n", "def g(x):\n    return x", True),
        ("async def g(x) -> int:\n    return x\n", "async def g(x):\n    return x", True),
        ("def g(x):\n    y = x\n    return y\n", "def g(x):\n    z = x\n    return z", False),
    ],
)
def test_whole(ours: str, new: str, exact: bool) -> None:
    seen = look(ours, f"before()\n{new}\nbehind()")
    assert [(f.exact, f.guards, f.line) for f in seen.whole] == [(exact, (), 3)]
    assert not seen.parts
    assert not seen.clashes


@pytest.mark.parametrize(
    ("ours", "new"),
    [
        ("check(a, size=1)\n", "check(a, size=2)"),
        ("x = g(a)\n", "y = g(a)"),
        ("x = g(a)\ny = x.b\n", "u = g(a)\nother()\nw = u.b"),
        ("x = g(a)\ny = x.b\n", "u = g(a)\nw = a.b"),
        ("x = 1\nreturn\n", "x = 1\n"),
        ("elif x:\n    y\n", "if y: pass\nelif x:\n    y"),
        ("not python\n", "not_python"),
        ("", "pass"),
    ],
)
def test_absent(ours: str, new: str) -> None:
    assert look(ours, new).whole == ()


def test_behind_a_guard() -> None:
    seen = look("check(a, size=1)\n", "if a:\n    check(a, size=1)\nelif b:\n    check(a, size=1)")
    assert [(f.guards, f.line) for f in seen.whole] == [(("if a",), 3), (("if b",), 5)]
    assert len({f.block for f in seen.whole}) == 2


def test_what_stood_there_at_the_pin_is_nothing_new() -> None:
    assert look("check(a)\n", "check(a)", "check(a)").whole == ()
    assert look("check(a)\n", "if a:\n    check(a)", "check(a)").whole != ()


def test_parts() -> None:
    ours = "pool = make(a.size, bits=2)\nregister(pool, a.name)\n"
    assert look(ours, "register(pool, a.name)").parts == (2,)
    assert look(ours, "register(pool, a.name)", "register(pool, a.name)").parts == ()
    assert look("return None\nx = 1\n", "return None").parts == ()


def test_clashes() -> None:
    ours = "def g(x):\n    return x\n"
    assert look(ours, "def g(x):\n    return 2").clashes == (("g", 2),)
    assert look(ours, "def g(x):\n    return 2", "def g(x):\n    return 3").clashes == ()
    assert look(ours, "def g(x: int) -> int:\n    return x").clashes == ()


def test_helpers() -> None:
    assert [type(s).__name__ for s in statements("a()\nb = 1\n")] == ["Expr", "Assign"]
    assert statements("x = (\n") == statements("else:\n    x\n") == []
    assert weight(statements("return None")[0]) < 4 <= weight(statements("a.b(c.d)")[0])
    text = "if a:\n    b\nelif c:\n    d\nelse:\n    e\n"
    guards = [guards for _, guards in statement_lists(module_scope(Source(text)))]
    assert guards == [(), ("if a",), (), ("if c",), ("else c",)]
