"""What our lines use of upstream, compared between two small trees: each kind, and its twin that is fine."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from rebasekit.checks.survive import Sight, Survival, UsedHunk, survive
from rebasekit.facts.lazy import lazy_facts
from rebasekit.facts.query import Facts
from rebasekit.facts.settings import Settings
from rebasekit.facts.source import ListingTree, blob_id, listing_key

MARK = "#@"  # ends a line of ours
Tree = Mapping[str, str]
Check = Callable[..., Survival]


def facts_of(tree: Tree, cache: Path) -> Facts:
    data = {path: textwrap.dedent(text).encode() for path, text in tree.items()}
    blobs = {blob_id(content): content for content in data.values()}
    listing = {path: blob_id(content) for path, content in data.items()}
    source = ListingTree(listing_key(listing), listing, lambda ids: ((i, blobs[i]) for i in ids))
    return lazy_facts(cache, source, Settings(entries=("pkg.main",)))


def sight(tree: Tree) -> Sight | None:
    """The lines marked as ours, in the one file that has any."""
    for path, text in tree.items():
        source = textwrap.dedent(text)
        lines = tuple(n for n, line in enumerate(source.split("\n"), 1) if line.endswith(MARK))
        if lines:
            return Sight(path, lines, source.encode())
    return None


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Compare two trees; `ours` is a new module of ours in both, `extra` names listed uses."""

    def run(old: Tree, new: Tree, ours: str = "", uses: tuple[str, ...] = ()) -> Survival:
        if ours:
            lines = textwrap.dedent(ours).split("\n")
            marked = "\n".join(f"{line}  {MARK}" if line.strip() else line for line in lines)
            old, new = {**old, "pkg/ours.py": marked}, {**new, "pkg/ours.py": marked}
        hunk = UsedHunk("p", "h", sight(old), sight(new), uses)
        return survive([hunk], facts_of(old, tmp_path), facts_of(new, tmp_path), tag="v2")

    return run


def kinds(found: Survival) -> list[str]:
    return [finding.kind for finding in found.findings]


def message(found: Survival) -> str:
    assert len(found.findings) == 1, found.findings
    return found.findings[0].message


def test_import_of_a_function_that_moved(check: Check) -> None:
    """Case 14: a new file never conflicts, so nothing but this check says that its import broke."""
    found = check(
        {"pkg/layers/merge.py": "def merge_state(a, b): ...\n"},
        {"pkg/layers/attention/merge.py": "def merge_state(a, b): ...\n", "pkg/layers/merge.py": ""},
        "from pkg.layers.merge import merge_state",
    )
    assert kinds(found) == ["api-moved"]
    assert "`pkg.layers.attention.merge.merge_state`" in message(found)
    assert (found.findings[0].file, found.findings[0].line) == ("pkg/ours.py", 1)


def test_import_through_the_old_place_still_works(check: Check) -> None:
    found = check(
        {"pkg/merge.py": "def merge_state(a, b): ...\n"},
        {"pkg/new.py": "def merge_state(a, b): ...\n", "pkg/merge.py": "from pkg.new import merge_state\n"},
        "from pkg.merge import merge_state",
    )
    assert kinds(found) == []
    assert found.checked == 1


def test_name_that_every_module_has(check: Check) -> None:
    """SGLang v0.5.20 moves a module; its `logger` moved with it, and not to the other new module beside it."""
    many = {f"pkg/x{number}.py": "logger = make()\ndef f():\n    logger.info()\n" for number in range(5)}
    old = {**many, "pkg/a.py": "logger = make()\ndef one(): ...\ndef two(): ...\n"}
    new = {**many, "pkg/new.py": "logger = make()\ndef f():\n    logger.info()\n"}
    moved = {**new, "pkg/b.py": old["pkg/a.py"]}
    assert "`pkg.a.logger` is `pkg.b.logger`" in message(check(old, moved, "from pkg.a import logger"))
    assert kinds(check(old, new, "from pkg.a import logger")) == ["api-gone"]


def test_module_that_moved(check: Check) -> None:
    found = check(
        {"pkg/a/mamba_component.py": "class Mamba: ...\ndef f(): ...\n"},
        {"pkg/a/mamba.py": "class Mamba: ...\ndef f(): ...\n"},
        "import pkg.a.mamba_component",
    )
    assert kinds(found) == ["api-moved"]
    assert "`pkg.a.mamba`" in message(found)


