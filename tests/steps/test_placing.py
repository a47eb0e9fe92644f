"""Where hunks go when upstream moves: outcomes, methods, and what is refused."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from harness import Case, Result, patch_toml


def text(source: str) -> str:
    return textwrap.dedent(source).lstrip("\n")


def hunk(**keys: object) -> str:
    return "\n".join(f"{k} = {v!r}" if isinstance(v, int) else f"{k} = '''{v}'''" for k, v in keys.items())


def carry(tmp_path: Path, old: dict[str, str], new: dict[str, str], *hunks: str) -> Result:
    trees = {"v1.0.0": {p: text(t) for p, t in old.items()}, "v1.1.0": {p: text(t) for p, t in new.items()}}
    case = Case(tmp_path, upstream=trees, patchset={"fix/patch.toml": patch_toml(*hunks)})
    first = case.run("rebase", "v1.0.0")
    assert first.exit == 0, first.stdout + first.stderr
    result = case.run("rebase", "v1.1.0")
    assert result.json is not None, result.stderr
    return result


BASE = """
    import os


    def load(path):
        data = read(path)
        if not data:
            return None
        value = parse(data)
        return value


    class Cache:
        limit = 8

        def get(self, key):
            found = self.items.get(key)
            return found

        def put(self, key, value):
            self.items[key] = value
