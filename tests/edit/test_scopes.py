"""Names of scopes, and which definition a name means."""

from __future__ import annotations

import textwrap

import edit_grammar as grammar
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebasekit.edit.scopes import digest, find, module_scope, parse_name, walk
from rebasekit.edit.source import Source

TWINS = """
if is_cuda():
    def load(x): return 1
elif is_hip():
    def load(x): return 2
else:
    def load(x): return 3

try:
    from fast import sum_
except (ImportError, OSError):
    def sum_(x): return 4
else:
    def sum_(x): return 5

class Pool:
    @property
    def size(self): return 6
    @size.setter
    def size(self, value): self.n = 7

    @overload
    def get(self, a: int): ...
    @overload
    def get(self, a: str): ...
    def get(self, a): return 8

    class Inner:
        async def run(self):
            def step(): return 9
            with a:
                for b in c:
                    def step2(): return 10

match kind:
    case {"a": [x]}:
        def pick(): return 11
    case _:
        def pick(): return 12

if conf["a.b"] == "]":
    def odd(): return 13
if conf["a.b"] == '[':
    def odd(): return 14
"""


def only(source: Source, name: str) -> str:
    (scope,) = find(source, name)
    return scope.text(source)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("load[if is_cuda()]", 1),
        ("load[if is_hip()]", 2),
        ("load[else is_hip()]", 3),
        ("sum_[except (ImportError, OSError)]", 4),
        ("sum_[try else]", 5),
        ("Pool.size[@property]", 6),
        ("Pool.size[@size.setter]", 7),
        ("Pool.get[]", 8),
        ("Pool.Inner.run.step", 9),
        ("Pool.Inner.run.step2", 10),
        ("pick[case {'a': [x]}]", 11),
        ("pick[case _]", 12),
        ("odd[if conf['a.b'] == ']']", 13),
        ("odd[if conf['a.b'] == '[']", 14),
    ],
)
def test_names(name: str, value: int) -> None:
    text = only(Source(TWINS), name)
    assert str(value) in text
    assert len(text.splitlines()) <= 2


@pytest.mark.parametrize(
    ("name", "count"), [("load", 3), ("Pool.size", 2), ("Pool.get", 3), ("Pool.get[@overload]", 2), ("odd", 2), ("", 1)]
)
def test_several(name: str, count: int) -> None:
    assert len(find(Source(TWINS), name)) == count


@pytest.mark.parametrize("name", ["gone", "Pool.gone", "load[if is_npu()]", "Pool.size[@size.getter]", "Pool[].y"])
def test_none(name: str) -> None:
    assert find(Source(TWINS), name) == []


@pytest.mark.parametrize("name", [".", "a.", ".a", "a..b", "[x]", "a[", "a]", "a[b]c", "a['", "a.[x]", "a[b][c"])
def test_not_a_name(name: str) -> None:
    with pytest.raises(ValueError, match="is not a scope"):
        parse_name(name)


def test_parsed_names() -> None:
    assert parse_name("A.b[@b.setter].c") == [("A", None), ("b", "@b.setter"), ("c", None)]
    assert parse_name("f[if a][else b].g") == [("f", "if a][else b"), ("g", None)]
    assert parse_name("f[if x['[\\'']]") == [("f", "if x['[\\'']")]


def test_one_qualifier_is_not_always_enough() -> None:
    source = Source(
        textwrap.dedent("""
        if a:
            if x:
                def f(): return 1
            else:
                def f(): return 2
        else:
            if x:
                def f(): return 3
        """)
    )
    labels = [s.label for s in walk(module_scope(source)) if s.label]
    assert labels == ["f[if x][if a]", "f[else x]", "f[else a]"]
    assert [find(source, label)[0].text(source)[-2] for label in labels] == ["1", "2", "3"]
    assert all(len(find(source, label)) == 1 for label in labels)


def test_nothing_tells_them_apart() -> None:
    source = Source("def f(): return 1\nx = 1\ndef f(): return 2\n")
    assert [s.label for s in walk(module_scope(source))] == ["", "f[]", "f[]"]
    assert len(find(source, "f[]")) == 2


def test_a_twin_that_is_left_alone_is_still_found() -> None:
    under = Source("if is_cuda():\n    def load(): return 1\n")
    assert only(under, "load[if is_cuda()]")
    assert find(under, "load[else is_cuda()]") == []
    assert find(under, "load[]") == []
    assert only(Source("def f(): return 1\n"), "f[]")
    assert only(Source("class A:\n    @property\n    def b(self): ...\n"), "A.b[@property]")


def test_the_other_twin_is_not_taken_for_the_one_that_went() -> None:
    """Both stand under `if a`; the qualifier of the first was its own innermost guard, which the second has not."""
    both = Source("if a:\n    def f(): return 1\n    if b:\n        def f(): return 2\n")
    assert [s.label for s in walk(module_scope(both))] == ["", "f[if a]", "f[if b]"]
    assert find(Source("if a:\n    if b:\n        def f(): return 2\n"), "f[if a]") == []


@given(st.integers(0, 10**9))
@settings(max_examples=100, deadline=None)
def test_every_label_finds_its_scope(seed: int) -> None:
    source = Source(grammar.module(seed, 4))
    for scope in walk(module_scope(source)):
        found = find(source, scope.label)
        assert scope in found
        assert len(found) == 1 or all(s.label == scope.label for s in found)


def test_digests() -> None:
    assert digest("    def f():\r\n        return 1\r\n") == digest("def f():\n    return 1")
    assert digest("def f():\n    return 1\n") != digest("def f():\n     return 1\n")
    here, there = "    x = '''\n    data'''\n", "x = '''\n    data'''\n"
    assert digest(here) == digest(there)
    assert digest(here) != digest("x = '''\ndata'''\n")


def test_a_class_digest_leaves_out_what_is_in_its_methods() -> None:
    text = "class A:\n    x = 1\n\n    def f(self, a):\n        return 1\n\n    def g(self): return 2\n"
    (a,) = find(Source(text), "A")
    (f,) = find(Source(text), "A.f")
    for old, new, same in [("return 1", "return 3", True), ("x = 1", "x = 2", False), ("self, a", "self, b", False)]:
        other = Source(text.replace(old, new))
        assert (find(other, "A")[0].digest(other) == a.digest(Source(text))) is same
    other = Source(text.replace("return 1", "return 3"))
    assert find(other, "A.f")[0].digest(other) != f.digest(Source(text))
