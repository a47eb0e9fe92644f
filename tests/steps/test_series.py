"""Hunks together: variants, dependents, overlaps, pins, confirmed moves, and runs from another release."""

from __future__ import annotations

from pathlib import Path

from harness import Case, patch_toml

RUN = "def run(self):\n    prepare(self)\n    work(self)\n    finish(self)\n"


def case_of(tmp_path: Path, tags: dict[str, dict[str, str]], **patches: str) -> Case:
    return Case(tmp_path, upstream=tags, patchset={f"{name}/patch.toml": body for name, body in patches.items()})


def after(name: str, at: str, lines: str, **more: str) -> str:
    keys = {"id": name, "file": "m.py", "scope": "run", "place": "after", "at": at, "lines": lines, **more}
    return "\n".join(f"{k} = '''{v}'''" for k, v in keys.items())


def patched(case: Case, tag: str) -> str:
    done = case.run("export", "--tag", tag, "--diff", json=False)
    assert done.exit == 0, done.stderr
    return "".join(f"{line[1:]}\n" for line in done.stdout.splitlines() if line.startswith("+") and line[1] != "+")


def test_variant_serves_its_range_of_tags(tmp_path: Path) -> None:
    new = RUN.replace("work(self)", "labour(self)")
    body = (
        after("h", "work(self)", "print('work')")
        + "\n\n[[hunk.variant]]\ntags = '>=v1.1.0'\nat = 'labour(self)'\nlines = \"print('labour')\""
    )
    case = case_of(
        tmp_path,
        {"v1.0.0": {"m.py": RUN}, "v1.1.0": {"m.py": new}, "v1.2.0": {"m.py": "X = 1\n" + new}},
        fix=patch_toml(body),
    )
    assert [case.run("rebase", f"v1.{n}.0").exit for n in range(3)] == [0, 0, 0]
    assert "work" in patched(case, "v1.0.0")
    assert "labour" in patched(case, "v1.2.0")


def test_hunk_that_is_not_meant_for_a_tag(tmp_path: Path) -> None:
    body = after("h", "work(self)", "print(self)", tags="<v1.1.0")
    case = case_of(tmp_path, {"v1.0.0": {"m.py": RUN}, "v1.1.0": {"m.py": "X = 1\n"}}, fix=patch_toml(body))
    result = case.run("rebase", "v1.1.0")
    assert (result.exit, result.placements) == (0, {"fix/h": "not-meant"})


def test_hunk_on_another_hunks_lines(tmp_path: Path) -> None:
    first = patch_toml(after("limit", "prepare(self)", "limit = len(self)\nlow = limit // 2"))
    second = patch_toml(after("use", "limit = ...", "print(limit)")).replace("removal", 'depends = ["a"]\nremoval', 1)
    new = RUN.replace("work(self)", "work(self, 1)")
    case = case_of(tmp_path, {"v1.0.0": {"m.py": RUN}, "v1.1.0": {"m.py": new}}, a=first, b=second)
    result = case.run("rebase", "v1.1.0")
    assert result.exit == 0, result.stdout
    assert patched(case, "v1.1.0") == "    limit = len(self)\n    print(limit)\n    low = limit // 2\n"


def test_upstreams_new_twin_of_our_line_is_not_taken_for_it(tmp_path: Path) -> None:
    first = patch_toml(after("limit", "prepare(self)", "limit = len(self)"))
    second = patch_toml(after("use", "limit = ...", "print(limit)")).replace("removal", 'depends = ["a"]\nremoval', 1)
    new = RUN.replace("finish(self)", "limit = other(self)\n    finish(self)")
    case = case_of(tmp_path, {"v1.0.0": {"m.py": RUN}, "v1.1.0": {"m.py": new}}, a=first, b=second)
    result = case.run("rebase", "v1.1.0")
    if result.exit == 0:
        assert patched(case, "v1.1.0") == "    limit = len(self)\n    print(limit)\n"
    else:
        assert result.hunk("b/use")["placement"] in ("conflict", "ambiguous", "missing")


def test_two_hunks_that_change_the_same_text(tmp_path: Path) -> None:
    one = after("one", "work(self)", "a(self)").replace("'''after'''", "'''replace'''")
    two = after("two", "work(self)", "b(self)").replace("'''after'''", "'''replace'''")
    case = case_of(tmp_path, {"v1.0.0": {"m.py": RUN}}, fix=patch_toml(one, two))
    result = case.run("rebase", "v1.0.0")
    assert result.placements == {"fix/one": "carried", "fix/two": "conflict"}
    assert "`fix/one`" in result.hunk("two")["reason"]


def test_pin_that_says_another_text(tmp_path: Path) -> None:
    pin = "\npin = { tag = 'v1.0.0', scope = '0123456789abcdef' }"
    case = case_of(
        tmp_path,
        {"v1.0.0": {"m.py": RUN}, "v1.1.0": {"m.py": RUN}},
        fix=patch_toml(after("h", "work(self)", "print(self)") + pin),
    )
    result = case.run("rebase", "v1.1.0")
    assert (result.exit, result.placements) == (3, {"fix/h": "conflict"})
    assert "pin" in result.hunk("h")["reason"]