@pytest.mark.parametrize("line", ["import pkg.x.nowhere", "import pkg.x.nowhere as n", "from pkg.x.nowhere import y"])
def test_module_that_no_release_has(check: Check, line: str) -> None:
    """The patch that brought it was retired. A compiled module is no file either, and upstream imports it too."""
    tree = {"pkg/x/a.py": "x = 1\n"}
    assert kinds(check(tree, tree, line)) == ["api-gone"]
    assert kinds(check(tree, tree, f"def f():\n    {line}")) == ["api-gone"]
    assert kinds(check({**tree, "pkg/x/b.py": f"{line}\n"}, {**tree, "pkg/x/b.py": f"{line}\n"}, line)) == []


@pytest.mark.parametrize("caught", ["ImportError", "(KeyError, ModuleNotFoundError)", "Exception", ""])
def test_import_that_may_fail(check: Check, caught: str) -> None:
    """A module that no release has may be somebody's plugin; one that the release had is gone all the same."""
    tree = {"pkg/x/a.py": "x = 1\n"}
    ours = f"try:\n    from pkg.x.a import y\n    from pkg.nowhere import z\nexcept {caught}:\n    z = None".replace(
        " :", ":"
    )
    assert kinds(check(tree, tree, ours)) == []
    assert kinds(check({"pkg/x/a.py": "y = 1\n"}, tree, ours)) == ["api-gone"]
    assert len(kinds(check(tree, tree, ours.replace(caught, "KeyError") if caught else "import pkg.nowhere")))


def test_gone(check: Check) -> None:
    found = check({"pkg/a.py": "def f(): ...\n"}, {"pkg/a.py": "def other(): ...\n"}, "from pkg.a import f")
    assert kinds(found) == ["api-gone"]


def test_twin_that_was_there_before_is_no_move(check: Check) -> None:
    found = check(
        {"pkg/a.py": "def f(): ...\n", "pkg/b.py": "def f(): ...\n"},
        {"pkg/a.py": "", "pkg/b.py": "def f(): ...\n"},
        "from pkg.a import f",
    )
    assert kinds(found) == ["api-gone"]


def test_name_of_another_package_that_a_module_passes_on(check: Check) -> None:
    tree = {"pkg/a.py": "from pkg.b import AutoConfig\n", "pkg/b.py": "from transformers import AutoConfig\n"}
    assert kinds(check(tree, tree, "from pkg.a import AutoConfig")) == []


def test_name_that_upstream_imports_from_elsewhere_now(check: Check) -> None:
    """Our line says `helper()`; where the module gets it from is upstream's business."""
    old = {"pkg/a.py": "def helper(): ...\n", "pkg/m.py": "from pkg.a import helper\ndef f():\n    helper()  #@\n"}
    new = {"pkg/b.py": "def helper(): ...\n", "pkg/m.py": "from pkg.b import helper\ndef f():\n    helper()  #@\n"}
    found = check(old, new)
    assert kinds(found) == []
    assert found.checked == 1


REQ = "class Kv:\n    {kv}: int = 0\nclass Req:\n    def __init__(self):\n        self.kv: Optional[Kv] = None\n{own}"


def test_attribute_that_moved_into_an_attribute(check: Check) -> None:
    found = check(
        {"pkg/req.py": REQ.format(kv="other", own="        self.req_pool_idx = None\n")},
        {"pkg/req.py": REQ.format(kv="req_pool_idx", own="")},
        """
        from pkg.req import Req
        def f(req: Req):
            return req.req_pool_idx
        """,
    )
    assert kinds(found) == ["api-moved"]
    assert message(found) == "`Req.req_pool_idx` is `Req.kv.req_pool_idx` (`Kv`) in v2"


def test_receiver_that_is_not_known_is_silent_and_counted(check: Check) -> None:
    found = check(
        {"pkg/req.py": REQ.format(kv="other", own="        self.req_pool_idx = None\n")},
        {"pkg/req.py": REQ.format(kv="req_pool_idx", own="")},
        "def f(req):\n    return req.req_pool_idx",
    )
    assert kinds(found) == []
    assert found.unresolved == 1


