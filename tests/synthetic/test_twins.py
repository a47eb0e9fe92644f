"""Hunks on twins: upstream renames, swaps, moves, copies, deletes and rewrites near-identical functions.

Each function has a key of its own in its body, which says where a hunk has to land whatever the function is called.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebasekit.model.hunk import Form, Hunk, Patch, Place, Series, UpstreamSource
from rebasekit.model.placement import Placement
from rebasekit.model.tag import Tag
from rebasekit.steps.rebase import repinned
from rebasekit.steps.series import place_series
from rebasekit.steps.trees import Trees
from synthetic.memory import Memory

OLD, NEW = Tag("v1.0.0"), Tag("v1.1.0")
FORMS = {
    "after": {"place": Place.AFTER, "at": "y = x + 1", "lines": "y *= 777\n"},
    "before": {"place": Place.BEFORE, "at": "return y", "lines": "y *= 777\n"},
    "first": {"place": Place.FIRST, "lines": "y = 777\n"},
    "last in a block": {"place": Place.LAST, "at": "if y > 3: ...", "lines": "y *= 777\n"},
    "replace": {"place": Place.REPLACE, "at": "self.total += y", "lines": "self.total += 777\n"},
    "edit": {"place": Place.EDIT, "lines": "@@ 8,1 @@\n+{margin}    self.flag = 777\n"},
}


@dataclass
class Twin:
    """One function. `home` is its file and class, "" for the module."""

    name: str
    key: str
    home: tuple[str, str]
    extra: list[tuple[int, str]] = field(default_factory=list)

    def copy(self, **keys: object) -> Twin:
        return replace(self, **{"extra": [*self.extra], **keys})  # type: ignore[arg-type]

    @property
    def label(self) -> str:
        return f"{self.home[1]}.{self.name}".lstrip(".")

    def text(self) -> str:
        lines = ['"""Do it."""', 'log("start")', "y = x + 1", f'key = "{self.key}"', "self.total += y", "if y > 3:"]
        lines.append("    self.flag = True")
        for at, line in self.extra:
            lines.insert(at, line)
        margin = "    " if self.home[1] else ""
        body = "".join(f"{margin}    {line}\n" for line in [*lines, "return y"])
        return f"\n{margin}def {self.name}(self, x):\n{body}"


Twins = list[Twin]


def rendered(twins: Twins) -> dict[str, bytes]:
    files = {file: "import os\n" for file, _ in dict.fromkeys(twin.home for twin in twins)}
    for home in dict.fromkeys(twin.home for twin in twins):
        head = f"\n\nclass {home[1]}:\n    total = 0\n" if home[1] else "\n"
        files[home[0]] += head + "".join(twin.text() for twin in twins if twin.home == home)
    return {file: text.encode() for file, text in files.items()}


def rename(twins: Twins, dice: random.Random) -> None:
    dice.choice(twins).name += "_v2"


def swap_names(twins: Twins, dice: random.Random) -> None:
    one, other = dice.sample(twins, 2)
    one.name, other.name = other.name, one.name


def give_the_name_to_a_copy(twins: Twins, dice: random.Random) -> None:
    twin = dice.choice(twins)
    twins.append(twin.copy(key=f"{twin.key}n"))
    twin.name = f"legacy_{twin.name}"


def copy(twins: Twins, dice: random.Random) -> None:
    twin = dice.choice(twins)
    twins.insert(twins.index(twin) + dice.randrange(2), twin.copy(name=f"{twin.name}_copy", key=f"{twin.key}c"))


def delete(twins: Twins, dice: random.Random) -> None:
    twins.remove(dice.choice(twins))


def give_the_name_to_a_twin(twins: Twins, dice: random.Random) -> None:
    gone, heir = dice.sample(twins, 2)
    twins.remove(gone)
    heir.name, heir.home = gone.name, gone.home


def move(twins: Twins, dice: random.Random) -> None:
    twin = dice.choice(twins)
    twin.home = dice.choice([("b.py", "New"), ("a.py", "Other"), *(t.home for t in twins if t.home != twin.home)])


def move_class(twins: Twins, dice: random.Random) -> None:
    home = dice.choice(twins).home
    for twin in twins:
        twin.home = ("c.py", home[1]) if twin.home == home else twin.home


def swap_classes(twins: Twins, dice: random.Random) -> None:
    homes = sorted({twin.home for twin in twins})
    one, other = dice.sample(homes, 2) if len(homes) > 1 else (homes[0], homes[0])
    for twin in twins:
        twin.home = other if twin.home == one else one if twin.home == other else twin.home


def shuffle(twins: Twins, dice: random.Random) -> None:
    dice.shuffle(twins)


def edit(twins: Twins, dice: random.Random) -> None:
    dice.choice(twins).extra.append((dice.randrange(1, 6), f"w{dice.randrange(70)} = 1"))


CHANGES: list[Callable[[Twins, random.Random], None]] = [
    *(rename, swap_names, give_the_name_to_a_copy, copy, delete, give_the_name_to_a_twin),
    *(move, move_class, swap_classes, shuffle, edit),
]


def carried(old: Twins, new: Twins, twin: Twin, form: dict[str, object]) -> tuple[Placement, list[str]]:
    """What becomes of a hunk in `twin`, and the keys of the functions that have its line."""
    margin = "        " if twin.home[1] else "    "
    lines = str(form["lines"]).replace("{margin}", margin)
    hunk = Hunk("p", "h", (Form(twin.home[0], twin.label, **{**form, "lines": lines}),))  # type: ignore[arg-type]
    trees = Trees(Memory({OLD.name: rendered(old), NEW.name: rendered(new)}))
    series = Series(OLD, UpstreamSource("pypi", "x"), (Patch("p", "p", "w", "r", hunks=(hunk,)),))
    first = place_series(series, OLD, trees, pin_of=lambda form: OLD)
    assert first.placements[0].outcome.applied, first.placements[0].reason
    series = repinned(series, OLD, first.placements)
    done = place_series(series, NEW, trees, pin_of=lambda form: OLD)
    found = []
    for data in {**rendered(new), **done.tree.bytes()}.values():
        for node in ast.walk(ast.parse(data or b"")):
            if isinstance(node, ast.FunctionDef) and "777" in ast.unparse(node):
                found.append(ast.unparse(node).partition("key = '")[2].partition("'")[0])
    return done.placements[0], found


def made(seed: int) -> tuple[Twins, Twins, Twin, str, list[str]] | None:
    dice = random.Random(seed)
    files = dice.choice(["a", "ab", "ab"])
    homes = [(f"{dice.choice(files)}.py", name) for name in ("A", "B", "")[: dice.choice([1, 2, 2, 3])]]
    pairs = [(name, home) for home in homes for name in ("run", "run_fast", "step")[: dice.choice([1, 2, 3])]]
    old = [Twin(name, f"k{number}", home) for number, (name, home) in enumerate([*pairs, ("other", homes[0])])]
    new, chosen = [twin.copy() for twin in old], []
    for _ in range(dice.choice([1, 1, 2, 2, 3])):
        change = dice.choice(CHANGES)
        if len(new) > 2:
            change(new, dice)
            chosen.append(change.__name__)
    if len({(twin.home, twin.name) for twin in new}) < len(new):
        return None
    return old, new, dice.choice(old), dice.choice(sorted(FORMS)), chosen


def test_a_hunk_never_goes_to_a_twin_in_silence():
    right = asked = 0
    for seed in range(700):
        case = made(seed)
        if case is None:
            continue
        old, new, twin, form, changes = case
        placement, keys = carried(old, new, twin, FORMS[form])
        # a new one under the name of one that is gone is a change of its body: nothing says otherwise
        kept = any(t.key == twin.key for t in new)
        if placement.outcome.applied and (kept or len(changes) == 1):
            assert keys == [twin.key], f"{seed}: {changes}, {form} in {twin.label}: {placement}"
        right += placement.outcome.applied
        asked += not placement.outcome.applied
    assert right > 2 * asked > 0, "asking each time would be no art"


A, B = ("a.py", "A"), ("a.py", "B")


@pytest.mark.parametrize("form", FORMS)
def test_two_that_change_their_names(form):
    old = [Twin("run", "one", A), Twin("step", "two", A)]
    placement, keys = carried(old, [Twin("step", "one", A), Twin("run", "two", A)], old[0], FORMS[form])
    assert (placement.outcome.value, keys) == ("ambiguous", [])
    assert placement.reason == "`A.run` may be another now: `A.step` has more of what it was"
    assert [spot.scope for spot in placement.candidates] == ["A.run", "A.step"]


@pytest.mark.parametrize("form", FORMS)
def test_a_new_one_under_the_old_name(form):
    old = [Twin("run", "one", A)]
    placement, keys = carried(old, [Twin("run", "new", A), Twin("run_legacy", "one", A)], old[0], FORMS[form])
    assert (placement.outcome.value, keys) == ("ambiguous", [])


@pytest.mark.parametrize("form", FORMS)
def test_a_twin_that_takes_the_name(form):
    old = [Twin("run", "one", A), Twin("step", "two", A)]
    placement, keys = carried(old, [Twin("run", "two", A)], old[0], FORMS[form])
    assert (placement.outcome.value, keys) == ("ambiguous", [])
    assert placement.reason == "`A.run` may be what `A.step` was"


def test_what_asks_nobody():
    """A twin beside a scope that changed a lot, and short bodies that are alike by chance."""
    old = [Twin("run", "one", A), Twin("step", "two", A), Twin("run", "three", B)]
    grown = old[0].copy(extra=[(1, f"w{number} = {number}") for number in range(9)])
    placement, keys = carried(old, [grown, *old[1:]], old[0], FORMS["before"])
    assert (placement.outcome.value, keys) == ("shifted", ["one"])
    near = old[1].copy(extra=[(1, "log('more')")])
    placement, keys = carried(old, [grown, near, old[2]], old[0], FORMS["before"])
    assert (placement.outcome.value, keys) == ("shifted", ["one"])


C = ("b.py", "C")


@pytest.mark.parametrize("form", FORMS)
def test_two_that_change_places_over_files(form):
    old = [Twin("run", "one", A), Twin("run", "two", C)]
    placement, keys = carried(old, [Twin("run", "two", A), Twin("run", "one", C)], old[0], FORMS[form])
    assert (placement.outcome.value, keys) == ("ambiguous", [])
    assert placement.reason == "`A.run` may be another now: `C.run` in `b.py` has more of what it was"
    assert [(spot.file, spot.scope) for spot in placement.candidates] == [("a.py", "A.run"), ("b.py", "C.run")]


@pytest.mark.parametrize("form", FORMS)
def test_three_that_go_round_over_files(form):
    old = [Twin("run", "one", A), Twin("run", "two", C), Twin("go", "three", ("c.py", ""))]
    new = [replace(twin, key=key) for twin, key in zip(old, ["three", "one", "two"], strict=True)]
    for twin in old:
        placement, keys = carried(old, new, twin, FORMS[form])
        assert (placement.outcome.value, keys) == ("ambiguous", []), twin


@pytest.mark.parametrize("form", FORMS)
def test_one_that_moved_and_whose_name_a_twin_of_another_file_took(form):
    old = [Twin("run", "one", A), Twin("run", "two", C), Twin("rest", "three", C)]
    for name, owner in (("run_old", "D"), ("run", "A")):
        new = [Twin("run", "two", A), Twin(name, "one", ("c.py", owner)), old[2]]
        placement, keys = carried(old, new, old[0], FORMS[form])
        assert (placement.outcome.value, keys) == ("ambiguous", [])
        assert f"`{owner}.{name}` in `c.py`" in placement.reason


@pytest.mark.parametrize("form", FORMS)
def test_a_twin_of_another_file_that_takes_the_name_of_one_that_is_gone(form):
    old = [Twin("run", "one", A), Twin("run", "two", C), Twin("rest", "three", C)]
    placement, keys = carried(old, [Twin("run", "two", A), old[2]], old[0], FORMS[form])
    assert (placement.outcome.value, keys) == ("ambiguous", [])
    assert placement.reason == "`A.run` may be what `C.run` in `b.py` was"


@pytest.mark.parametrize("lines", [1, 60])
def test_twins_that_change_places_and_are_changed(lines):
    """Long ones differ in one line of many, and neither is to the letter what it was."""
    extra = [(2, f"w{number} = {number}") for number in range(lines)]
    old = [Twin("run", "one", A, extra), Twin("run", "two", C, extra)]
    new = [Twin("run", "two", A, [*extra, (3, "u = 1")]), Twin("run", "one", C, [*extra, (4, "v = 1")])]
    placement, keys = carried(old, new, old[0], FORMS["before"])
    assert (placement.outcome.value, keys) == ("ambiguous", [])


def test_one_that_has_all_of_the_others_lines():
    """What stands under the name now lost no line; the body it was is elsewhere, to the letter."""
    more = [(2, "audit(x)")]
    old = [Twin("run", "one", A), Twin("run", "one", C, more)]
    new = [Twin("run", "one", A, more), Twin("run", "one", C)]
    for twin in old:
        placement, _ = carried(old, new, twin, FORMS["before"])
        assert placement.outcome.value == "ambiguous"


def test_twins_of_one_file_that_ask_nobody():
    old = [Twin("run", "one", A), Twin("step", "two", A), Twin("rest", "three", A)]
    grown = old[0].copy(extra=[(2, "audit(x)")])
    nearer = old[1].copy(extra=[(1, "log('more')")])  # it loses that line, and is still less like the old one
    placement, keys = carried([old[0], nearer, old[2]], [grown, *old[1:]], old[0], FORMS["before"])
    assert (placement.outcome.value, keys) == ("shifted", ["one"])
    reworded = old[0].copy(key="uno")  # as much like the twin that is gone as like what it was
    placement, keys = carried(old, [reworded, old[2]], old[0], FORMS["before"])
    assert (placement.outcome.value, keys) == ("shifted", ["uno"])
    placement, keys = carried(old, [old[0].copy(key="two"), *old[1:]], old[0], FORMS["before"])
    assert (placement.outcome.value, keys) == ("shifted", ["two"])  # it became a copy of one that still is


def test_a_function_of_several_lines_in_one_statement_is_not_short():
    """Twins with one statement, which is long."""

    def text(name, key):
        return f"def {name}(x):\n    with lock:\n        y = x + 1\n        store(y)\n        mark({key})\n"

    old = {"a.py": text("run", 1), "b.py": text("go", 2)}
    assert placed(old, {"a.py": text("run", 2), "b.py": text("go", 1)}, "y = x + 1") == "ambiguous"
    assert placed(old, {"a.py": text("run", 3), "b.py": text("go", 2) + text("was", 1)}, "y = x + 1") == "ambiguous"


def short(name: str, value: int, lines: int) -> str:
    return f"def {name}(x):\n" + ["", f"    return {value}\n", f"    y = {value}\n    return y\n"][lines]


def placed(old: dict[str, str], new: dict[str, str], at: str) -> str:
    """The word for a hunk before a statement of `run` in `a.py`."""
    trees = {tag.name: {file: text.encode() for file, text in tree.items()} for tag, tree in ((OLD, old), (NEW, new))}
    hunk = Hunk("p", "h", (Form("a.py", "run", Place.BEFORE, at=at, lines="mine()\n"),))
    series = Series(OLD, UpstreamSource("pypi", "x"), (Patch("p", "p", "w", "r", hunks=(hunk,)),))
    return place_series(series, NEW, Trees(Memory(trees)), pin_of=lambda form: OLD).placements[0].outcome.value


def test_short_twins_have_to_be_the_same():
    """Two lines that exchange places are told; of one line only an exchange in one file, for many functions have it."""
    two, one = (lambda name, value, lines=lines: short(name, value, lines) for lines in (2, 1))
    exchanged = [{"a.py": f("run", 2), "b.py": f("go", 1)} for f in (two, one)]
    assert placed({"a.py": two("run", 1), "b.py": two("go", 2)}, exchanged[0], "return y") == "ambiguous"
    near = [{"a.py": one("run", a) + one("go", b)} for a, b in ((1, 2), (2, 1), (3, 1), (2, 3))]
    assert [placed(near[0], new, "return $X") for new in near[1:]] == ["ambiguous", "shifted", "shifted"]
    unlike = {"a.py": two("run", 3), "b.py": two("go", 4)}
    assert placed({"a.py": two("run", 1), "b.py": two("go", 2)}, unlike, "return y") == "shifted"
    longer = {"a.py": two("run", 3) + two("go", 1) + "\n    log(y)\n"}  # four fifths of three lines are not the same
    assert placed({"a.py": two("run", 1) + two("go", 2)}, longer, "return y") == "shifted"


def test_what_asks_nobody_over_files():
    """The hunk's own function changed in each case, and something like it happened in another file."""
    old = [Twin("run", "one", A), Twin("step", "two", C), Twin("rest", "three", C)]
    changed = old[0].copy(extra=[(2, "audit(x)")])
    larger = old[0].copy(extra=[(2, "audit(x)"), (3, "audit(y)"), (4, "audit(z)")])
    reworded = Twin("run", "uno", A)
    elsewhere = [
        [Twin("run", "one", A), old[1].copy(key="one"), old[2]],  # copied, and the old one is as it was
        [reworded, Twin("step", "two", ("c.py", "C")), Twin("rest", "three", ("c.py", "C"))],  # another class moved
        [changed, Twin("step", "twin", C), old[2]],  # a twin changed, and is no more alike than it was
        [changed, old[1], old[2], Twin("run", "one", ("c.py", "E"), [(2, "trace(x)")])],  # a new one, as much alike
        [larger, old[1], old[2], Twin("run", "one", ("c.py", "E"), [(2, "trace(x)")])],  # all its lines are there
    ]
    for new in elsewhere:
        placement, keys = carried(old, new, old[0], FORMS["before"])
        assert placement.outcome.applied, placement.reason
        assert set(keys) <= {"one", "uno"}


