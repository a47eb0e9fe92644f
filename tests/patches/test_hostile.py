"""Files made to break a reader: each is refused in a moment, with a place."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from rebasekit.errors import PatchsetError
from rebasekit.patches import load_patch, load_series

CASES = {
    "nul": ("x = 1\ny = '\0'\n", r"patch\.toml: line 2: is not TOML: found invalid character '\\x00'"),
    "syntax": ("x = 1\n\n= 2\n", r"patch\.toml: line 3: is not TOML: invalid statement"),
    "twice": ("x = 1\nx = 2\n", r"patch\.toml: line 2: is not TOML: cannot overwrite a value"),
    "open string": ('x = """\na\nb', r"patch\.toml: line 3: is not TOML"),
    "bom": ("\ufeffx = 1\n", r"patch\.toml: line 1: begins with a byte order mark"),
    "lone return": ("x = 1\ry = 2\n", r"patch\.toml: line 1: is not TOML"),
    "latin-1": (b"x = 1\n# caf\xe9\n", r"patch\.toml: line 2: is not UTF-8"),
    "arrays": ("x = " + "[" * 100_000 + "]" * 100_000, r"patch\.toml: nests too deeply"),
    "tables": ("x = " + "{a=" * 50_000 + "1" + "}" * 50_000, r"patch\.toml: nests too deeply"),
    "dots": (".".join("a" * 200_000) + " = 1\n", r"patch\.toml: line 1: nests too deeply"),
    "spaced dots": (" . ".join("a" * 100_000) + " = 1\n", r"patch\.toml: line 1: nests too deeply"),
    "header dots": ("[" + ".".join("a" * 200_000) + "]\n", r"patch\.toml: line 1: nests too deeply"),
    "number": ("x = " + "9" * 100_000 + "\n", r"patch\.toml"),
    "large": ("# " + "x" * 1023 + "\n") * 2000,
    "quotes": 'x = "' + '\\"' * 200_000,
    "many keys": "".join(f"k{n} = 1\n" for n in range(60_000)),
    "many hunks": "[[hunk]]\n" * 60_000,
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_refused_quickly(make, name: str) -> None:
    case = CASES[name]
    text, pattern = case if isinstance(case, tuple) else (case, r"patch\.toml")
    patchset = make(text)
    start = time.monotonic()
    with pytest.raises(PatchsetError, match=pattern) as caught:
        load_patch(patchset / "x")
    assert time.monotonic() - start < 10
    assert len(str(caught.value)) < 50_000


def test_fifty_megabytes(make) -> None:
    patchset = make()
    with (patchset / "x/patch.toml").open("r+b") as handle:
        handle.truncate(50 * 1024 * 1024)
    start = time.monotonic()
    with pytest.raises(PatchsetError, match=r"patch\.toml: is larger than 1 MB"):
        load_series(patchset)
    assert time.monotonic() - start < 1


def test_a_pipe_does_not_block(make, header: str) -> None:
    hunk = '[[hunk]]\nid = "a"\nfile = "a.py"\nplace = "last"\nbody = "pipe"\n'
    patchset = make(header + hunk)
    os.mkfifo(patchset / "x/pipe")
    with pytest.raises(PatchsetError, match="`pipe` is not a regular file"):
        load_series(patchset)


def test_a_file_without_read_permission(make) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    patchset = make()
    (patchset / "x/patch.toml").chmod(0)
    with pytest.raises(PatchsetError, match="cannot be read: permission denied"):
        load_series(patchset)


def test_messages_carry_no_terminal_escapes(make, header: str) -> None:
    text = header + '"a\\u001b[2Jb" = 1\n"\\u202egnp" = 2\n[[hunk]]\nid = "\\u001b[31m"\nplace = "\\u0007"\n'
    with pytest.raises(PatchsetError) as caught:
        load_patch(make(text) / "x")
    assert not any(char in str(caught.value) for char in "\x1b\x07\u202e")


def test_a_pattern_that_is_a_tower(make, header: str, hunk: str, tmp_path: Path) -> None:
    tower = hunk.replace("return $X", "(" * 1500 + ")" * 1500)
    with pytest.raises(PatchsetError, match="is not Python"):
        load_patch(make(header + tower) / "x")