NODE = """
    from typing import Any
    class Node:
        {field}
    def two() -> tuple[int, int]: ...
"""
OTHER = {"pkg/b.py": "class Other:\n    lock_ref = 1\n"}
WITH_REF = {**OTHER, "pkg/a.py": NODE.format(field="lock_ref: int = 0")}
WITHOUT_REF = {**OTHER, "pkg/a.py": NODE.format(field="locks: int = 0")}
TAKEN = [
    "for i, n in enumerate(ns):\n        n.lock_ref",
    "for n, m in zip(ns, ns):\n        n.lock_ref\n        m.lock_ref",
    "for i, (a, n) in enumerate(zip(ns, ns)):\n        n.lock_ref",
    "for k, n in by_name.items():\n        n.lock_ref",
    "for n in ns[1:]:\n        n.lock_ref",
    "rest = ns[1:]\n    for n in rest:\n        n.lock_ref",
    "for n in reversed(list(ns)):\n        n.lock_ref",
    "for n in list(by_name.values()):\n        n.lock_ref",
    "n = next(iter(ns))\n    n.lock_ref",
    "max(ns).lock_ref",
    "sorted(ns, key=lambda n: n.lock_ref)",
    "ns.sort(key=lambda n: n.lock_ref)",
    "[n.lock_ref for i, n in enumerate(ns)]",
    "n = cast(Node, x)\n    n.lock_ref",
    "n = cast('Node', x)\n    n.lock_ref",
    "copy.copy(ns[0]).lock_ref",
    "if isinstance(x, Node):\n        x.lock_ref",
    "if isinstance(x, (int, Node)) and x.lock_ref:\n        pass",
    "assert isinstance(x.inner, Node)\n    x.inner.lock_ref",
    "def inner():\n        return isinstance(x, Node) and x.lock_ref",
    "hasattr(ns[0], 'lock_ref')",
    "getattr(ns[0], 'lock_ref', 0)",
]


@pytest.mark.parametrize("use", TAKEN)
def test_receiver_by_what_the_text_says_of_it(check: Check, use: str) -> None:
    """Another class still has the name, so only knowing the object's class tells that it is gone."""
    head = "import copy\nfrom typing import cast\nfrom pkg.a import Node\n"
    ours = f"{head}def f(ns: list[Node], by_name: dict[str, Node], x):\n    {use}"
    assert message(check(WITH_REF, WITHOUT_REF, ours)).startswith("`Node.lock_ref` is not in v2")
    assert kinds(check(WITH_REF, WITH_REF, ours)) == []


@pytest.mark.parametrize(
    "use",
    [
        "for i, n in enumerate(others):\n        n.lock_ref",
        "for n, m in zip(ns, others):\n        m.lock_ref",
        "for k, n in by_name.items():\n        k.lock_ref",
        "if isinstance(x, Other):\n        x.lock_ref",
    ],
)
def test_receiver_that_is_another_object(check: Check, use: str) -> None:
    ours = f"from pkg.a import Node\nfrom pkg.b import Other\ndef f(ns: list[Node], others, by_name, x):\n    {use}"
    assert kinds(check(WITH_REF, WITHOUT_REF, ours)) == []


def test_receiver_through_self_a_container_and_a_call(check: Check) -> None:
    tree = """
        class Node:
            {name}: int = 0
        class Tree:
            nodes: dict[str, Node]
            def first(self) -> Node: ...
        class Cache:
            def __init__(self):
                self.tree: Optional[Tree] = None
            def step(self):
                for node in self.tree.nodes.values():
                    print(node.{used})  #@
                print(self.tree.first().{used})  #@
        """
    old = {"pkg/c.py": tree.format(name="lock_ref", used="lock_ref")}
    new = {"pkg/c.py": tree.format(name="locked", used="lock_ref")}
    found = check(old, new)
    assert kinds(found) == ["api-gone"]
    assert message(found).startswith("`Node.lock_ref` is not in v2")
    assert message(found).endswith("(2 places)")


def test_attribute_that_others_set(check: Check) -> None:
    """Upstream sets it from outside now: the object has it all the same."""
    body = "class C:\n    pass\ndef use(c: C):\n    print(c.flag)\ndef build():\n    c = C()\n    c.flag = 1\n"
    found = check(
        {"pkg/c.py": "class C:\n    flag = 0\n"},
        {"pkg/c.py": body},
        "from pkg.c import C\ndef f(c: C):\n    return c.flag",
    )
    assert kinds(found) == []


@pytest.mark.parametrize(
    "end", ["    def __getattr__(self, name): ...\n", "C = make('C', fields)\n", "C.__annotations__ = {}\n"]
)
def test_class_that_makes_up_its_attributes(check: Check, end: str) -> None:
    """Nothing is said while upstream still reads the name somewhere; when nothing has it any more, it is gone."""
    ours = "from pkg.c import C\ndef f(c: C):\n    return c.flag"
    old, new = {"pkg/c.py": "class C:\n    flag = 0\n"}, {"pkg/c.py": f"class C:\n    x = 1\n{end}"}
    assert kinds(check(old, {**new, "pkg/user.py": "def use(c):\n    return c.flag\n"}, ours)) == []
    assert message(check(old, new, ours)) == "nothing in v2 has a `flag` any more"


