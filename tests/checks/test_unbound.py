"""unbound: names in patched files that fail when the code runs, and the look-alikes that are fine."""

from __future__ import annotations

import sys
import textwrap

import pytest

from rebasekit.checks.unbound import Failing, compare, survey, unbound
from rebasekit.errors import StateError


class Files:
    """A tree in memory."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = {path: textwrap.dedent(text).encode() for path, text in files.items()}

    def paths(self) -> set[str]:
        return set(self.files)

    def read(self, path: str) -> bytes | None:
        return self.files.get(path)

    def holding(self, text: str) -> list[str]:
        return [path for path, data in self.files.items() if text.encode() in data]


def read(source: str, **others: str) -> list[Failing]:
    """What a file as it is gets reported."""
    tree = Files({"pkg/a.py": source, **{f"pkg/{name}.py": text for name, text in others.items()}})
    return survey(tree, ["pkg/a.py"])


def new(before: str, after: str, **others: str) -> list[Failing]:
    """What a patch that makes `after` of `before` gets reported."""
    tree = Files({"pkg/a.py": before, **{f"pkg/{name}.py": text for name, text in others.items()}})
    return compare({"pkg/a.py": textwrap.dedent(after).encode()}, tree)


def short(found: list[Failing]) -> list[tuple[str, str, int]]:
    return [(one.kind, one.name, one.line) for one in found]


FAILS = {
    "never bound": ("def f():\n    return gone\n", "unbound"),
    "parameter that the signature never gained": ("def f(a):\n    return a + scale\n", "unbound"),
    "later import in the function": (
        "from m import get\n\ndef f(x):\n    n = get()\n    if x:\n        from m import get\n    return n\n",
        "unbound-before-assignment",
    ),
    "other arm binds it": (
        "def f(x):\n    if x == 1:\n        return g()\n    elif x == 2:\n"
        "        from m import g\n        return g()\n",
        "unbound-before-assignment",
    ),
    "module reads before it binds": ("x = y\ny = 1\n", "unbound-before-assignment"),
    "type checkers only": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from m import T\n\n"
        "def f(x):\n    return isinstance(x, T)\n",
        "type-checking-only",
    ),
    "type checkers only, annotation evaluated": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from m import T\n\ndef f(x: T): ...\n",
        "type-checking-only",
    ),
    "after except": (
        "def f():\n    try:\n        g()\n    except ValueError as e:\n        pass\n    return e\n\ndef g(): ...\n",
        "unbound-before-assignment",
    ),
    "after del": ("def f():\n    x = 1\n    del x\n    return x\n", "unbound-before-assignment"),
    "module's name deleted": ("x = 1\ndel x\ndef f():\n    return x\n", "unbound"),
    "class's name in a method": ("class A:\n    size = 1\n    def f(self):\n        return size\n", "unbound"),
    "class's name in a comprehension": ("class A:\n    n = 2\n    xs = [n for _ in range(3)]\n", "unbound"),
    "target of a comprehension": ("def f(xs):\n    [i for i in xs]\n    return i\n", "unbound"),
    "global that nobody binds": ("def f():\n    global counter\n    return counter\n", "unbound"),
    "exported": ("__all__ = ['gone']\n", "unbound"),
    "evaluated annotation": ("def f(x: Gone): ...\n", "unbound"),
    "decorator": ("@gone\ndef f(): ...\n", "unbound"),
    "capture of another case": (
        "def f(x):\n    match x:\n        case [a]:\n            return a\n"
        "        case {'k': b}:\n            return a\n",
        "unbound-before-assignment",
    ),
}


@pytest.mark.parametrize("name", FAILS)
def test_fails(name: str) -> None:
    source, kind = FAILS[name]
    assert [one.kind for one in read(source)] == [kind]


FINE = {
    "string annotation": "def f(x: 'Gone', y: 'a b c') -> 'Also[Gone]': ...\n",
    "literal choices": "from typing import Literal\nx: Literal['auto', 'half'] = 'auto'\n",
    "annotations put off": "from __future__ import annotations\ndef f(x: Gone) -> Other: ...\n",
    "annotation of a local": "def f():\n    x: Gone = 1\n    return x\n",
    "cast to a string": "from typing import cast\ndef f(x):\n    return cast('Gone', x)\n",
    "both arms": "def f(a):\n    if a:\n        x = 1\n    else:\n        x = 2\n    return x\n",
    "later in the module": "def f():\n    return g()\n\ndef g(): ...\n",
    "fallback": "try:\n    import fast\nexcept ImportError:\n    fast = None\n\ndef f():\n    return fast\n",
    "the other arm ends": "def f(a):\n    if a:\n        x = 1\n    else:\n        raise ValueError\n    return x\n",
    "loop binds for the next round": (
        "def f(xs):\n    for x in xs:\n        if x:\n            print(y)\n        y = x\n"
    ),
    "nonlocal": (
        "def f():\n    n = 0\n    def g():\n        nonlocal n\n        n += 1\n        return n\n    return g\n"
    ),
    "global bound by a function": "def f():\n    global n\n    n = 1\n\ndef g():\n    return n\n",
    "walrus": "def f(xs):\n    if (n := len(xs)) > 1 and (m := n):\n        return m\n    return n\n",
    "walrus in a comprehension": "def f(xs):\n    found = [y for x in xs if (y := x)]\n    return found, y\n",
    "asked with try": "def f():\n    try:\n        return gone\n    except NameError:\n        return None\n",
    "type checkers only, in a string": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from m import T\n\ndef f(x: 'T'): ...\n"
    ),
    "type checkers and the rest": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from m import T\nelse:\n"
        "    T = object\n\ndef f(x: T): ...\n"
    ),
    "platform's import, platform's function": (
        "if is_cuda():\n    from m import k\n\ndef f():\n    return k()\n\ndef g(): ...\n".replace(
            "is_cuda()", "len('x')"
        )
    ),
    "flag beside the import": (
        "try:\n    import t\n    HAS = True\nexcept ImportError:\n    HAS = False\nif HAS:\n    x = t.y\n"
    ),
    "globals written": "globals().update(a=1)\n\ndef f():\n    return a\n",
    "capture": (
        "def f(x):\n    match x:\n        case [a, *rest]:\n            return a, rest\n"
        "        case {'k': b, **more}:\n            return b, more\n"
    ),
    "class cell": "class A:\n    def f(self):\n        return __class__\n",
    "module's own names": "def f():\n    return __file__, __name__, __spec__\n",
    "lambda default": "def f(x):\n    return lambda y=x: y\n",
    "endless loop": (
        "def f():\n    while True:\n        try:\n            x = g()\n            break\n"
        "        except ValueError:\n            continue\n    return x\n\ndef g(): ...\n"
    ),
    "with": "def f(p):\n    with open(p) as file:\n        data = file.read()\n    return data\n",
    "byte order mark": "\ufeffx = 1\n",
    "deleted in one branch": "def f(a):\n    x = 1\n    if a:\n        del x\n        return 0\n    return x\n",
}


@pytest.mark.parametrize("name", FINE)
def test_fine(name: str) -> None:
    assert short(read(FINE[name])) == []


def test_exported_submodules() -> None:
    tree = Files({"pkg/__init__.py": "__all__ = ['sub']\n", "pkg/sub.py": ""})
    assert survey(tree, tree.paths()) == []


def test_star_imports_are_resolved() -> None:
    stars = "from pkg.b import *\n\ndef f():\n    return one, _two, three, typo\n"
    b, c = "from .c import *\none = 1\n_two = 2\n", "three = 3\n"
    assert [one.name for one in read(stars, b=b, c=c)] == ["_two", "typo"]
    assert [one.name for one in read(stars, b=b + "__all__ = ['one', '_two']\n", c=c)] == ["three", "typo"]
    assert read(stars, b="from elsewhere import *\n") == [], "a star import that leaves the tree may bring anything"
    assert [one.kind for one in read(stars, b="def (\n")] == ["unread"]


def test_only_what_is_new_counts() -> None:
    old = "def f():\n    return gone\n\ndef g():\n    return 1\n"
    assert new(old, old + "x = 1\n") == []
    assert short(new(old, old.replace("return 1", "return gone"))) == [("unbound", "gone", 5)]


def test_names_left_behind() -> None:
    """Case 13: the hunk applies far away, where its helpers are not imported."""
    old = "def f(x):\n    return x\n"
    body = "def f(x):\n    if is_cuda() or is_musa():\n        return 1\n    return 2 if is_npu() else x\n"
    found = new(old, body)
    assert [(one.kind, one.name) for one in found] == [("unbound", name) for name in ("is_cuda", "is_musa", "is_npu")]


def test_body_without_its_parameter() -> None:
    """Case 18, and its cousin that a builtin of the same name hides."""
    assert short(new("def f(a, b):\n    return a + b\n", "def f(a):\n    return a + b\n")) == [("unbound", "b", 2)]
    found = new("def f(a, input):\n    return a + input\n", "def f(a):\n    return a + input\n")
    assert [(one.kind, one.name) for one in found] == [("unbound", "input")] and "builtin" in found[0].message
    assert new("def f(a):\n    return a\n", "def f(a):\n    return max(a)\n") == []


PLATFORMS = """
    from p import is_cuda, is_hip

    _is_hip = is_hip()

    if is_cuda():
        from cuda import one
    elif is_hip():
        from hip import two
    {more}

    def run(x):
        {body}
    """


def platforms(body: str, more: str = "") -> list[Failing]:
    return new(PLATFORMS.format(body="return x", more=""), PLATFORMS.format(body=body, more=more))


def test_import_in_a_branch() -> None:
    """Case 19: the branch is named."""
    found = platforms("return two(x)")
    assert [(one.kind, one.name) for one in found] == [("unbound", "two")]
    assert "`elif is_hip():`" in found[0].message
    assert [one.name for one in platforms("if is_cuda():\n            return two(x)")] == ["two"], "the wrong platform"
    assert [one.name for one in platforms("return one(x)")] == ["one"]


@pytest.mark.parametrize(
    "body",
    [
        "return two(x) if is_hip() else x",
        "if _is_hip and x:\n            return two(x)",
        "if not is_hip():\n            return x\n        return two(x)",
        "assert is_hip()\n        return two(x)",
        "return is_hip() and two(x)",
        "try:\n            return two(x)\n        except NameError:\n            return x",
        "return [two(y) for y in x if is_hip()]",
    ],
)
def test_guarded_like_the_import(body: str) -> None:
    assert platforms(body) == []


def test_every_branch_binds() -> None:
    before = "if a():\n    from p import x\nelif b():\n    from q import x\nelse:\n    x = None\n"
    assert new("from m import a, b\n", f"from m import a, b\n{before}\ndef f():\n    return x\n") == []


def test_a_name_that_says_its_platform() -> None:
    before = "if is_hip():\n    from h import k\n"
    assert (
        new("from p import is_hip\n" + before, f"from p import is_hip\n{before}\ndef forward_hip():\n    k()\n") == []
    )


def test_stale_imports() -> None:
    """The patch rebinds `b.f`; `c` keeps the function that it imported."""
    b, c = "def f(): ...\n", "from pkg.b import f\n\ndef run():\n    return f()\n"
    patch = "from pkg import b\n\ndef install():\n    b.f = lambda: 1\n"
    found = new("x = 1\n", patch, b=b, c=c)
    assert [(one.kind, one.file, one.name, one.line) for one in found] == [("stale-from-import", "pkg/c.py", "f", 1)]
    assert "pkg/a.py:4" in found[0].message
    for fine in (
        "from pkg import b\n\ndef run():\n    return b.f()\n",
        "def run():\n    from pkg.b import f\n    return f()\n",
    ):
        assert new("x = 1\n", patch, b=b, c=fine) == []


@pytest.mark.parametrize(
    "rebind",
    [
        "import pkg.b\n\ndef install():\n    m = pkg.b\n    m.f = g\n",
        "import importlib\n\ndef install():\n    m = importlib.import_module('pkg.b')\n    m.f = g\n",
        "import sys\n\ndef install():\n    sys.modules['pkg.b'].f = g\n",
        "import sys\n\ndef install():\n    m = sys.modules['pkg.b']\n    m.f = g\n",
        "import importlib\n\ndef install():\n    importlib.import_module('pkg.b').f = g\n",
    ],
)
def test_stale_import_whatever_the_module_is_called(rebind: str) -> None:
    files = Files({"pkg/b.py": "def f(): ...\n", "pkg/c.py": "from pkg.b import f\n\ndef use():\n    return f()\n"})
    found = compare({"pkg/ours.py": f"def g(): ...\n{rebind}".encode()}, files)
    assert [(one.kind, one.file, one.name) for one in found] == [("stale-from-import", "pkg/c.py", "f")]
    twice = rebind.replace("m.f = g", "m = g()\n    m.f = g")
    if twice != rebind:
        assert compare({"pkg/ours.py": f"def g(): ...\n{twice}".encode()}, files) == []


def test_stale_import_of_a_global() -> None:
    state = "current = None\n\ndef start():\n    global current\n    current = 1\n"
    user = "from .b import current\n\ndef f():\n    return current\n"
    assert [one.kind for one in new("def f(): ...\n", user, b=state)] == ["stale-from-import"]
    assert new(user, user + "x = 1\n", b=state) == [], "it was there before"
    assert new("def f(): ...\n", user, b=state + "\nstart()\n") == [], "settled while it is imported"


BASE = """
    class Base:
        limit: int
        def __init__(self):
            self.size = 0
