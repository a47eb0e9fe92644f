"""Input made to break a reader: long lines, deep nesting, patterns with many wildcards, names that are options."""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest
from harness import Case, Result, patch_toml, series

from rebasekit.edit.labels import split_label
from rebasekit.edit.match import matches
from rebasekit.edit.patterns import PatternError, parse_pattern
from rebasekit.edit.scopes import module_scope
from rebasekit.edit.source import Source

A = "def one(x):\n    y = x + 1\n    return y\n"
ONE = 'id = "one"\nfile = "pkg/a.py"\nscope = "one"\nplace = "after"\nat = "y = x + 1"\nlines = "y += 5"'
MEGABYTES = int(os.environ.get("REBASEKIT_LINE", "5"))  # `nox -s faults` takes 100


def project(root: Path, old: dict[str, str | bytes], new: dict[str, str | bytes], *hunks: str) -> Case:
    trees = {"v1.0.0": {"pkg/a.py": A, **old}, "v1.1.0": {"pkg/a.py": A.replace("return y", "return  y"), **new}}
    return Case(
        root, trees, {"series.toml": series("v1.0.0", patches=["p"]), "p/patch.toml": patch_toml(*(hunks or (ONE,)))}
    )


def sound(result: Result) -> Result:
    """No bug report, no traceback; errors have a hint."""
    assert result.exit in (0, 1, 2, 3, 4), (result.exit, result.stderr[-2000:])
    assert "Traceback" not in result.stderr
    if result.exit in (2, 4):
        assert "error: " in result.stderr
    return result