def test_field_that_a_class_is_put_together_from(check: Check) -> None:
    """v0.5.21 drops `keep_mm_feature_on_device`; from v0.5.20 on, `ServerArgs` is made of other classes' fields."""
    args = "class Args: ...\nArgs = defstruct('Args', Fields)\n"
    old = {"pkg/f.py": "class Fields:\n    on_device: bool = False\n", "pkg/args.py": args}
    new = {"pkg/f.py": "class Fields:\n    other: bool = False\n", "pkg/args.py": args}
    found = check(old, new, "from pkg.args import Args\ndef f(args: Args):\n    return args.on_device")
    assert message(found) == "nothing in v2 has a `on_device` any more"
    assert kinds(check(old, old, "from pkg.args import Args\ndef f(args: Args):\n    return args.on_device")) == []


def test_object_that_is_of_another_class_now(check: Check) -> None:
    tree = """
        class A:
            size = 1
        class B:
            width = 1
        class H:
            item: {item}
            def f(self):
                return self.item.size  #@
        """
    found = check({"pkg/h.py": tree.format(item="A")}, {"pkg/h.py": tree.format(item="B")})
    assert kinds(found) == ["api-gone"]
    assert "its object is a `B` now" in message(found)


CALL = "from pkg.a import f\nf(1, x=2)"


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        ("def f(a): ...", "it has no parameter `x`"),
        ("def f(a, x, *, stream): ...", "it requires `stream`"),
        ("def f(*, a, x): ...", "it takes 0 by position, `a` by name only"),
        ("def f(x, a): ...", "`x` is filled by position already"),
        ("async def f(a, x=0): ...", "is async"),
    ],
)
def test_call_that_no_longer_fits(check: Check, after: str, reason: str) -> None:
    found = check({"pkg/a.py": "def f(a, x=0): ...\n"}, {"pkg/a.py": after + "\n"}, CALL)
    assert kinds(found) == ["signature-changed"]
    assert reason in message(found)


@pytest.mark.parametrize(
    "after", ["def f(a, x=0, y=1): ...", "def f(*args, **kwargs): ...", "def f(b, /, x=0): ...", "def f(b, x): ..."]
)
def test_call_that_still_fits(check: Check, after: str) -> None:
    assert kinds(check({"pkg/a.py": "def f(a, x=0): ...\n"}, {"pkg/a.py": after + "\n"}, CALL)) == []


def test_arguments_in_another_order(check: Check) -> None:
    old, new = {"pkg/a.py": "def f(k, v): ...\n"}, {"pkg/a.py": "def f(v, k): ...\n"}
    found = check(old, new, "from pkg.a import f\nf(1, 2)")
    assert set(kinds(found)) == {"signature-changed"}
    assert "argument 1 was `k` and is `v`" in found.findings[0].message


def test_default_that_our_call_leaves_out(check: Check) -> None:
    old, new = {"pkg/a.py": "def f(a, x=0, y=1): ...\n"}, {"pkg/a.py": "def f(a, x=9, y=7): ...\n"}
    found = check(old, new, CALL)
    assert kinds(found) == ["signature-changed"]
    assert "the default of `y`, which this call leaves out, was 1 and is 7" in message(found)


def test_an_argument_of_ours_in_upstreams_call(check: Check) -> None:
    call = "from pkg.a import f\nf(\n    1,\n    x=2,  #@\n)\n"
    old = {"pkg/a.py": "def f(a, x=0): ...\n", "pkg/m.py": call}
    new = {"pkg/a.py": "def f(a): ...\n", "pkg/m.py": call}
    assert kinds(check(old, new)) == ["signature-changed"]


def test_constructor_of_a_dataclass(check: Check) -> None:
    old = {"pkg/a.py": "@dataclass\nclass P:\n    key: str\n    size: int = 0\n"}
    new = {"pkg/a.py": "@dataclass\nclass P:\n    key: str\n    node: int\n    size: int = field(default=0)\n"}
    found = check(old, new, "from pkg.a import P\nP(key='a')")
    assert kinds(found) == ["signature-changed"]
    assert "it requires `node`" in message(found)


BASE = """
    class Base:
        def check_decode_capacity(self, *, num_tokens{more}): ...
        def call(self):
            self.check_decode_capacity(num_tokens=1)
    """