def test_confirmed_move_wins(tmp_path: Path) -> None:
    other = "def perform(me):\n    begin(me)\n    work(self)\n    end(me)\n    more(me)\n    most(me)\n"
    trees = {"v1.0.0": {"m.py": RUN}, "v1.1.0": {"n.py": other}}
    case = case_of(tmp_path, trees, fix=patch_toml(after("h", "work(self)", "print(self)")))
    assert case.run("rebase", "v1.1.0").exit == 3
    old, new = "{ file = 'm.py', scope = 'run' }", "{ file = 'n.py', scope = 'perform' }"
    move = f"[[move]]\nfrom = {old}\nto = {new}\nwhy = 'read it'\n"
    case.write({"upstream-map/moves.toml": move})
    result = case.run("rebase", "v1.1.0")
    # the place is known now; that the two functions have little in common still needs a look
    assert result.hunk("h")["file"] == "n.py"
    assert result.hunk("h")["placement"] in ("relocated", "conflict")
    assert case.run("accept", "fix/h", "--tag", "v1.1.0", "--why", "read both", json=False).exit == 0
    assert case.run("rebase", "v1.1.0").exit == 0
    assert case.run("rebase", "v1.0.0").exit == 0


def test_from_compares_with_a_release_in_between(tmp_path: Path) -> None:
    """What conflicts over two releases at once may carry step by step."""
    middle = RUN.replace("    work(self)\n", "    work(self)\n    rest(self)\n    rest(self)\n")
    last = middle.replace("    work(self)\n", "    work(self, 2)\n")
    tags = {"v1.0.0": {"m.py": RUN}, "v1.1.0": {"m.py": middle}, "v1.2.0": {"m.py": last}}
    case = case_of(tmp_path, tags, fix=patch_toml(after("h", "work(...)", "print(self)").replace("after", "before")))
    assert case.run("rebase", "v1.2.0", "--from", "v1.1.0").exit == 0


def test_edit_hunk_is_merged(tmp_path: Path) -> None:
    case = case_of(
        tmp_path,
        {
            "v1.0.0": {"m.py": RUN},
            "v1.1.0": {"m.py": "X = 1\n" + RUN + "    again(self)\n"},
            "v1.2.0": {"m.py": RUN.replace("work(self)", "work(self, 3)")},
        },
        fix=patch_toml(
            "id = 'h'\nfile = 'm.py'\nscope = 'run'\nplace = 'edit'\nlines = '''\n@@ 3,1 @@\n+    work(self, 2)\n'''"
        ),
    )
    assert case.run("rebase", "v1.0.0").exit == 0
    assert case.run("rebase", "v1.1.0").placements == {"fix/h": "shifted"}
    assert "work(self, 2)" in patched(case, "v1.1.0")
    assert case.run("rebase", "v1.2.0").placements == {"fix/h": "conflict"}


def test_only_one_patch_with_what_it_depends_on(tmp_path: Path) -> None:
    a, b = patch_toml(after("a", "prepare(self)", "print(self)")), patch_toml(after("b", "work(self)", "print(self)"))
    case = case_of(tmp_path, {"v1.0.0": {"m.py": RUN}}, a=a, b=b)
    assert case.run("rebase", "v1.0.0", "--only", "b").placements == {"b/b": "carried"}
    assert not (case.project / "upstream-map" / "v1.0.0.toml").exists()


def test_map_is_written_once_and_the_same(tmp_path: Path) -> None:
    case = case_of(tmp_path, {"v1.0.0": {"m.py": RUN}}, fix=patch_toml(after("h", "work(self)", "print(self)")))
    assert case.run("rebase", "v1.0.0").exit == 0
    path = case.project / "upstream-map" / "v1.0.0.toml"
    first = path.read_bytes()
    assert b"carried" in first
    assert case.run("rebase", "v1.0.0").exit == 0
    assert path.read_bytes() == first


def test_from_a_release_on_which_the_hunk_had_moved(tmp_path: Path) -> None:
    tags = {
        "v1.0.0": {"m.py": RUN},
        "v1.1.0": {"n.py": RUN},
        "v1.2.0": {"n.py": RUN.replace("work(self)", "work(self, 1)")},
    }
    case = case_of(tmp_path, tags, fix=patch_toml(after("h", "work(...)", "print(self)")))
    assert case.run("rebase", "v1.1.0").placements == {"fix/h": "relocated"}
    result = case.run("rebase", "v1.2.0", "--from", "v1.1.0")
    assert (result.exit, result.placements) == (0, {"fix/h": "shifted"})
    assert result.hunk("h")["file"] == "n.py"


def test_the_checks_answer_is_kept_for_exactly_the_same_question(tmp_path: Path) -> None:
    case = case_of(tmp_path, {"v1.0.0": {"m.py": RUN}}, fix=patch_toml(after("h", "work(self)", "nobody(self)")))
    first = case.run("rebase", "v1.0.0")
    assert first.kinds == ["unbound"]
    (kept,) = (case.cache / "checks").glob("*.json")
    assert case.run("rebase", "v1.0.0").kinds == ["unbound"]
    kept.write_text("{}")  # damaged: asked again
    assert case.run("rebase", "v1.0.0").kinds == ["unbound"]
    case.write({"patchset/fix/patch.toml": patch_toml(after("h", "work(self)", "print(self)"))})
    assert case.run("rebase", "v1.0.0").kinds == []