# ---- long lines ----


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["string", "list", "comment", "text"])
def test_a_line_without_end(tmp_path: Path, kind: str) -> None:
    size = MEGABYTES * 1_000_000
    line = {
        "string": 'TABLE = "' + "x" * size + '"\n',
        "list": "TABLE = [" + "1," * (size // 20) + "]\n",  # a node per element: a tenth is enough
        "comment": "# " + "x" * size + "\nTABLE = 1\n",
        "text": "x" * size + "\n",
    }[kind]
    path = "pkg/data.txt" if kind == "text" else "pkg/table.py"
    case = project(tmp_path, {path: line}, {path: line + "X = 1\n"})
    start = time.monotonic()
    assert sound(case.run("rebase", "v1.1.0")).placements == {"p/one": "shifted"}
    assert time.monotonic() - start < 20 + MEGABYTES * 2


def test_a_hunk_beside_a_line_without_end(tmp_path: Path) -> None:
    line = 'TABLE = "' + "x" * (MEGABYTES * 200_000) + '"\n'
    hunk = 'id = "one"\nfile = "pkg/table.py"\nplace = "after"\nat = "TABLE = ..."\nlines = "MORE = 2"'
    case = project(tmp_path, {"pkg/table.py": line}, {"pkg/table.py": "X = 1\n" + line}, hunk)
    result = sound(case.run("rebase", "v1.1.0"))
    assert result.exit == 0
    assert len(result.stdout) < 200_000 and len(result.stderr) < 200_000, "the line is not shown"


# ---- deep nesting ----

DEEP = {
    "sum": "TOTAL = " + "1 + " * 20_000 + "1\n",
    "attributes": "TOTAL = a" + ".b" * 20_000 + "\n",
    "calls": "TOTAL = a" + "()" * 20_000 + "\n",
    "minus": "TOTAL = " + "-" * 20_000 + "1\n",
    "not": "TOTAL = " + "not " * 3_000 + "1\n",
    "brackets": "TOTAL = " + "[" * 150 + "]" * 150 + "\n",
    "too many brackets": "TOTAL = " + "[" * 5_000 + "]" * 5_000 + "\n",
    "elif": "if a:\n    pass\n" + "".join(f"elif a{n}:\n    pass\n" for n in range(3_000)),
    "blocks": "".join(" " * n + "if a:\n" for n in range(95)) + " " * 95 + "pass\n",
    "strings": "TOTAL = (" + '"x" ' * 20_000 + ")\n",
    "lambda": "TOTAL = " + "lambda: " * 2_000 + "1\n",
    "condition": "TOTAL = " + "1 if a else " * 2_000 + "1\n",
    "some sums": "TOTAL = " + "1 + " * 900 + "1\n",
    "some attributes": "TOTAL = a" + ".b" * 700 + "\n",
    "some elif": "if a:\n    pass\n" + "".join(f"elif a{n}:\n    pass\n" for n in range(300)),
}


@pytest.mark.parametrize("kind", DEEP)
def test_a_deep_file_beside_the_hunk(tmp_path: Path, kind: str) -> None:
    case = project(tmp_path, {"pkg/deep.py": DEEP[kind]}, {"pkg/deep.py": DEEP[kind] + "X = 1\n"})
    result = sound(case.spawn("rebase", "v1.1.0"))
    assert result.placements == {"p/one": "shifted"}
    assert result.exit == 0 or "unread" in result.kinds


@pytest.mark.parametrize("kind", DEEP)
def test_a_hunk_in_a_deep_file(tmp_path: Path, kind: str) -> None:
    """It is carried, or the file is said not to be readable; never a crash and never silence."""
    text = "def one(x):\n    y = x + 1\n    return y\n\n\n" + DEEP[kind]
    hunk = ONE.replace("pkg/a.py", "pkg/deep.py")
    case = project(tmp_path, {"pkg/deep.py": text}, {"pkg/deep.py": text.replace("return y", "return  y")}, hunk)
    result = sound(case.spawn("rebase", "v1.1.0"))
    assert result.exit in (0, 1, 3)
    if result.exit == 3:
        assert "unread" in result.kinds


# ---- patterns ----

STARS = ["f(" + ", ".join(["..."] * count) + ")" for count in (2, 8, 30)]
NAMED = ["f(..., $A, ..., $B, ..., $C, ..., $D, ..., last)", "f(..., $A, ..., $A, ..., $A, ..., last)"]


@pytest.mark.parametrize("pattern", [*STARS, *NAMED, "f(" + "..., $_, " * 40 + "..., last)"])
def test_a_pattern_with_many_wildcards_ends(pattern: str) -> None:
    call = "f(" + ", ".join(f"a{n % 7}" for n in range(300)) + ")\n"
    start = time.monotonic()
    matches(parse_pattern(pattern), module_scope(Source(call)))
    assert time.monotonic() - start < 5


def test_a_pattern_of_blocks_with_many_wildcards_ends() -> None:
    body = "".join(f"    step(a{n % 3})\n" for n in range(200))
    pattern = "if x:\n" + "    ...\n    step($A)\n" * 12 + "    last()\n"
    start = time.monotonic()
    assert matches(parse_pattern(pattern), module_scope(Source(f"if x:\n{body}"))) == []
    assert time.monotonic() - start < 5


def test_nested_wildcards_end() -> None:
    inner = "g(" + ", ".join(["a"] * 25) + ")"
    call = "f(" + ", ".join([inner] * 25) + ")\n"
    pattern = "f(" + ", ".join(["..., g(..., $A, ..., b, ...)"] * 6) + ", ...)"
    start = time.monotonic()
    assert matches(parse_pattern(pattern), module_scope(Source(call))) == []
    assert time.monotonic() - start < 5


ENDLESS = ["'''", '"""', "'", '"']


@pytest.mark.parametrize("quote", ENDLESS)
def test_a_scope_with_a_string_that_does_not_end(quote: str) -> None:
    start = time.monotonic()
    with suppress(ValueError):  # a lone quote is a name's own business
        split_label(f"load[{quote}" + "\\" * 81 + "]")
    assert time.monotonic() - start < 1


@pytest.mark.parametrize("quote", ENDLESS)
def test_a_pattern_with_a_string_that_does_not_end(quote: str) -> None:
    start = time.monotonic()
    with pytest.raises(PatternError):
        parse_pattern(f"x = {quote}" + "\\" * 81 + "\n$A")
    assert time.monotonic() - start < 1


# ---- names and paths ----


@pytest.mark.parametrize("body", ["../../../outside.py", "/etc/hostname", "link.py", "folder/../../../outside.py"])
def test_a_body_outside_its_folder(tmp_path: Path, body: str) -> None:
    case = project(tmp_path, {}, {}, ONE.replace('lines = "y += 5"', f'body = "{body}"'))
    (tmp_path / "outside.py").write_text("y += 6\n")
    (case.project / "patchset/p/link.py").symlink_to(tmp_path / "outside.py")
    result = sound(case.run("rebase", "v1.1.0"))
    assert result.exit == 2 and "patch.toml" in result.stderr and "y += 6" not in result.stderr
    assert not (case.cache / "upstream").exists(), "nothing is fetched for a patchset that is wrong"


@pytest.mark.parametrize(
    "file", ["../a.py", "/tmp/a.py", "pkg/../../a.py", ".git/config", "pkg/.git/hooks/x", "a\\b.py"]
)
def test_a_hunks_file_outside_the_tree(tmp_path: Path, file: str) -> None:
    case = project(tmp_path, {}, {}, f'id = "one"\nfile = \'{file}\'\nplace = "new-file"\nlines = "X = 1"')
    assert sound(case.run("rebase", "v1.1.0")).exit == 2


@pytest.mark.parametrize(
    "tag", ["--upload-pack=touch it-ran", "-x", "v1.0.0;touch it-ran", "../v1.0.0", "v1.0.0\nx", "@{0}", ""]
)
def test_a_tag_that_is_an_option(tmp_path: Path, tag: str) -> None:
    case = project(tmp_path, {}, {})
    for argv in (
        ("rebase", "--", tag),
        ("export", "--diff", f"--tag={tag}"),
        ("apply", f"--tag={tag}", "--to", "."),
        ("churn", "--", tag, "v1.0.0"),
        ("import", "x.diff", f"--onto={tag}", "--as", "q"),
    ):
        result = sound(case.run(*argv, json=False))
        assert result.exit in (2, 4), (argv, result.stderr)
    assert not list(tmp_path.rglob("it-ran"))


def test_an_upstream_with_tags_that_are_options(tmp_path: Path) -> None:
    """Such a tag in the repository is no release, and nothing happens by it."""
    case = project(tmp_path, {}, {})
    head = case.git("rev-parse", "v1.1.0^{commit}").decode().strip()
    refs = case.repository / ".git/refs/tags"
    for name in ("--upload-pack=touch it-ran", "-v2.0.0", "v3.0.0;x", "v2.0.0"):
        (refs / name).write_text(head + "\n")
    assert sound(case.run("rebase", "v1.1.0")).exit == 0
    assert sound(case.run("rebase", "v2.0.0")).exit == 0
    assert not list(tmp_path.rglob("it-ran"))


@pytest.mark.slow
def test_a_release_of_very_many_files(tmp_path: Path) -> None:
    """More files than a release may have are refused before they are read; `nox -s faults` tries a million."""
    count = int(os.environ.get("REBASEKIT_FILES", "20000"))
    case = project(tmp_path, {}, {})
    stream = [b"commit refs/heads/many\ncommitter A <a@example.invalid> 1700000000 +0000\ndata 0\n"]
    stream += [b"blob\nmark :1\ndata 6\nx = 1\n\n"]
    stream = [stream[1], stream[0]]
    stream += [b"M 100644 :1 many/%d/f%d.py\n" % (n // 500, n) for n in range(count)]
    stream += [b"M 100644 inline pkg/a.py\ndata %d\n" % len(A), A.encode(), b"\n"]
    stream += [b"\ntag v2.0.0\nfrom refs/heads/many\ntagger A <a@example.invalid> 1700000000 +0000\ndata 0\n\n"]
    subprocess.run(
        ["git", "fast-import", "--quiet"], cwd=case.repository, input=b"".join(stream), env=case.env, check=True
    )
    start = time.monotonic()
    result = sound(case.spawn("export", "--tag", "v2.0.0", "--diff", json=False))
    assert result.exit == 0 or "files" in result.stderr
    assert time.monotonic() - start < 30 + count / 2_000