OVERRIDE = """
    from pkg.base import Base
    class Ours(Base):
        def check_decode_capacity(self, *, num_tokens{more}): ...
    """


@pytest.mark.parametrize(
    "use",
    [
        "partial(f, x=2)",
        "functools.partial(f, x=2)",
        "pool.submit(f, 1, x=2)",
        "asyncio.to_thread(f, 1, x=2)",
        "loop.run_in_executor(None, f, 1, 2, 3)",
        "threading.Thread(target=f, args=(1,), kwargs={'x': 2})",
        "Process(target=f, args=(1, 2, 3))",
    ],
)
def test_call_that_somebody_else_makes(check: Check, use: str) -> None:
    ours = f"from functools import partial\nfrom pkg.a import f\ndef g(pool, loop):\n    {use}"
    old = {"pkg/a.py": "def f(a, x=1, z=0): ...\n"}
    assert kinds(check(old, {"pkg/a.py": "def f(a, other=1): ...\n"}, ours)) == ["signature-changed"]
    assert kinds(check(old, {"pkg/a.py": "def f(a, x=1, z=0, more=2): ...\n"}, ours)) == []


@pytest.mark.parametrize(("after", "fits"), [("tuple[int, int, int]", False), ("Tuple[int, int]", True), ("int", True)])
def test_number_of_values_that_a_call_returns(check: Check, after: str, fits: bool) -> None:
    """What an annotation does not say is not known."""
    old, new = {"pkg/a.py": "def f() -> tuple[int, int]: ...\n"}, {"pkg/a.py": f"def f() -> {after}: ...\n"}
    head = "from pkg.a import f\n"
    for use in ("a, b = f()", "async def g():\n    (a, b) = await f()"):
        found = check(old, new, head + use)
        assert (kinds(found) == []) == fits
        assert fits or message(found) == "`pkg.a.f` returns 3 values in v2, which our line takes as 2"
    for use in ("a, *b = f()", "a = f()", "a, b = f(), 1"):
        assert kinds(check(old, new, head + use)) == []


def test_partial_leaves_room(check: Check) -> None:
    """What the partial leaves out its caller may give; nobody can give what a thread's arguments leave out."""
    old, new = {"pkg/a.py": "def f(a): ...\n"}, {"pkg/a.py": "def f(a, b): ...\n"}
    head = "from pkg.a import f\n"
    assert kinds(check(old, new, f"{head}from functools import partial\ng = partial(f, 1)")) == []
    assert kinds(check(old, new, f"{head}t = Thread(target=f, args=(1,))")) == ["signature-changed"]
    assert kinds(check(old, new, f"{head}def g(args):\n    t = Thread(target=f, args=args)")) == []


@pytest.mark.parametrize("name", ["pkg.a.C.m", "pkg.a:C.m", "pkg.b"])
def test_string_that_names_something(check: Check, name: str) -> None:
    old = {"pkg/a.py": "class C:\n    def m(self): ...\n", "pkg/b.py": "x = 1\n"}
    ours = f"def f(mock):\n    return mock.patch('{name}')"
    assert kinds(check(old, {"pkg/a.py": "class C: ...\n"}, ours)) == ["api-gone"]
    assert kinds(check(old, old, ours)) == []
    assert kinds(check(old, {"pkg/a.py": "class C: ...\n"}, ours.replace("pkg.", "other."))) == []


def test_function_that_is_no_context_manager_any_more(check: Check) -> None:
    managed = "from contextlib import contextmanager\n@contextmanager\ndef f(): ...\n"
    ours = "from pkg.a import f\nwith f():\n    pass"
    assert message(check({"pkg/a.py": managed}, {"pkg/a.py": "def f(): ...\n"}, ours)).endswith(
        "is not a context manager in v2"
    )
    assert kinds(check({"pkg/a.py": managed}, {"pkg/a.py": managed}, ours)) == []


def test_function_that_another_takes_the_place_of(check: Check) -> None:
    old, ours = {"pkg/a.py": "def f(a): ...\n"}, "from pkg.a import f\nf(1)"
    for below in ("f = max\n", "f = other(2)\n"):
        assert "is replaced after its definition" in message(
            check(old, {"pkg/a.py": old["pkg/a.py"] + below}, ours)
        ).replace(" (2 places)", "")
    for below in ("f = wrap(f)\n", "if fast():\n    f = max\n", "g = f\n"):
        assert kinds(check(old, {"pkg/a.py": old["pkg/a.py"] + below}, ours)) == []


