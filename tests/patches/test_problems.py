# ruff: noqa: E501 (a message is easier to compare with the code on one line)
"""Everything that can be wrong: one place and one sentence each, all of them at once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rebasekit.patches import PatchsetProblems, load_patch, load_series
from rebasekit.patches.pattern import check_pattern

H = 'patchset/x/patch.toml: hunk "one"'
P = "patchset/x/patch.toml"
S = "patchset/series.toml"


def problems(patchset: Path) -> list[str]:
    with pytest.raises(PatchsetProblems) as caught:
        load_series(patchset)
    assert caught.value.exit_code == 2
    assert caught.value.where == caught.value.entries[0].where
    return [str(entry) for entry in caught.value.entries]


# (what to change in the hunk, the whole message)
HUNKS = [
    ('at = "return $X"', "", f"{H}: at: is missing; place `before` needs a pattern"),
    ('at = "return $X"', 'at = "return $X +"', f"{H}: at: `return $X +` is not Python with `$NAME` and `...`: invalid syntax"),
    ('at = "return $X"', 'at = "a; b"', f"{H}: at: `a; b` is 2 statements; a pattern is one"),
    ('at = "return $X"', "at = 3", f"{H}: at: must be a string, is a whole number"),
    ('place = "before"', 'place = "befor"', f"{H}: place: `befor` is none of `before`, `after`, `replace`, `delete`, `first`, "
     "`last`, `element`, `argument`, `parameter`, `base`, `import`, `new-file`, `edit`, `text`; did you mean `before`?"),
    ('place = "before"', "", f"{H}: place: is missing"),
    ('place = "before"', 'place = "import"', f"{H}: at: is not used with place `import`"),
    ('place = "before"', 'place = "delete"', f"{H}: lines: is not used with place `delete`"),
    ('lines = "y = 1"', "", f"{H}: body: is missing; a hunk has `body` or `lines`"),
    ('lines = "y = 1"', 'lines = "  "', f"{H}: lines: has no lines"),
    ('lines = "y = 1"', 'lines = "  y = 1"', f"{H}: lines: is indented; lines are written from column 0 and indented where they land"),
    ('lines = "y = 1"', 'lines = "y\\u0000"', f"{H}: lines: has a NUL character"),
    ('lines = "y = 1"', 'lines = "y"\nbody = "b.py"', f"{H}: body: stands beside `lines`; a hunk has one of them"),
    ('lines = "y = 1"', 'body = "gone.py"', f"{H}: body: `gone.py` is not there"),
    ('lines = "y = 1"', 'body = ""', f"{H}: body: is empty"),
    ('lines = "y = 1"', 'body = "/etc/passwd"', f"{H}: body: `/etc/passwd` is not a relative path with `/`"),
    ('lines = "y = 1"', 'body = "../../secret"', f"{H}: body: `../../secret` lies outside the patch folder"),
    ('lines = "y = 1"', 'body = "../y/b.py"', f"{H}: body: `../y/b.py` lies outside the patch folder"),
    ('lines = "y = 1"', 'body = "../../kernels/k.py"', f"{H}: body: `../../kernels/k.py` lies in `kernels/`, which only a new-file hunk may use"),
    ('lines = "y = 1"', 'body = "."', f"{H}: body: `.` lies outside the patch folder"),
    ('lines = "y = 1"', 'body = "b.py"', f"{H}: body: `b.py` is not UTF-8 at byte 2"),
    ('lines = "y = 1"', 'body = "crlf.py"', f"{H}: body: `crlf.py` has CRLF line ends; they were converted on checkout, or the hunk needs `newlines = \"keep\"`"),
    ('lines = "y = 1"', 'body = "link.py"', f"{H}: body: `link.py` leads out of `patchset/x` through a link"),
    ('lines = "y = 1"', 'body = "sub"', f"{H}: body: `sub` is not a regular file"),
    ('id = "one"', 'id = "One"', "patchset/x/patch.toml: hunk 1: id: `One` is not a name: lower-case letters, digits, `.`, `_` and `-`, first a letter or digit"),
    ('id = "one"', 'id = "../x"', "patchset/x/patch.toml: hunk 1: id: `../x` is not a name: lower-case letters, digits, `.`, `_` and `-`, first a letter or digit"),
    ('id = "one"', "", "patchset/x/patch.toml: hunk 1: id: is missing"),
    ('file = "pkg/a.py"', "", f"{H}: file: is missing"),
    ('file = "pkg/a.py"', 'file = "/a.py"', f"{H}: file: `/a.py` is absolute; paths are relative to the tree's root"),
    ('file = "pkg/a.py"', 'file = "pkg/../../a.py"', f"{H}: file: `pkg/../../a.py` has `..`"),
    ('file = "pkg/a.py"', 'file = "pkg\\\\a.py"', f"{H}: file: `pkg\\a.py` has a backslash; paths are written with `/`"),
    ('file = "pkg/a.py"', 'file = "pkg//a.py"', f"{H}: file: `pkg//a.py` has an empty part or `.`"),
    ('file = "pkg/a.py"', 'file = ".GIT/hooks/x"', f"{H}: file: `.GIT/hooks/x` leads into `.git`"),
    ('file = "pkg/a.py"', 'file = "C:/a.py"', f"{H}: file: `C:/a.py` is absolute; paths are relative to the tree's root"),
    ('file = "pkg/a.py"', 'file = "a\\u001b[31m.py"', f"{H}: file: `a\\x1b[31m.py` has a control character"),
    ('scope = "f"', 'scope = "f."', f"{H}: scope: `f.` is not a qualified name"),
    ('scope = "f"', "count = 0", f"{H}: count: must be between 1 and 1000"),
    ('scope = "f"', "count = true", f"{H}: count: must be a whole number, is a boolean"),
    ('scope = "f"', "count = 1.5", f"{H}: count: must be a whole number, is a fraction"),
    ('scope = "f"', 'mode = "executable"', f"{H}: mode: is for new files only"),
    ('scope = "f"', 'newlines = "crlf"', f"{H}: newlines: `crlf` is none of `lf`, `keep`; did you mean `lf`?"),
    ('scope = "f"', 'uses = ["a", 3, ""]', f"{H}: uses: item 2 must be a string"),
    ('scope = "f"', 'needs = ["a", "a"]', f"{H}: needs: `a` is there twice"),
    ('scope = "f"', 'relies = "a"', f"{H}: relies: must be a list, is a string"),
    ('scope = "f"', "anchor = 1", f"{H}: anchor: is not a known key"),
    ('scope = "f"', 'bdy = "x"', f"{H}: bdy: is not a known key; did you mean `body`?"),
    ('scope = "f"', "decision = 2020-01-01", f"{H}: decision: must be a string, is a date or time"),
    ('scope = "f"', 'tags = ">=v0.5.20; rm -rf"', f"{H}: tags: `>=v0.5.20; rm -rf` is not a range of tags such as `>=v0.5.20,<v0.5.23`"),
    ('scope = "f"', 'tags = ">=v2,<v1"', f"{H}: tags: `>=v2,<v1` holds no tag: its lower end lies above its upper end"),
    ('scope = "f"', 'pin = { tag = "v1; x", scope = "a" }', f"{H}: pin: tag: `v1; x` is not a release tag"),
    ('scope = "f"', 'pin = { tag = "v1" }', f"{H}: pin: scope: is missing"),
    ('scope = "f"', 'pin = { tag = "v1", scope = "a", depth = -1 }', f"{H}: pin: depth: must be between 0 and 1000"),
    ('scope = "f"', 'pin = { tag = "v1", scope = "a", line = 1 }', f"{H}: pin: line: is not a known key"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), HUNKS, ids=[f"{new or 'no ' + old}"[:50] for old, new, _ in HUNKS])
def test_hunk(make, header: str, hunk: str, tmp_path: Path, old: str, new: str, message: str) -> None:
    patchset = make(
        header + hunk.replace(old, new),
        files={
            "patchset/x/b.py": b"x\n\xff",
            "patchset/x/crlf.py": b"x\r\ny\r\n",
            "patchset/x/sub/z.py": "",
            "kernels/k.py": "",
            "patchset/y/b.py": "",
            "secret": "",
        },
    )
    (patchset / "x/link.py").symlink_to(tmp_path / "secret")
    assert problems(patchset)[0] == message


HEADERS = [
    ('why = "because"\n', "", f"{P}: why: is missing"),
    ('why = "because"\n', 'why = " "\n', f"{P}: why: ` ` is empty"),
    ('removal = "when upstream has it"\n', "", f"{P}: removal: is missing"),
    ('title = "a patch"\n', "", f"{P}: title: is missing"),
    ('title = "a patch"\n', 'title = "a\\nb"\n', f"{P}: title: `a\\nb` has a line end or a control character"),
    ('title = "a patch"\n', 'title = "a"\nforwarded = "yes"\n', f"{P}: forwarded: `yes` is none of `no`, `not-needed` or a URL"),
    ('title = "a patch"\n', 'title = "a"\ndepends = ["x"]\n', f"{P}: depends: `x` depends on itself"),
    ('title = "a patch"\n', 'title = "a"\ndepends = ["y"]\n', f"{P}: depends: `y` is not in the series"),
    ('title = "a patch"\n', 'title = "a"\ndepend = ["y"]\n', f"{P}: depend: is not a known key; did you mean `depends`?"),
    ('title = "a patch"\n', 'title = "a"\nhunk = 3\n', f"{P}: hunk: must be a list, is a whole number"),
    ('title = "a patch"\n', 'title = "a"\nhunk = [3]\n', f"{P}: hunk: must be tables, written as `[[hunk]]`"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), HEADERS)
def test_header(make, header: str, old: str, new: str, message: str) -> None:
    assert problems(make(header.replace(old, new))) == [message]


SERIES = [
    ('base = "v0.5.19"', "", f"{S}: base: is missing"),
    ('base = "v0.5.19"', 'base = "--upload-pack=x"', f"{S}: base: `--upload-pack=x` is not a release tag"),
    ('base = "v0.5.19"', f'base = "v1{"0" * 500}"', f"{S}: base: is not a release tag"),
    ('patches = ["x"]', "", f"{S}: patches: is missing"),
    ('patches = ["x"]', 'patches = ["x", "x"]', f"{S}: patches: `x` is there twice"),
    ('patches = ["x"]', 'patches = ["x", "z"]', f"{S}: patches: there is no `patchset/z/patch.toml`"),
    ('patches = ["x"]', 'patches = ["../x"]', f"{S}: patches: `../x` is not a name: lower-case letters, digits, `.`, `_` and `-`, first a letter or digit"),
    ('patches = ["x"]', 'patches = ["x"]\nentries = ["a b"]', f"{S}: entries: `a b` is not a dotted name"),
    ('patches = ["x"]', 'patches = ["x"]\nrequires-python = "three"', f"{S}: requires-python: `three` is not a range of Python versions such as `>=3.10`"),
    ('kind = "pypi"', 'kind = "npm"', f"{S}: upstream: kind: `npm` is none of `pypi`, `git`"),
    ('package = "sglang"', "", f"{S}: upstream: package: is missing"),
    ('package = "sglang"', 'package = "-r x"', f"{S}: upstream: package: `-r x` is not a package name"),
    ('kind = "pypi"', 'kind = "git"', f"{S}: upstream: url: is missing"),
    ('kind = "pypi"', 'kind = "git"\nurl = "--upload-pack=x"', f"{S}: upstream: url: `--upload-pack=x` is not a URL or path that is safe to hand to git"),
    ('kind = "pypi"', 'kind = "git"\nurl = "ext::sh -c x"', f"{S}: upstream: url: `ext::sh -c x` is not a URL or path that is safe to hand to git"),
    ('kind = "pypi"', 'kind = "pypi"\nprefix = "../"', f"{S}: upstream: prefix: `../` has `..`"),
    ('kind = "pypi"', 'kind = "pypi"\nbranch = "x"', f"{S}: upstream: branch: is not a known key"),
    ("[upstream]", "[deployment]\nx = 2020-01-01\n[upstream]", f"{S}: deployment: x: must be a string, number, boolean, or a list or table of them"),
    ("[upstream]", "[environment]\ntorch = 2\n[upstream]", f"{S}: environment: torch: must be a string, is a whole number"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), SERIES)
def test_series(make, series: str, old: str, new: str, message: str) -> None:
    assert problems(make(series=series.replace(old, new))) == [message]


def test_all_problems_are_told_at_once(make, header: str, hunk: str) -> None:
    two = hunk.replace('"one"', '"two"').replace('at = "return $X"', "").replace('"pkg/a.py"', '"../a"')
    assert problems(make(header.replace('why = "because"\n', "") + hunk + two + hunk)) == [
        f"{P}: why: is missing",
        f'{P}: hunk "two": file: `../a` has `..`',
        f'{P}: hunk "two": at: is missing; place `before` needs a pattern',
        f"{H}: id: is used twice in this patch",
    ]


def test_the_message_lists_them_and_the_hint_survives(make, header: str, hunk: str) -> None:
    text = header + hunk.replace('lines = "y = 1"', 'body = "b.py"') + "why = 3\n"
    with pytest.raises(PatchsetProblems) as caught:
        load_series(make(text, files={"patchset/x/b.py": b"a\r\n"}))
    assert caught.value.message.splitlines() == str(caught.value).splitlines()
    assert len(caught.value.entries) == 2 and caught.value.hint == "git config core.autocrlf false"


def test_a_converted_patch_file(make, header: str, hunk: str) -> None:
    with pytest.raises(PatchsetProblems) as caught:
        load_series(make((header + hunk).replace("\n", "\r\n")))
    assert str(caught.value) == f"{P}: has CRLF line ends; they were converted on checkout"
    assert caught.value.hint == "git config core.autocrlf false"


VARIANTS = [
    (['file = "b.py"'], f"{H}: variant 1: tags: is missing"),
    (['tags = ">=v1"', 'tags = ">=v2"'], f"{H}: variant 2: tags: `>=v2` overlaps with variant 1"),
    (['tags = "<=v1"', 'tags = "==v1"'], f"{H}: variant 2: tags: `==v1` overlaps with variant 1"),
    (['tags = ">=v1,<v3"', 'tags = ">v2,<v2.5"'], f"{H}: variant 2: tags: `>v2,<v2.5` overlaps with variant 1"),
    (['tags = ">v1,<v1"'], f"{H}: variant 1: tags: `>v1,<v1` holds no tag: its lower end lies above its upper end"),
    (['tags = ">=v1"\nid = "y"'], f"{H}: variant 1: id: is not a known key"),
    (['tags = ">=v1"\nplace = "import"\nat = "x"'], f"{H}: variant 1: at: is not used with place `import`"),
    (['tags = "' + "9" * 300 + '"'], f"{H}: variant 1: tags: `{'9' * 77}…` is longer than 200 characters"),
]


@pytest.mark.parametrize(("variants", "message"), VARIANTS)
def test_variants(make, header: str, hunk: str, variants: list[str], message: str) -> None:
    text = header + hunk + "".join(f"[[hunk.variant]]\n{variant}\n" for variant in variants)
    assert problems(make(text)) == [message]


@pytest.mark.parametrize(
    "tags", [(">=v1,<v2", ">=v2"), ("<v1", ">=v1rc1,<v1rc2", ">=v1"), ("==v1", ">v1"), ("<=v1", ">v1")]
)
def test_ranges_that_only_touch(make, header: str, hunk: str, tags: tuple[str, ...]) -> None:
    text = header + hunk + "".join(f'[[hunk.variant]]\ntags = "{each}"\n' for each in tags)
    assert len(load_patch(make(text) / "x").hunks[0].forms) == len(tags) + 1


def test_a_circle_and_a_wrong_order(make, header: str) -> None:
    def patch(*depends: str) -> str:
        return header + f"depends = {list(depends)!r}\n"

    text = 'base = "v1"\npatches = ["a", "b", "c", "d"]\n[upstream]\nkind = "pypi"\npackage = "p"\n'
    files = {"a": patch("b"), "b": patch("c"), "c": patch("a"), "d": patch()}
    patchset = make(series=text, files={f"patchset/{name}/patch.toml": data for name, data in files.items()})
    assert problems(patchset) == ["patchset/a/patch.toml: depends: goes round in a circle: a → b → c → a"]
    (patchset / "c/patch.toml").write_text(patch("d"))
    assert problems(patchset) == [
        "patchset/a/patch.toml: depends: `b` comes after `a` in `patchset/series.toml`",
        "patchset/b/patch.toml: depends: `c` comes after `b` in `patchset/series.toml`",
        "patchset/c/patch.toml: depends: `d` comes after `c` in `patchset/series.toml`",
    ]


def test_a_patch_folder_that_is_a_link(make, tmp_path: Path, header: str) -> None:
    patchset = make()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/patch.toml").write_text(header)
    (patchset / "y").symlink_to(tmp_path / "outside")
    with pytest.raises(PatchsetProblems, match="leads out of `patchset` through a link"):
        load_patch(patchset / "y")


@pytest.mark.parametrize(
    "pattern",
    ["def f(...): ...", "f(x=1, ...)", '{"a": 1, ...}', "x: $T = $D", "elif $X: ...", "for $A in ...: ...", "with $_: ...",
     "logger.warning(...)", "async def f($A, ...): ...", "  return $X\n", "Tuple[int, ...]", "@x\ndef f(): ...", "from a import $X"],
)  # fmt: skip
def test_patterns_that_must_not_be_refused(pattern: str) -> None:
    check_pattern(pattern)


def test_the_matcher_can_bring_its_own_parser(make) -> None:
    def refuse(text: str) -> None:
        raise ValueError("is not to my taste")

    with pytest.raises(PatchsetProblems, match=re.escape("`return $X` is not to my taste")):
        load_series(make(), check=refuse)


def test_no_series(tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"series\.toml: is not there"):
        load_series(tmp_path / "patchset")
