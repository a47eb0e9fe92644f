"""Lines that say that they ran, beside what a trace function sees of the same code."""

from __future__ import annotations

import ast
import builtins
import importlib.util
import sys
from pathlib import Path

import pytest

from rebasekit.probes.effects import runnable
from rebasekit.probes.scripts import FOLDER

SOURCE = '''\
"""A module."""
from __future__ import annotations

import functools

LIMIT = (
    3,
    4,
)


def twice(f):
    """Says it again."""
    @functools.wraps(f)
    def inner(*args):
        return f(*args) + f(*args)
    return inner


class Base:
    """A class."""
    field: int = 1
    other = [
        n
        for n in range(3)
    ]

    def __init__(self, start):
        """Begins."""
        self.start = start

    @property
    def far(self):
        return self.start + 1


class Sub(Base):
    def __init__(self, start):
        super().__init__(start)
        global SEEN
        SEEN = start


@twice
def walk(n):
    total = 0
    for i in range(n):
        if i == 1:
            continue
        elif i > 5: break
        else:
            total += i
    else:
        total += 100
    while total > 200:
        total -= 1
    try:
        if n == 9:
            raise KeyError(
                n
            )
    except ValueError:
        total = -1
    except (
        KeyError
    ):
        total = 7
    else:
        total += 2
    finally:
        total += 3
    with open("/dev/null") as stream, \\
            open("/dev/null"):
        stream.read()
    match n:
        case 1 | 2:
            total += 1
        case int() if n > 2:
            total += 4
        case _:
            total += 8
    pick = lambda x: (
        x
        + 1
    )
    late = lambda: (
        nowhere
    )
    del late
    return pick(total)


def never():
    """Is not called."""
    return 1; return 2


async def soon():
    async with gate() as g:
        return [x async for x in g]


def made():
    yield from (
        x
        for x in range(2)
    )
'''


@pytest.fixture
def marks(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER / "effects"))
    import rebasekit_marks

    yield rebasekit_marks
    for name in (rebasekit_marks.MARK, rebasekit_marks.BUILT):
        if hasattr(builtins, name):
            delattr(builtins, name)


def marked(marks, source, path, work, lines=None):
    """The result of `work` on the module, the lines that said so, and what was built."""
    every = range(1, source.count("\n") + 2) if lines is None else lines
    code, found = marks.instrument(source.encode(), path, every, True)
    ran, built = set(), []
    marks.provide(lambda number: ran.update(found[number]), lambda where, thing: built.append(type(thing).__name__))
    space = {"__name__": "m"}
    exec(code, space)
    return work(space), ran, built


def traced(source, path, work):
    """The same by a trace function."""
    ran = set()

    def step(frame, event, arg):
        if event == "line" and frame.f_code.co_filename == path:
            ran.add((frame.f_lineno, bool(frame.f_code.co_flags & 1)))
        return step

    space = {"__name__": "m"}
    code = compile(source, path, "exec", dont_inherit=True)
    sys.settrace(step)
    try:
        exec(code, space)
        return work(space), ran
    finally:
        sys.settrace(None)


def spread(marks, source, ran):
    """What was traced, with all lines of the statements that it stands in: those count when the first does."""
    groups = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt):
            groups.append(marks.header(node) - marks.lambdas(node))
        elif isinstance(node, ast.ExceptHandler | ast.match_case):
            groups.append(marks.between(node, node.body[0]))
        elif isinstance(node, ast.Lambda):
            groups.append(marks.own(node.body) - {node.lineno})
    lines = {line for line, _ in ran}
    return lines | {line for group in groups if group & lines for line in group}


@pytest.mark.parametrize("n", [0, 1, 2, 4, 9])
def test_the_lines_are_those_of_a_trace(marks, n):
    (result, ran, built), (want, seen) = marked(marks, SOURCE, "m.py", calls(n)), traced(SOURCE, "m.py", calls(n))
    assert result == want and built == ["Sub", "Sub"]
    lines = {line for line, _ in ran}
    assert lines <= spread(marks, SOURCE, seen), "counted, and nothing of its statement ran"
    # A handler or case that was asked and does not fit says nothing.
    missed = text_of({line for line, _ in seen} - lines)
    assert missed <= {"except ValueError:", "except (", "KeyError", "case 1 | 2:", "case int() if n > 2:", "case _:"}