ABSTRACT = "from abc import ABC, abstractmethod\nclass B(ABC):\n    @abstractmethod\n    def x(self): ...\n"


def test_base_that_asks_for_one_more_method(check: Check) -> None:
    new = {"pkg/a.py": ABSTRACT + "    @abstractmethod\n    def y(self): ...\n"}
    head = "from pkg.a import B\nclass Ours(B):\n"
    found = check({"pkg/a.py": ABSTRACT}, new, f"{head}    def x(self): ...")
    assert message(found) == "our class `Ours` has to define `B.y` in v2, or it cannot be built"
    for body in ("    def x(self): ...\n    def y(self): ...", "    def x(self): ...\n    y = None"):
        assert kinds(check({"pkg/a.py": ABSTRACT}, new, head + body)) == []
    assert kinds(check({"pkg/a.py": ABSTRACT}, new, f"{head}    z = 1")) == []  # abstract itself, and meant to be


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("class C:\n    p = 1\n", "class C:\n    @property\n    def p(self): ...\n"),
        (
            "class C:\n    @property\n    def p(self): ...\n    @p.setter\n    def p(self, v): ...\n",
            "class C:\n    @property\n    def p(self): ...\n",
        ),
        ("@dataclass\nclass C:\n    p: int = 1\n", "@dataclass(frozen=True)\nclass C:\n    p: int = 1\n"),
    ],
)
def test_attribute_that_cannot_be_assigned_any_more(check: Check, before: str, after: str) -> None:
    ours = "from pkg.a import C\ndef f(c: C):\n    c.p = 1"
    assert "cannot be assigned in v2" in message(check({"pkg/a.py": before}, {"pkg/a.py": after}, ours))
    assert kinds(check({"pkg/a.py": after}, {"pkg/a.py": before}, ours)) == []
    read = "from pkg.a import C\ndef f(c: C):\n    return c.p"
    assert kinds(check({"pkg/a.py": before}, {"pkg/a.py": after}, read)) == []


def test_override_whose_base_grew(check: Check) -> None:
    """Case 21."""
    old = {"pkg/base.py": BASE.format(more="")}
    new = {"pkg/base.py": BASE.format(more=", requests=None, spec=None")}
    found = check(old, new, OVERRIDE.format(more=""))
    assert kinds(found) == ["signature-changed"]
    assert "it has `requests`, which ours does not take; it has `spec`" in message(found)
    assert kinds(check(old, new, OVERRIDE.format(more=", **more"))) == []
    assert kinds(check(old, old, OVERRIDE.format(more=""))) == []


def test_override_of_a_method_that_is_gone(check: Check) -> None:
    found = check({"pkg/base.py": BASE.format(more="")}, {"pkg/base.py": "class Base: ...\n"}, OVERRIDE.format(more=""))
    assert kinds(found) == ["api-gone"]
    assert "our override has no base method" in message(found)


def test_method_that_became_a_property(check: Check) -> None:
    old = {"pkg/a.py": "class C:\n    def size(self): ...\n"}
    new = {"pkg/a.py": "class C:\n    @property\n    def size(self): ...\n"}
    ours = "from pkg.a import C\ndef f(c: C):\n    return c.size()"
    assert kinds(check(old, new, ours)) == ["signature-changed"]


def test_enum_member_under_another_name(check: Check) -> None:
    old, new = (f"from enum import Enum\nclass Mode(Enum):\n    {name} = 'decode'\n" for name in ("DECODE", "STEP"))
    found = check({"pkg/a.py": old}, {"pkg/a.py": new}, "from pkg.a import Mode\nprint(Mode.DECODE)")
    assert kinds(found) == ["value-renamed"]
    assert "its value 'decode' is `STEP` now" in message(found)


def test_string_that_is_not_accepted_any_more(check: Check) -> None:
    old = {"pkg/a.py": "def f(kind: Literal['fp8', 'auto']): ...\nclass C:\n    mode: Literal['x', 'y']\n"}
    new = {"pkg/a.py": "def f(kind: Literal['fp8_e4m3', 'auto']): ...\nclass C:\n    mode: Literal['z', 'y']\n"}
    ours = "from pkg.a import C, f\ndef g(c: C):\n    f('{kind}')\n    return c.mode == '{mode}'"
    found = check(old, new, ours.format(kind="fp8", mode="x"))
    assert kinds(found) == ["value-renamed", "value-renamed"]
    assert "does not accept 'fp8' in v2; new there: 'fp8_e4m3'" in found.findings[0].message
    assert kinds(check(old, new, ours.format(kind="auto", mode="y"))) == []


