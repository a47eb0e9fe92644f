"""The shape of one file's facts: plain tuples, so that `marshal` can keep them.

An *expression* says what a value may refer to, and nothing else (`Ref` below):

    "a.b.c"            a name or an attribute chain that starts at a name
    ("v", constant)    None, a bool, a number or a short string
    ("r", ref)         what calling `ref` returns
    ("s", ref)         an element of `ref`: subscript, iteration; ("s", ref, "*") for `*ref` among arguments
    ("a", ref, "x.y")  an attribute chain on something that is not a name
    ("u", (ref, guard, line), ...)   one of several: conditional expressions, `or`
    ("d", (key, ref, line), ...)     a display; key is a string, a chain or None
    None               anything else
"""

from __future__ import annotations

from typing import Any, NamedTuple

Ref = Any  # a recursive tuple type that mypy cannot spell usefully; the docstring above is its definition

MODULE, CLASS, FUNCTION, SCRIPT = "m", "c", "f", "x"  # SCRIPT: an `if __name__ == "__main__":` block

# Their results hold what their first argument holds, so a class passed through them is still that class.
TRANSPARENT = frozenset({"tuple", "list", "set", "frozenset", "sorted", "reversed", "iter", "dict", "cast"})


def refers(ref: Ref) -> bool:
    """Whether a value may be a class, a function or something that holds one: not unknown, not a constant."""
    return ref is not None and (ref.__class__ is str or ref[0] != "v")


def spread(ref: Ref) -> bool:
    """Whether an argument is `*ref`: nobody knows how many it stands for."""
    return isinstance(ref, tuple) and ref[0] == "s" and ref[-1] == "*"


class Guard(NamedTuple):
    """One test on the way to a statement; `parent` is the test before it, 0 means none."""

    parent: int
    text: str
    holds: bool  # False: the statement runs when the test is false
    line: int


class Import(NamedTuple):
    """One bound name of an import statement; `name` is None for `import module`, "*" for a star."""

    alias: str
    module: str
    name: str | None
    level: int
    line: int
    guard: int


RawImport = tuple[str, str, str | None, int, int, int]  # the fields of Import


class Parameter(NamedTuple):
    name: str
    kind: str  # "positional-only" "positional" "variadic" "keyword" "keywords", by first letters: o p v k w
    annotation: str | None
    default: str | None  # source text
    ref: Ref
    line: int


class Head(NamedTuple):
    """A module, class or function: what every question reads of it (`scope.Scope` has the rest)."""

    kind: str
    name: str  # qualified within the file; "" is the module
    parent: int
    line: int
    end: int
    guard: int  # of the definition, in the parent scope
    # a: async, g: global or nonlocal used, d: a default may be a class or a function, c: decorates,
    # r: never falls off its end, and `returns` has every value that it returns
    flags: str
    bases: tuple[Ref, ...]
    result: str | None  # annotation of what a function returns
    decorators: tuple[str, ...]
    assigned: str | None  # names that a module or class binds, spaces around each; a function's are kept with its reads
    raw_imports: tuple[RawImport, ...]
    first: str  # name of the first parameter

    @property
    def short(self) -> str:
        return self.name.rpartition(".")[2]


class Call(NamedTuple):
    line: int
    guard: int
    callee: Ref
    args: tuple[Ref, ...]
    keywords: tuple[tuple[str | None, Ref, int], ...]
    lines: tuple[int, ...]  # of args
    decorated: bool  # the call is a decorator's


class Assign(NamedTuple):
    line: int
    guard: int
    target: Ref
    value: Ref
    annotation: str | None
    text: str | None  # source of the value, kept where defaults live: modules and classes


class Return(NamedTuple):
    line: int
    guard: int
    value: Ref


class Body(NamedTuple):
    """What happens in one scope."""

    loads: tuple[str, ...]  # chains read; ".x" hangs on something that is not a name, "'a.b" is a string
    lines: tuple[int, ...]  # of loads, first use
    calls: tuple[Call, ...]
    assigns: tuple[Assign, ...]
    returns: tuple[Return, ...]