"""

AFTER_PARSE = hunk(id="h", file="m.py", scope="load", place="after", at="value = parse(...)", lines="print(value)")


def outcome(result: Result, name: str = "h") -> tuple[str, int]:
    return result.hunk(name)["placement"], result.exit


def test_unchanged_scope_is_carried_although_the_file_moves_on(tmp_path: Path) -> None:
    result = carry(tmp_path, {"m.py": BASE}, {"m.py": "\n    X = 1\n" + BASE}, AFTER_PARSE)
    assert outcome(result) == ("carried", 0)


def test_line_merge_agrees(tmp_path: Path) -> None:
    new = BASE.replace("data = read(path)", "data = read(path, 'rb')")
    result = carry(tmp_path, {"m.py": BASE}, {"m.py": new}, AFTER_PARSE)
    assert outcome(result) == ("shifted", 0)
    assert result.hunk("h")["method"] == "anchor and line merge"


def test_token_merge_agrees_where_the_anchor_itself_changed(tmp_path: Path) -> None:
    new = BASE.replace("value = parse(data)", "value = parse(data, strict=True)")
    result = carry(tmp_path, {"m.py": BASE}, {"m.py": new}, AFTER_PARSE)
    assert outcome(result) == ("shifted", 0)
    assert result.hunk("h")["method"] == "anchor and token merge"


def test_both_inserted_at_one_spot_is_a_conflict(tmp_path: Path) -> None:
    new = BASE.replace("value = parse(data)\n", "value = parse(data)\n        value = clean(value)\n")
    result = carry(tmp_path, {"m.py": BASE}, {"m.py": new}, AFTER_PARSE)
    assert outcome(result) == ("conflict", 3)
    conflict = result.hunk("h")["conflict"]
    assert "clean(value)" in conflict["theirs"]
    assert "print(value)" in conflict["ours"]
    assert "+    value = clean(value)" in conflict["upstream_diff"]


def test_anchor_that_went_to_another_statement_is_a_conflict(tmp_path: Path) -> None:
    """The pattern fits once on both releases, but not the same thing: only the merge sees it."""
    new = BASE.replace("value = parse(data)\n", "result = parse(data)\n").replace(
        "if not data:\n            return None", "if not data:\n            value = parse('')\n            return value"
    )
    result = carry(tmp_path, {"m.py": BASE}, {"m.py": new}, AFTER_PARSE)
    assert outcome(result)[0] in ("conflict", "missing")
    assert result.exit == 3


def test_function_renamed_in_its_file(tmp_path: Path) -> None:
    new = BASE.replace("def load(path)", "def load_file(path)")
    result = carry(tmp_path, {"m.py": BASE}, {"m.py": new}, AFTER_PARSE)
    assert outcome(result) == ("relocated", 0)
    assert result.hunk("h")["scope"] == "load_file"


def test_class_moved_to_a_file_that_was_there(tmp_path: Path) -> None:
    parts = BASE.split("\n\n\n    class Cache")
    moved = {"m.py": parts[0] + "\n", "other.py": "\n    Y = 2\n\n\n    class Cache" + parts[1]}
    first = hunk(id="h", file="m.py", scope="Cache.put", place="first", lines="print(key)")
    result = carry(tmp_path, {"m.py": BASE, "other.py": "\n    Y = 2\n"}, moved, first)
    assert outcome(result) == ("relocated", 0)
    assert (result.hunk("h")["file"], result.hunk("h")["scope"]) == ("other.py", "Cache.put")


def test_two_new_namesakes_are_ambiguous(tmp_path: Path) -> None:
    cache = "class Cache" + BASE.split("class Cache")[1]
    gone = {"m.py": "X = 1\n", "a.py": "\n    " + cache, "b.py": "\n    " + cache}
    first = hunk(id="h", file="m.py", scope="Cache.put", place="first", lines="print(key)")
    result = carry(tmp_path, {"m.py": BASE}, gone, first)
    assert outcome(result) == ("ambiguous", 3)
    assert {spot["file"] for spot in result.hunk("h")["candidates"]} == {"a.py", "b.py"}


def test_statement_extracted_into_a_new_function(tmp_path: Path) -> None:
    new = BASE.replace(
        "        value = parse(data)\n        return value\n",
        "        return finish(data)\n\n\n    def finish(data):\n        value = parse(data)\n        return value\n",
    )
    result = carry(tmp_path, {"m.py": BASE}, {"m.py": new}, AFTER_PARSE)
    assert result.hunk("h")["placement"] == "relocated"
    assert result.hunk("h")["scope"] == "finish"


def test_missing_names_where_the_anchor_fits_now(tmp_path: Path) -> None:
    new = BASE.replace("value = parse(data)", "value = decode(data)").replace(
        "found = self.items.get(key)", "value = parse(self.items.get(key))\n            found = value"
    )
    result = carry(tmp_path, {"m.py": BASE}, {"m.py": new}, AFTER_PARSE)
    assert outcome(result) == ("missing", 3)
    assert "Cache.get" in [spot["scope"] for spot in result.hunk("h")["candidates"]]


@pytest.mark.parametrize(
    ("place", "at", "lines", "new", "expected"),
    [
        ("parameter", "", "strict=False", BASE.replace("def load(path)", "def load(path, mode)"), "shifted"),
        ("parameter", "", "strict=False", BASE.replace("def load(path)", "def load(path, strict=False)"), "upstreamed"),
        ("parameter", "", "strict=False", BASE.replace("def load(path)", "def load(path, strict=True)"), "conflict"),
        ("argument", "value = parse(...)", "strict=True", BASE.replace("parse(data)", "parse(data, x=1)"), "shifted"),
        ("argument", "value = parse(...)", "strict=True", BASE.replace("parse(data)", "parse(x=1)"), "conflict"),
        ("argument", "value = parse(...)", "path", BASE.replace("parse(data)", "parse(data, more)"), "conflict"),
        ("parameter", "", "strict", BASE.replace("def load(path)", "def load(path, mode)"), "conflict"),
        (
            "argument",
            "value = parse(...)",
            "strict=True",
            BASE.replace("parse(data)", "parse(data, strict=True)"),
            "upstreamed",
        ),
        (
            "argument",
            "value = parse(...)",
            "strict=True",
            BASE.replace("parse(data)", "parse(data, strict=0)"),
            "conflict",
        ),
    ],
)
def test_places_inside_a_statement(tmp_path: Path, place: str, at: str, lines: str, new: str, expected: str) -> None:
    keys = {"id": "h", "file": "m.py", "scope": "load", "place": place, "lines": lines} | ({"at": at} if at else {})
    result = carry(tmp_path, {"m.py": BASE}, {"m.py": new}, hunk(**keys))
    # where both sides added something at one spot, names have no order and positions have
    assert result.hunk("h")["placement"] == expected


def test_import_that_upstream_has_and_import_that_clashes(tmp_path: Path) -> None:
    ours = hunk(id="h", file="m.py", place="import", lines="from tools import check")
    same = carry(
        tmp_path / "a",
        {"m.py": BASE},
        {"m.py": BASE.replace("import os", "import os\n    from tools import check")},
        ours,
    )
    assert outcome(same) == ("upstreamed", 1)
    other = carry(
        tmp_path / "b",
        {"m.py": BASE},
        {"m.py": BASE.replace("import os", "import os\n    from checks import check")},
        ours,
    )
    assert outcome(other) == ("conflict", 3)


def test_new_file_that_upstream_now_has(tmp_path: Path) -> None:
    ours = hunk(id="h", file="n.py", place="new-file", lines="X = 1\n")
    result = carry(tmp_path, {"m.py": BASE}, {"m.py": BASE, "n.py": "X = 2\n"}, ours)
    assert outcome(result) == ("conflict", 3)


def test_unreadable_file_is_a_finding_and_not_a_pass(tmp_path: Path) -> None:
    result = carry(tmp_path, {"m.py": BASE}, {"m.py": BASE + "\n    def broken(:\n"}, AFTER_PARSE)
    assert result.exit == 3
    assert result.kinds == ["unread"]


def test_twins_told_apart_by_their_guard(tmp_path: Path) -> None:
    run = "        def run(x):\n            return {}\n"
    both = "\n    if fast():\n" + run + "    else:\n" + run.format("b(x)")
    twins, swapped = both.format("a(x)"), both.format("a(x, 1)")
    ours = hunk(id="h", file="m.py", scope="run[else fast()]", place="first", lines="print(x)")
    result = carry(tmp_path, {"m.py": twins}, {"m.py": swapped}, ours)
    assert outcome(result) == ("carried", 0)
    plain = hunk(id="h", file="m.py", scope="run", place="first", lines="print(x)")
    case = Case(
        tmp_path / "b", upstream={"v1.0.0": {"m.py": text(twins)}}, patchset={"fix/patch.toml": patch_toml(plain)}
    )
    assert case.run("rebase", "v1.0.0").placements == {"fix/h": "ambiguous"}


TWO = """
    if is_cuda():
        def load(path):
            data = read(path)
            value = parse(data)
            return value
    else:
        def load(path):
            data = read(path)
            value = parse(data)
            return value, None
