"""One file: what is recorded, and every way in which a file can be unreadable or oddly written."""

from __future__ import annotations

import hashlib
import textwrap

import pytest

from rebasekit.facts.extract import extract
from rebasekit.facts.file import FileFacts, module_name, module_names
from rebasekit.facts.parse import Unread
from rebasekit.facts.program import Program


def facts(source: str | bytes) -> FileFacts:
    data = source if isinstance(source, bytes) else textwrap.dedent(source).encode()
    packed = extract(data)
    assert not isinstance(packed, Unread), packed
    return FileFacts(0, "app/work.py", *packed)


def guards_of_call(file: FileFacts, callee: str) -> list[tuple[str, bool]]:
    for index in range(len(file)):
        for call in file.body(index).calls:
            if call.callee == callee:
                return [(g.text, g.holds) for g in file.guards(call.guard)]
    raise AssertionError(f"no call of {callee}")


def test_scopes_spans_and_signature() -> None:
    file = facts(
        '''
        class A(Base, Generic[T]):
            """A("not code")"""
            size: int = 3

            @property
            def value(self) -> int:
                def inner():
                    return 1
                return inner()

        async def run(a, /, b: "A | None" = None, *args, c=A, **kwargs) -> A:
            pass
        '''
    )
    names = [file.scope(i).name for i in range(len(file))]
    assert names == ["", "A", "A.value", "A.value.inner", "run"]
    assert file.scope(1).bases == ("Base", ("s", "Generic"))
    assert (file.scope(2).line, file.scope(2).end, file.scope(2).decorators) == (7, 10, ("property",))
    run = file.scope(4)
    assert [(p.name, p.kind, p.default) for p in run.parameters] == [
        ("a", "o", None), ("b", "p", "None"), ("args", "v", None), ("c", "k", "A"), ("kwargs", "w", None),
    ]  # fmt: skip
    assert (run.parameters[1].annotation, run.result, run.flags) == ('"A | None"', "A", "ad")
    assert file.body(1).assigns[0][2:] == ("size", ("v", 3), "int", "3")
    assert "A" not in file.body(1).loads


def test_a_name_that_a_function_binds_is_kept_with_what_it_reads() -> None:
    file = facts(
        "import os\nclass A:\n    x = 1\n    def run(self, *rest):\n        import sys as s\n        y = s.z = 2\n"
    )
    assert [file.scope(at).bound for at in range(3)] == [("A", "os"), ("run", "x"), ("rest", "s", "self", "y")]
    assert [file.heads[at][10] for at in range(3)] == [" A os ", " run x ", None]
    assert [i.alias for i in file.scope(2).imports] == ["s"]


def test_every_scope_has_its_own_digest_and_parameters() -> None:
    file = facts("def f(a): ...\nclass A:\n    def g(self, b=A): ...\n")
    digests = [file.scope(at).digest for at in range(4)]
    assert len(set(digests)) == 4
    assert {len(digest) for digest in digests} == {20}
    assert digests[1] == hashlib.blake2b(b"def f(a): ...", digest_size=10).hexdigest()
    assert [[p.name for p in file.scope(at).parameters] for at in range(4)] == [[], ["a"], [], ["self", "b"]]


def test_digest_follows_the_text_of_the_span() -> None:
    before = facts("def f():\n    return 1\n\ndef g():\n    return 2\n")
    moved = facts("import os\n\ndef f():\n    return 1\n\ndef g():\n    return 3\n")
    assert before.scope(1).digest == moved.scope(1).digest
    assert before.scope(2).digest != moved.scope(2).digest


GUARDS = {
    "if": ("if a:\n    t()", [("a", True)]),
    "else": ("if a:\n    pass\nelse:\n    t()", [("a", False)]),
    "elif": ("if a:\n    pass\nelif b:\n    t()", [("a", False), ("b", True)]),
    "not": ("if not a:\n    t()", [("a", False)]),
    "early return": ("if a:\n    return\nt()", [("a", False)]),
    "early raise in else": ("if a:\n    pass\nelse:\n    raise X\nt()", [("a", True)]),
    "early returns in elif": ("if a:\n    return\nelif b:\n    return\nt()", [("a", False), ("b", False)]),
    "no early return": ("if a:\n    b\nt()", []),
    "continue": ("for x in y:\n    if a:\n        continue\n    t()", [("a", False)]),
    "while": ("while a:\n    t()", [("a", True)]),
    "conditional expression": ("x = t() if a else None", [("a", True)]),
    "and": ("a and t()", [("a", True)]),
    "or": ("a or t()", [("a", False)]),
    "comprehension": ("[t() for x in y if a]", [("a", True)]),
    "except": ("try:\n    pass\nexcept KeyError:\n    t()", [("except KeyError", True)]),
    "match": ("match a:\n    case 1:\n        t()", [("match a: case 1", True)]),
    "several lines": ("if (a\n    and  b):\n    t()", [("a and b", True)]),
    "after an inner block": ("with a:\n    if b:\n        return\nt()", []),
}  # fmt: skip