def test_a_body_that_stood_elsewhere_too_and_came_along_is_nothing_new():
    """Before and after there is one more of the body, in a class that moved to another file."""
    old = [Twin("run", "one", A), Twin("step", "one", C), Twin("rest", "three", C)]
    new = [Twin("run", "uno", A), Twin("step", "one", ("c.py", "C")), Twin("rest", "three", ("c.py", "C"))]
    placement, keys = carried(old, new, old[0], FORMS["before"])
    assert (placement.outcome.value, keys) == ("shifted", ["uno"])


HOMES = [(name, (file, owner)) for file in ("a.py", "b.py", "c.py") for owner in ("", "K") for name in ("run", "go")]


@st.composite
def rearranged(draw: st.DrawFn) -> tuple[Twins, Twins, Twin]:
    """Twins, the same under one another's or new names, with copies of some, and the one that has the hunk."""
    homes = draw(st.permutations(HOMES))
    count = draw(st.integers(2, 5))
    extra = [(7, f"w{number} = {number}") for number in range(draw(st.integers(0, 12)))]
    old = [Twin(name, f"k{number}", home, extra) for number, (name, home) in enumerate(homes[:count])]
    there = draw(st.permutations(homes[: count + draw(st.integers(0, 2))]))
    new = [twin.copy(name=name, home=home) for twin, (name, home) in zip(old, there, strict=False)]
    if draw(st.booleans()):
        name, home = homes[-1]
        new.append(draw(st.sampled_from(old)).copy(name=name, home=home))
    return old, new, draw(st.sampled_from(old))


@settings(max_examples=150, deadline=None)
@given(rearranged(), st.sampled_from(sorted(FORMS)))
def test_twins_in_any_order_over_any_files(case: tuple[Twins, Twins, Twin], form: str) -> None:
    old, new, twin = case
    placement, keys = carried(old, new, twin, FORMS[form])
    stayed = any((t.key, t.label, t.home) == (twin.key, twin.label, twin.home) for t in new)
    if placement.outcome.applied:
        assert keys == [twin.key], placement
    assert placement.outcome.applied or not stayed, f"it is as it was: {placement.reason}"


def test_one_of_two_that_were_the_same_is_left_under_a_new_name():
    old = [Twin("run", "one", A), Twin("go", "one", C), Twin("rest", "three", C)]
    placement, keys = carried(old, [Twin("run_all", "one", A), old[2]], old[0], FORMS["before"])
    assert (placement.outcome.value, keys) == ("relocated", ["one"])
