"""The search through what changed between two releases: done once, for all scopes, and kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rebasekit.model.hunk import Form, Hunk, Patch, Place, Series, UpstreamSource
from rebasekit.model.tag import Tag
from rebasekit.steps.placing.farther import farther
from rebasekit.steps.placing.question import Farther, Succession
from rebasekit.steps.searched import Searched
from rebasekit.steps.series import place_series
from rebasekit.steps.trees import Trees
from synthetic.memory import Memory

OLD, NEW = Tag("v1.0.0"), Tag("v1.1.0")


def twin(name: str, key: str) -> str:
    return f'def {name}(x):\n    log("start")\n    y = x + 1\n    key = "{key}"\n    return store(y, key)\n'


SAME = {"same.py": b"a = 1\n", "data.txt": b'key = "one"\n'}
BEFORE = {"a.py": twin("run", "one").encode(), "b.py": twin("go", "two").encode(), **SAME}
SWAPPED = {"a.py": twin("run", "two").encode(), "b.py": twin("go", "one").encode(), **SAME, "data.txt": b"3\n"}
EDITED = {**BEFORE, "a.py": twin("run", "other").encode(), "b.py": BEFORE["b.py"] + b"\n# more\n"}


@dataclass
class Counting(Memory):
    """Counts what is read in bulk."""

    bulk: list[str] = field(default_factory=list)

    def read_many(self, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        for each, data in super().read_many(ids):
            self.bulk.append(data.decode())
            yield each, data


def outcomes(files: Memory, searched: Searched, *ats: str) -> list[str]:
    """What becomes of hunks after these statements of `run`."""
    forms = [Form("a.py", "run", Place.AFTER, at=at, lines="mine()\n") for at in ats]
    hunks = tuple(Hunk("p", f"h{number}", (form,)) for number, form in enumerate(forms))
    series = Series(OLD, UpstreamSource("pypi", "x"), (Patch("p", "p", "w", "r", hunks=hunks),))
    done = place_series(series, NEW, Trees(files, searched), pin_of=lambda form: OLD)
    return [placement.outcome.value for placement in done.placements]


def test_one_pass_over_what_changed_for_all_hunks() -> None:
    files = Counting({OLD.name: BEFORE, NEW.name: SWAPPED})
    assert outcomes(files, Searched(), "y = x + 1", 'log("start")') == ["ambiguous", "ambiguous"]
    assert sorted(files.bulk) == sorted(data.decode() for tree in (BEFORE, SWAPPED) for data in list(tree.values())[:2])


def test_nothing_is_read_when_nothing_of_ours_changed() -> None:
    files = Counting({OLD.name: BEFORE, NEW.name: {**BEFORE, "b.py": b"b = 1\n", "c.py": BEFORE["a.py"]}})
    assert outcomes(files, Searched(), "y = x + 1") == ["carried"]
    assert files.bulk == []


def test_a_single_line_is_not_searched_for() -> None:
    """Many functions have it."""
    trees = [{"a.py": f"def run(x):\n    return {value}\n".encode(), "b.py": b"b = %d\n" % value} for value in (1, 2)]
    files = Counting(dict(zip((OLD.name, NEW.name), trees, strict=True)))
    assert outcomes(files, Searched(), "return $X") == ["shifted"]
    assert files.bulk == []


@pytest.mark.parametrize(("new", "expected"), [(SWAPPED, "ambiguous"), (EDITED, "shifted")])
def test_asked_once(tmp_path: Path, new: dict[str, bytes], expected: str) -> None:
    for first in (True, False):
        files = Counting({OLD.name: BEFORE, NEW.name: new})
        assert outcomes(files, Searched(tmp_path / "kept"), "y = x + 1") == [expected]
        assert bool(files.bulk) is first
    other = Counting({OLD.name: BEFORE, NEW.name: {**new, "a.py": twin("run", "third").encode()}})
    outcomes(other, Searched(tmp_path / "kept"), "y = x + 1")
    assert other.bulk, "another body is another question"
    again = Counting({OLD.name: BEFORE, NEW.name: new})
    assert outcomes(again, Searched(tmp_path / "kept"), "y = x + 1") == [expected]
    assert again.bulk == [], "the first one is still known"


@pytest.mark.parametrize("damage", ["", "[1]", '{"a": 1}', "{", "\0"])
def test_a_damaged_answer_is_asked_for_again(tmp_path: Path, damage: str) -> None:
    files = Memory({OLD.name: BEFORE, NEW.name: SWAPPED})
    outcomes(files, Searched(tmp_path), "y = x + 1")
    kept = sorted(tmp_path.iterdir())
    assert len(kept) == 2
    for path in kept:
        path.write_text(damage)
    assert outcomes(files, Searched(tmp_path), "y = x + 1") == ["ambiguous"]


def test_a_folder_that_cannot_be_made_costs_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    files = Memory({OLD.name: BEFORE, NEW.name: SWAPPED})
    assert outcomes(files, Searched(tmp_path / "file" / "kept"), "y = x + 1") == ["ambiguous"]


def test_only_so_many_are_kept(tmp_path: Path) -> None:
    searched = Searched(tmp_path)
    for number in range(70):
        searched.add((f"a{number}", "b"), {"question": ["a.py"]})
    assert len(list(tmp_path.iterdir())) == 64
    assert Searched(tmp_path).of(("a69", "b")) == {"question": ["a.py"]}
    assert Searched(tmp_path).of(("b", "a69")) == {}


def test_a_large_file_is_taken_apart_only_when_it_has_the_line() -> None:
    large = b"x = '" + b"a" * 4_100_000 + b"'\n"
    for more, expected in ((b"", "shifted"), (twin("go", "one").encode(), "ambiguous")):
        files = Memory({OLD.name: BEFORE, NEW.name: {**EDITED, "large.py": large + more}})
        assert outcomes(files, Searched(), "y = x + 1") == [expected]


def looked(files: Memory, near: str = "a.py") -> list[Farther]:
    """Where a rival of `run` in `a.py` would be looked for."""
    was, now = (Counter(twin("run", key).replace("    ", "").splitlines()[1:]) for key in ("one", "two"))
    asked = {"h": Succession(OLD, NEW, ("a.py", near), was, now)}
    return list(farther(Trees(files), asked).values())


def test_only_files_that_came_to_hold_the_lines_are_looked_at() -> None:
    old, new = BEFORE, SWAPPED
    assert looked(Memory({OLD.name: old, NEW.name: new})) == [Farther(("b.py",), ("b.py",))]
    more = {"c.py": twin("have", "one").encode(), "d.py": twin("had", "two").encode()}
    changed = {path: data + b"\n# more\n" for path, data in more.items()}
    assert looked(Memory({OLD.name: old | more, NEW.name: new | changed})) == [Farther(("b.py",), ("b.py",))]
    assert looked(Memory({OLD.name: old, NEW.name: new | more})) == [Farther(("b.py", "c.py"), ("b.py",))]
    unlike = {"c.py": twin("new", "other").encode(), "d.py": b'key = "one"\n'}
    assert looked(Memory({OLD.name: old, NEW.name: new | unlike})) == [Farther(("b.py",), ("b.py",))]
    assert looked(Memory({OLD.name: old, NEW.name: new}), "b.py") == []


def test_another_body_with_the_same_telling_line_is_another_question() -> None:
    files = Counting({OLD.name: BEFORE, NEW.name: EDITED})
    trees = Trees(files)
    for more in ("", "a()\n", "b()\n"):
        was = Counter((twin("run", "one") + more).splitlines()[1:])
        files.bulk.clear()
        farther(trees, {"h": Succession(OLD, NEW, ("a.py", "a.py"), was, Counter(was) - Counter([max(was, key=len)]))})
        assert files.bulk


def test_pins_on_several_releases() -> None:
    """What only another hunk's release had is no answer for this one."""
    middle = Tag("v1.0.5")
    copied = {**BEFORE, "c.py": twin("copy", "two").encode()}
    files = Memory({OLD.name: BEFORE, middle.name: copied, NEW.name: {**SWAPPED, "c.py": b"c = 1\n"}})
    was, now = (Counter(line.strip() for line in twin("run", key).splitlines()[1:]) for key in ("one", "two"))
    asked = {tag.name: Succession(tag, NEW, ("a.py", "a.py"), was, now) for tag in (OLD, middle)}
    found = farther(Trees(files), asked)
    assert found == {OLD.name: Farther(("b.py",), ("b.py",)), middle.name: Farther(("b.py",), ("b.py", "c.py"))}