@pytest.mark.parametrize("form", GUARDS)
def test_guards(form: str) -> None:
    source, expected = GUARDS[form]
    file = facts("def f():\n" + textwrap.indent(source, "    ") + "\n")
    assert guards_of_call(file, "t") == expected


def test_main_block_is_a_scope_of_its_own() -> None:
    file = facts('x = 1\nif __name__ == "__main__":\n    go()\n')
    assert [file.scope(i).kind for i in range(len(file))] == ["m", "x"]
    assert file.body(0).calls == ()
    assert guards_of_call(file, "go") == [('__name__ == "__main__"', True)]


def test_imports_at_every_level() -> None:
    file = facts(
        """
        import a.b, c as d
        from .x import y as z
        from .. import *
        def f():
            from q import r
            global g
        """
    )
    assert [tuple(i)[:4] for i in file.scope(0).imports] == [
        ("a", "a.b", None, 0), ("d", "c", None, 0), ("z", "x", "y", 1), ("*", "", "*", 2),
    ]  # fmt: skip
    assert [i.alias for i in file.scope(1).imports] == ["r", "g"]
    assert file.scope(1).flags == "g"


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbfdef f():\n    return t()\n",
        b"def f():\r\n    return t()\r\n",
        b"def f():\r    return t()\r",
        b"# -*- coding: latin-1 -*-\n# \xe9\ndef f():\n    return t()\n",
        "# caf\u00e9\ndef f():\n    return t()\n".encode(),
        b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\ndef f():\n    return t('\x80')\n",
    ],
)
def test_encodings_and_line_endings(data: bytes) -> None:
    file = facts(data)
    assert [file.scope(i).name for i in range(len(file))] == ["", "f"]
    assert file.body(1).calls[0].callee == "t"


def test_columns_count_in_bytes() -> None:
    file = facts("def f(é):\n    if é.größe and 'ü' in é:\n        t()\n")
    assert guards_of_call(file, "t") == [("é.größe and 'ü' in é", True)]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"def f(:\n", "syntax"),
        (b"x = '\xff'\n", "encoding"),
        (b"# coding: no-such-codec\n", "syntax"),
        (b"x = 1\0\n", "syntax"),
        (b"x = " + b"(" * 5000 + b")" * 5000, "syntax"),
        (b"x = " + b"-" * 8_000 + b"1\n", "nesting"),
        (b"print 'python 2'\n", "syntax"),
        (b"x = [\n", "syntax"),
    ],
)
def test_unread_with_reason(data: bytes, reason: str) -> None:
    packed = extract(data)
    assert isinstance(packed, Unread)
    assert packed.reason.startswith(reason)


def test_deep_but_valid_code_is_read_or_refused() -> None:
    chain = "x = " + "+".join(["a"] * 3000) + "\n"
    packed = extract(chain.encode())
    assert isinstance(packed, (bytes, Unread))


@pytest.mark.parametrize("data", [b"", b"\n", b"# only a comment\n", b"\xef\xbb\xbf"])
def test_empty_files(data: bytes) -> None:
    assert len(facts(data)) == 1


def test_reads_that_lead_nowhere_are_not_kept() -> None:
    """Plain variables and builtins; what the file may mean something else by is kept."""
    file = facts("def f(pool):\n    size = 1\n    return range(size), pool, pool.size\n")
    assert file.body(1).loads == ("pool.size",)
    assert facts("from app.pool import Pool as range\ndef f():\n    return range(3)\n").body(1).loads == ("range",)
    assert facts("from app.pool import *\ndef f():\n    return range(3)\n").body(1).loads == ("range",)
    lazy = facts("def f():\n    from app.pool import Pool\n    def g():\n        return Pool\n    return g, Pool\n")
    assert lazy.body(1).loads == ("g", "Pool")
    assert lazy.body(2).loads == ("Pool",)
    shared = facts("def f():\n    global Pool\n    Pool = 1\n    return Pool\n")
    assert shared.body(1).loads == ("Pool",)