def test_constant_with_another_value(check: Check) -> None:
    found = check({"pkg/a.py": "GRID = 64\n"}, {"pkg/a.py": "GRID = 128\n"}, "from pkg.a import GRID\nprint(GRID)")
    assert kinds(found) == ["value-renamed"]
    assert "was 64 and is 128" in message(found)


@pytest.mark.parametrize(("old", "new"), [("['a', 'b']", "['a']"), ("{'a': 1}", "{'a': 2}"), ("(2, 13)", "(2, 14)")])
def test_list_with_other_entries(check: Check, old: str, new: str) -> None:
    """What a table holds is upstream's business: eleven such changes in four SGLang releases concerned nobody."""
    ours = "from pkg.a import KINDS\ndef f(kind):\n    return kind in KINDS"
    assert kinds(check({"pkg/a.py": f"KINDS = {old}\n"}, {"pkg/a.py": f"KINDS = {new}\n"}, ours)) == []


def test_key_of_a_table_that_is_gone(check: Check) -> None:
    ours = "from pkg.a import KINDS\nKINDS['a']"
    old = {"pkg/a.py": "KINDS = {'a': 1, 'b': 2}\n"}
    assert message(check(old, {"pkg/a.py": "KINDS = {'c': 1, 'b': 2}\n"}, ours)) == "`KINDS` has no 'a' in v2"
    assert kinds(check(old, {"pkg/a.py": "KINDS = {'a': 3}\n"}, ours)) == []
    assert kinds(check(old, {"pkg/a.py": "KINDS = {**other, 'b': 2}\n"}, ours)) == []


def test_name_that_a_star_import_passes_on(check: Check) -> None:
    old = {"pkg/a.py": "from other import Config\n"}
    new = {"pkg/a.py": "from pkg.b import *\n", "pkg/b.py": "from other import Config\n"}
    assert kinds(check(old, new, "from pkg.a import Config")) == []
    assert kinds(check(old, {**new, "pkg/b.py": "x = 1\n"}, "from pkg.a import Config")) == ["api-gone"]


def test_twin_of_what_is_gone(check: Check) -> None:
    """It is no move, and it is still what a person looks for."""
    twin = {"pkg/b.py": "def f(): ...\n"}
    found = check({**twin, "pkg/a.py": "def f(): ...\n"}, {**twin, "pkg/a.py": "x = 1\n"}, "from pkg.a import f")
    assert kinds(found) == ["api-gone"]
    assert message(found) == "`pkg.a.f` is not in v2; `pkg.b.f` was there before and still is"


def test_listed_uses(check: Check) -> None:
    old = {"pkg/a.py": "class C:\n    def keep(self, a): ...\n    def grow(self, a): ...\n    def drop(self): ...\n"}
    new = {"pkg/a.py": "class C:\n    def keep(self, a): ...\n    def grow(self, a, b): ...\n"}
    names = ("keep", "grow", "drop", "never")
    found = check(old, new, "print()", tuple(f"pkg.a.C.{name}" for name in names))
    assert kinds(found) == ["signature-changed", "api-gone", "api-gone"]
    assert "it gained `b`, which is required" in found.findings[0].message
    assert "on the tag of the pin either" in found.findings[2].message


@pytest.mark.parametrize("which", ["old", "new"])
def test_a_file_that_cannot_be_read_is_a_finding(check: Check, which: str) -> None:
    trees = {"old": {"pkg/a.py": "def f(): ...\n"}, "new": {"pkg/a.py": "def f(): ...\n"}}
    trees[which] = {"pkg/a.py": "def f(:\n"}
    found = check(trees["old"], trees["new"], "from pkg.a import f")
    assert kinds(found) == ["unread"]
    assert "pkg/a.py" in message(found)


def test_our_own_file_that_cannot_be_read(check: Check) -> None:
    assert "unread" in kinds(check({}, {}, "def f(:"))


def test_a_base_class_that_cannot_be_read(check: Check) -> None:
    good = {"pkg/a.py": "from pkg.b import B\nclass C(B): ...\n", "pkg/b.py": "class B:\n    size = 1\n"}
    bad = {**good, "pkg/b.py": "class B(:\n"}
    assert kinds(check(good, bad, "from pkg.a import C\ndef f(c: C):\n    return c.size")) == ["unread"]