"""
ELSE = {"file": "m.py", "place": "after", "at": "value = parse(...)", "lines": "print(value)"}


def test_a_deleted_twin_is_not_followed_to_the_other(tmp_path: Path) -> None:
    """With its twin gone a definition needs no qualifier: that makes it no new one."""
    new = TWO[: TWO.index("    else:")]
    result = carry(tmp_path, {"m.py": TWO}, {"m.py": new}, hunk(id="h", scope="load[else is_cuda()]", **ELSE))
    assert outcome(result) == ("missing", 3)


def test_which_twin_was_kept_is_for_a_person_to_say(tmp_path: Path) -> None:
    """Unwrapped, what is left looks as much like the one as like the other."""
    new = textwrap.indent(textwrap.dedent(TWO[TWO.index("        def") : TWO.index("    else:")]), "    ")
    result = carry(tmp_path, {"m.py": TWO}, {"m.py": new}, hunk(id="h", scope="load[else is_cuda()]", **ELSE))
    assert outcome(result) == ("ambiguous", 3)


PAIR = """
    def one(path):
        data = read(path)
        value = parse(data)
        return value


    def other(path):
        data = read(path)
        value = parse(data)
        return value, None
"""


def test_a_twin_that_came_along_with_its_file_is_nothing_new(tmp_path: Path) -> None:
    """The file has another name, and the anchor's statement changed in its own function only."""
    head, _, tail = PAIR.partition("    def other")
    new = head + "    def other" + tail.replace("value", "result")
    ours = hunk(id="h", scope="other", **ELSE)
    result = carry(tmp_path, {"m.py": PAIR}, {"pkg/parts.py": new}, ours)
    assert outcome(result) == ("missing", 3)


METHODS = """
    class One:
        def forward(self, x):
            y = norm(x)
            return self.proj(y)


    class Other:
        def forward(self, x):
            y = norm(x)
            return self.proj(y) + x
"""


def test_a_namesake_that_came_along_with_its_file_is_nothing_new(tmp_path: Path) -> None:
    """A class is deleted while its file gets another name: the same method of another class is not its successor."""
    new = METHODS[METHODS.index("    class Other") :]
    ours = hunk(id="h", file="m.py", scope="One.forward", place="after", at="y = norm(x)", lines="print(y)")
    result = carry(tmp_path, {"m.py": METHODS}, {"parts.py": new}, ours)
    assert outcome(result) == ("missing", 3)


@pytest.mark.parametrize("place", ["replace", "delete"])
def test_what_is_taken_out_with_a_changed_function_in_it(tmp_path: Path, place: str) -> None:
    """The module's digest leaves bodies out; a hunk that takes a statement with a body out does not."""
    keys = {"id": "h", "file": "m.py", "place": place, "at": "if is_cuda(): ..."}
    ours = hunk(**keys, lines="load = None") if place == "replace" else hunk(**keys)
    old = TWO + "\n    x = 1\n"
    result = carry(tmp_path, {"m.py": old}, {"m.py": old.replace("value, None", "value, True")}, ours)
    assert outcome(result) == ("conflict", 3)


def test_a_copy_is_no_move(tmp_path: Path) -> None:
    """A new function has the anchor's statement and the next one; the next one is also where it always was."""
    copy = PAIR[: PAIR.index("    def other")].replace("def one", "def third")
    new = copy + PAIR.replace("value = parse", "result = parse", 1)
    ours = hunk(id="h", file="m.py", scope="one", place="after", at="value = parse(data)", lines="print(value)")
    result = carry(tmp_path, {"m.py": PAIR}, {"m.py": new}, ours)
    assert outcome(result) == ("missing", 3)