"""


def test_attributes_that_nobody_assigns() -> None:
    old = "from pkg.b import Base\n\nclass A(Base):\n    def f(self):\n        return self.size\n"
    assert new(old, old.replace("self.size", "self.size + self.limit"), b=BASE) == []
    found = new(old, old.replace("self.size", "self.sise"), b=BASE)
    assert [(one.kind, one.name, one.line) for one in found] == [("unbound", "self.sise", 5)]
    assert new(old.replace("self.size", "self.sise"), old.replace("self.size", "1 + self.sise"), b=BASE) == []


@pytest.mark.parametrize(
    "tail",
    [
        "    def __getattr__(self, name): ...\n",
        "    def g(self, k, v):\n        setattr(self, k, v)\n",
        "    def g(self, v):\n        self.__dict__.update(v)\n",
        "    def g(self):\n        for self.more in (): ...\n",
        "    __slots__ = ('more',)\n",
        "    more: int\n",
        "    @property\n    def more(self): ...\n",
        "    @classmethod\n    def g(cls):\n        cls.more = 1\n",
        "    more = None\n",
        "\nclass B(A):\n    def __init__(self):\n        self.more = 1\n",
        "\nclass C:\n    def __init__(self):\n        self.more = 1\n\nclass D(A, C): ...\n",
        "\ndef build(a):\n    a.more = 1\n",
        "\ndef build(a):\n    setattr(a, 'more', 1)\n",
    ],
)
def test_attributes_that_may_be_there(tail: str) -> None:
    old = "class A:\n    def f(self):\n        return 1\n"
    assert new(old, old.replace("return 1", "return self.more") + tail) == []


@pytest.mark.parametrize(
    ("use", "name"),
    [
        ("self.more += 1", "self.more"),
        ("del self.more", "self.more"),
        ("self.other.value = self.more", "self.more"),
    ],
)
def test_reads_that_give_nothing(use: str, name: str) -> None:
    old = "class A:\n    other = None\n    def f(self):\n        pass\n"
    assert [one.name for one in new(old, old.replace("pass", use))] == [name]
    assert new(old, old.replace("pass", use) + "    more = 0\n") == []


def test_attributes_of_the_class() -> None:
    old = "class A:\n    size = 1\n    @classmethod\n    def f(cls):\n        return cls.size\n"
    found = new(old, old.replace("cls.size", "cls.sise"))
    assert [(one.name, one.message) for one in found] == [
        ("cls.sise", "nothing assigns `cls.sise` on `A` or any class of its hierarchy")
    ]
    for fine in ("cls.__subclasses__", "cls.__name__", "cls.mro", "cls()"):
        assert new(old, old.replace("cls.size", fine)) == []


@pytest.mark.parametrize("name", ["__dataclass_fields__", "__dataclass_params__", "__match_args__"])
def test_what_a_dataclass_is_given(name: str) -> None:
    old = "from dataclasses import dataclass\n\n@dataclass\nclass A:\n    def f(self):\n        return 1\n"
    assert new(old, old.replace("return 1", f"return self.{name}")) == []
    assert [
        one.name
        for one in new(old.replace("@dataclass\n", ""), old.replace("@dataclass\n", "").replace("1", f"self.{name}"))
    ]


@pytest.mark.parametrize(
    ("other", "fine"),
    [
        ("def build(x):\n    x.more = 1\n", False),  # any object at all
        ("class B:\n    def f(self, x):\n        x.more = 1\n", False),
        ("from pkg.a import A\n\ndef build():\n    a = A()\n    a.more = 1\n", True),
        ("import pkg.a\n\ndef build():\n    a = pkg.a.A()\n    setattr(a, 'more', 1)\n", True),
        ("from pkg.a import Sub\n\ndef build():\n    Sub().more = 1\n", True),
    ],
)
def test_attributes_that_another_file_assigns(other: str, fine: bool) -> None:
    """A file counts only if it can have such an object: 11 of 18 planted faults hid behind one that cannot."""
    old = "class A:\n    def f(self):\n        return 1\n\nclass Sub(A): ...\n"
    assert (new(old, old.replace("return 1", "return self.more"), b=other) == []) == fine


def test_attributes_that_a_helper_assigns() -> None:
    """The class hands itself to a function of another file, which need not know the class."""
    old = "from pkg.b import set_up\n\nclass A:\n    def f(self):\n        set_up(self)\n        return 1\n"
    assert new(old, old.replace("return 1", "return self.more"), b="def set_up(x):\n    x.more = 1\n") == []


@pytest.mark.parametrize(
    "head", ["from torch import Base", "import torch\nBase = torch.make()", "from pkg.gone import Base"]
)
def test_bases_that_leave_the_tree(head: str) -> None:
    old = f"{head}\n\nclass A(Base):\n    def f(self):\n        return 1\n"
    assert new(old, old.replace("return 1", "return self.more")) == []


def test_a_file_that_cannot_be_read() -> None:
    """Case 22."""
    found = new("x = 1\n", "x = (\n")
    assert [(one.kind, one.file, one.line) for one in found] == [("unread", "pkg/a.py", 1)]
    assert [one.kind for one in compare({"pkg/n.py": b"x = '\xff'\n"}, Files({}))] == ["unread"]


def test_without_pyflakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Case 22: no check is not a pass."""
    monkeypatch.setitem(sys.modules, "pyflakes", None)
    with pytest.raises(StateError, match="pyflakes"):
        unbound({"a.py": b"x = 1\n"}, Files({}))
    with pytest.raises(StateError, match="pyflakes"):
        survey(Files({"a.py": "x = 1\n"}), ["a.py"])


def test_findings() -> None:
    found = unbound({"a.py": b"def f():\n    return gone\n", "b.txt": b"x", "c.py": None}, Files({}), next="go")
    assert [(one.kind, one.file, one.line, one.next) for one in found] == [("unbound", "a.py", 2, "go")]