def test_hunk_without_a_place_is_checked_all_the_same(tmp_path: Path) -> None:
    old = {"pkg/a.py": "def f(): ...\n", "pkg/m.py": "from pkg.a import f  #@\n"}
    hunk = UsedHunk("p", "h", sight(old), None)
    found = survive([hunk], facts_of(old, tmp_path), facts_of({"pkg/a.py": ""}, tmp_path), tag="v2")
    assert [(f.kind, f.file, f.line) for f in found.findings] == [("api-gone", "pkg/m.py", 0)]


def test_hunk_that_begins_at_the_new_tag(tmp_path: Path) -> None:
    new = {"pkg/a.py": "", "pkg/m.py": "from pkg.a import f  #@\n"}
    facts = facts_of(new, tmp_path)
    found = survive([UsedHunk("p", "h", None, sight(new))], facts, facts, tag="v2")
    assert kinds(found) == ["api-gone"]


BOUNDARY = {
    "pkg/stack.py": "class Boundary:\n    def finish_stack(self, x): ...\n",
    "pkg/main.py": "import pkg.stack\n",
}
USES_IT = """
def run(layers, x):
    return layers[-1].boundary.finish_stack(x)
"""


def test_attribute_of_an_unknown_object_that_nothing_defines_any_more(check: Check) -> None:
    """lsglang 1.6.0 on SGLang v0.5.22: a method of an object out of a list, gone with a refactoring."""
    found = check(BOUNDARY, {"pkg/stack.py": "class Boundary: ...\n", "pkg/main.py": ""}, USES_IT)
    assert kinds(found) == ["api-gone"]
    assert message(found) == "nothing in v2 has a `finish_stack` any more"


@pytest.mark.parametrize(
    "main",
    [
        "def finish_stack(x): ...\n",
        "class Other:\n    finish_stack = None\n",
        "class Other:\n    finish_stack: int\n",
        "def set(x):\n    x.finish_stack = 1\n    return x.finish_stack\n",
        "def read(x):\n    return x.finish_stack\n",
        "import other\nother.finish_stack()\n",
        "finish_stack = 1\n",
        "def broken(:\n    finish_stack\n",
    ],
)
def test_attribute_that_something_may_still_have(check: Check, main: str) -> None:
    assert kinds(check(BOUNDARY, {"pkg/stack.py": "class Boundary: ...\n", "pkg/main.py": main}, USES_IT)) == []


@pytest.mark.parametrize(
    "given",
    [
        "class Boundary:\n    finish_stack: int = 0\n",
        "class Boundary:\n    def __init__(self):\n        self.finish_stack = 0\n    def g(self):\n"
        "        return self.finish_stack\n",
        "def build(x):\n    x.finish_stack = 0\n    return x.finish_stack\n",
    ],
)
def test_attribute_that_was_declared_or_assigned(check: Check, given: str) -> None:
    """v0.5.22 drops `layer_communicator`, which decoder layers assigned and nothing defined."""
    found = check({"pkg/stack.py": given, "pkg/main.py": ""}, {"pkg/stack.py": "", "pkg/main.py": ""}, USES_IT)
    assert message(found) == "nothing in v2 has a `finish_stack` any more"


def test_local_variable_is_no_attribute(check: Check) -> None:
    """SGLang v0.5.22 has `max_tokens_per_rank` as a local; our line reads it from another package's object."""
    old = {"pkg/main.py": "def run(n):\n    finish_stack = n\n    return finish_stack\n"}
    assert kinds(check(old, {"pkg/main.py": "def run(n):\n    return n\n"}, USES_IT)) == []


def test_attribute_that_only_our_lines_gave(check: Check) -> None:
    """What another line of ours assigned on the pin is not upstream's to lose."""
    ours = "def build(x):\n    x.finish_stack = 0\ndef use(x):\n    return x.finish_stack"
    assert kinds(check({"pkg/main.py": ""}, {"pkg/main.py": "x = 1\n"}, ours)) == []


def test_attribute_of_another_packages_object(check: Check) -> None:
    """Upstream declared the name for a class of its own; this object is somebody else's."""
    old = {"pkg/a.py": "class C:\n    finish_stack = 0\n"}
    ours = "import other\ndef f():\n    x = other.make(1)\n    x.finish_stack\n    x.y.finish_stack"
    assert kinds(check(old, {"pkg/a.py": "class C: ...\n"}, ours)) == []
    assert kinds(check(old, {"pkg/a.py": ""}, "def f(x):\n    x.__len__()\n    return x.__finish__")) == []


def test_attribute_that_never_was_upstreams(check: Check) -> None:
    assert kinds(check({"pkg/main.py": ""}, {"pkg/main.py": "x = 1\n"}, USES_IT)) == []