def calls(n):
    return lambda space: (space["walk"](n), list(space["made"]()), space["Sub"](5).far)


def text_of(lines):
    return {SOURCE.splitlines()[line - 1].strip() for line in lines}


def test_what_did_not_run_says_nothing(marks):
    _, ran, _ = marked(marks, SOURCE, "m.py", calls(2))
    can = {line for line, _ in marks_of(marks)}
    assert text_of(can - {line for line, _ in ran}) == {
        "total -= 1", "raise KeyError(", "n", "except ValueError:", "total = -1", "except (", "KeyError", "total = 7",
        "case int() if n > 2:", "total += 4", "case _:", "total += 8", "nowhere", "return 1; return 2",
        "async with gate() as g:", "return [x async for x in g]",
    }  # fmt: skip


def marks_of(marks):
    _, found = marks.instrument(SOURCE.encode(), "m.py", range(1, SOURCE.count("\n") + 1), True)
    return {line for lines in found.values() for line in lines}


def test_functions_and_bodies_are_told_apart(marks):
    can = runnable("p/h", "m.py", SOURCE.encode(), range(1, SOURCE.count("\n") + 1))
    inside, bodies = ({line for line, kind in marks_of(marks) if kind is wanted} for wanted in (True, False))
    assert inside == can.functions
    assert bodies == can.bodies


def test_only_what_is_watched_is_changed(marks):
    line = SOURCE.splitlines().index("        self.start = start") + 1
    code, found = marks.instrument(SOURCE.encode(), "m.py", [line, line - 1], False)
    assert list(found.values()) == [[(line, True)]]  # a docstring is no line that can run
    names = [name for each in marks.codes(code) for name in each.co_names]
    assert names.count(marks.MARK) == 1 and marks.BUILT not in names


def test_docstrings_and_future_stay(marks):
    plain, space = {"__name__": "m"}, {"__name__": "m"}
    exec(compile(SOURCE, "m.py", "exec", dont_inherit=True), plain)
    marked(marks, SOURCE, "m.py", space.update)
    assert space["__doc__"] == "A module."
    for name in ("twice", "walk", "never", "Base", "Sub"):
        assert space[name].__doc__ == plain[name].__doc__
    assert space["Base"].__init__.__doc__ == "Begins."
    assert space["never"].__code__.co_firstlineno == plain["never"].__code__.co_firstlineno


def test_an_error_names_the_line_that_it_did(marks):
    wrong = "def f():\n    a = 1\n    return (\n        a / 0\n    )\n"
    with pytest.raises(ZeroDivisionError) as error:
        marked(marks, wrong, "m.py", lambda space: space["f"]())
    assert error.traceback[-1].lineno == 3


@pytest.mark.parametrize("name", ["argparse", "difflib", "textwrap", "fractions", "enum", "pprint"])
def test_modules_of_python_do_what_they_did(marks, name):
    """Every line of a real module watched: the same lines as by a trace, and the same answers."""
    path = importlib.util.find_spec(name).origin
    source = Path(path).read_text()
    work = WORK[name]
    (result, ran, _), (want, seen) = marked(marks, source, path, work), traced(source, path, work)
    assert result == want
    lines = {line for line, _ in ran}
    assert lines <= spread(marks, source, seen)
    text = source.splitlines()
    missed = {line for line, _ in seen} - lines
    assert all(text[line - 1].lstrip().startswith(("except", "case")) for line in missed), missed


def parse(space):
    parser = space["ArgumentParser"](prog="p")
    parser.add_argument("--n", type=int, choices=(1, 2), default=1, help="%(default)s")
    parser.add_subparsers().add_parser("sub").add_argument("x", nargs="*")
    return vars(parser.parse_args(["--n", "2", "sub", "a"])), parser.format_help()


WORK = {
    "argparse": parse,
    "difflib": lambda space: list(space["unified_diff"](list("abcdef"), list("abxdefg"))),
    "textwrap": lambda space: space["fill"](space["dedent"]("  a b c\n  d e f " * 9), 20),
    "fractions": lambda space: str(space["Fraction"]("3/4") ** 3 + space["Fraction"](0.5).limit_denominator(7)),
    "enum": lambda space: [each.name for each in space["Enum"]("E", "a b c")],
    "pprint": lambda space: space["pformat"]({"a": [1] * 50, "b": {"c": ("d",) * 30}}, width=40),
}