def test_mentions_are_by_name_and_through_aliases() -> None:
    file = facts("from app.pool import Pool as P\ndef f(x):\n    return P(x.read), 'app.pool.Pool'\n")
    found = file.mentions()
    assert {name: found[name] for name in ("P", "Pool", "read", "app", "pool")} == {
        "P": [1], "Pool": [1], "read": [1], "app": [1], "pool": [1],
    }  # fmt: skip
    assert not {"", "'app"} & set(found)


def test_every_argument_has_its_line() -> None:
    file = facts("f(a, b)\nf(a,\n  b, *c,\n  d)\nf(\n  a)\nf()\n")
    assert [call.lines for call in file.body(0).calls] == [(1, 1), (2, 3, 3, 4), (6,), ()]


@pytest.mark.parametrize("end", ["\n", "", "\n\n", "  # more", "\n\f\n"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_digest_is_of_the_text_of_its_lines(newline: str, end: str) -> None:
    lines = ["# é", "class A:", "    def f(self):", "        return '𝄞'", "    x = 1" + end]
    file = facts(newline.join(lines).encode())
    inner = b"\n".join(line.encode() for line in lines[2:4])
    assert file.scope(2).digest == hashlib.blake2b(inner, digest_size=10).hexdigest()
    whole = "\n".join(lines).encode()
    assert file.scope(0).digest == hashlib.blake2b(whole, digest_size=10).hexdigest()


def test_what_was_let_go_is_decoded_again() -> None:
    file = facts("x = Pool()\nif x:\n    x.run(1)\n")
    before = file.body(0), file.guards(1), file.globals
    assert file.decoded()
    file.forget()
    assert not file.decoded()
    assert (file.body(0), file.guards(1), file.globals) == before
    assert not file._read_part  # chains are not decoded twice


def test_scopes_that_are_packed_together_keep_apart() -> None:
    text = "".join(f"def f{n}(p{n}):\n    x{n} = g{n}(p{n})\n    return r{n}()\n" for n in range(50))
    file = facts(text)
    for at in (50, 1, 17, 16, 15, 33, 32, 50):
        n, body = at - 1, file.body(at)
        assert file.scope(at).bound == (f"p{n}", f"x{n}")
        assert [p.name for p in file.scope(at).parameters] == [f"p{n}"]
        assert [c.callee for c in body.calls] == [f"g{n}", f"r{n}"]
        assert [(a.target, a.value) for a in body.assigns] == [(f"x{n}", ("r", f"g{n}"))]
        assert [r.value for r in body.returns] == [("r", f"r{n}")]
        file.forget()


@pytest.mark.parametrize(
    ("paths", "modules"),
    [
        (["a.py", "a/__init__.py", "a/b.py"], {"a": 1, "a.b": 2}),
        (["a/b.py", "a/b/__init__.py", "a.b.py"], {"a.b": 1}),
        (["__init__.py", "py.py", "x.py.py"], {"": 0, "py": 1, "x.py": 2}),
        (["a.__init__.py", "b/__init__/__init__.py", "py/py.py"], {"a": 0, "b.__init__": 1, "py.py": 2}),
        ([], {}),
    ],
)
def test_modules_of_a_tree(paths: list[str], modules: dict[str, int]) -> None:
    assert module_names(paths) == list(map(module_name, paths))
    assert Program(paths, [0] * len(paths), lambda index: FileFacts(index, paths[index], b""), {}).modules == modules


def test_a_glance_lets_go_only_of_what_it_decoded_itself() -> None:
    file = facts("x = Pool()\nif x:\n    x.run(1)\n")
    with file.glance():
        looked = file.body(0)
    kept = file.body(0)
    assert kept is not looked
    with file.glance():
        assert file.guards(1)
    assert file.body(0) is kept


def test_strings_that_name_things_count_in_calls_only() -> None:
    file = facts("g('no', 'a.b', 'Pool')\ng('a.b')\ng(x, 'Pool')\ng(k='c.d', n='Old')\n")
    assert [load for load in file.body(0).loads if load[0] == "'"] == [
        "'a.b",
        "'a.b.no",
        "'a.b.Pool",
        "'c.d",
        "'c.d.Old",
    ]
