"""`export`: files that `git am`, quilt and `git apply` take."""

from __future__ import annotations

import subprocess

import pytest
from harness import patch_toml, series

UPSTREAM = {
    "pkg/a.py": "A = 1\nB = 2\nC = 3\n",
    "pkg/crlf.py": b"D = 1\r\nE = 2\r\n",
    "pkg/noeol.txt": b"x\ny",
    "pkg/old.py": "O = 1\n",
}
ONE = patch_toml(
    'id = "a"\nfile = "pkg/a.py"\nplace = "after"\nat = "A = 1"\nlines = "A += 1  # é"',
    'id = "crlf"\nfile = "pkg/crlf.py"\nplace = "after"\nat = "D = 1"\nlines = "D += 1"',
    'id = "gone"\nfile = "pkg/old.py"\nplace = "delete"',
    title="Größe: the first",
    origin="https://example.invalid/1",
)
TWO = patch_toml(
    'id = "b"\nfile = "pkg/a.py"\nplace = "after"\nat = "B = 2"\nlines = "B += 1"',
    'id = "text"\nfile = "pkg/noeol.txt"\nplace = "text"\nlines = "@@ 2,1 @@\\n+z\\n\\\\ no line end\\n"',
    'id = "new"\nfile = "pkg/new.py"\nplace = "new-file"\nmode = "executable"\nlines = "#!x\\n"',
    title="the second",
)
THREE = patch_toml('id = "c"\nfile = "pkg/a.py"\nplace = "after"\nat = "C = 3"\nlines = "C += 1"', depends="@")
PATCHED = {
    "pkg/a.py": "A = 1\nA += 1  # é\nB = 2\nB += 1\nC = 3\nC += 1\n".encode(),
    "pkg/crlf.py": b"D = 1\r\nD += 1\r\nE = 2\r\n",
    "pkg/new.py": b"#!x\n",
    "pkg/noeol.txt": b"x\nz",
}


@pytest.fixture
def case(flow):
    files = {
        "series.toml": series("v1.0.0", patches=["one", "two", "three"]),
        "one/patch.toml": ONE,
        "two/patch.toml": TWO,
        "three/patch.toml": THREE.replace('"@"', '["one"]'),
    }
    return flow(UPSTREAM, files)


def test_git_am(case, tree):
    names = case.ok("export", "--tag", "v1.0.0", "--to", "out").split()
    assert names == [
        f"out/{n}" for n in ("0001-Gr-e-the-first.patch", "0002-the-second.patch", "0003-a-test-patch.patch", "series")
    ]
    folder = case.checkout("v1.0.0")
    patches = [str(case.project / name) for name in names[:-1]]
    subprocess.run(["git", "am", "-q", "--keep-cr", *patches], cwd=folder, env=case.env, check=True)
    assert tree(folder) == PATCHED
    log = subprocess.check_output(["git", "log", "-3", "--format=%s%n%b"], cwd=folder, env=case.env, text=True)
    assert "Größe: the first" in log and "Origin: https://example.invalid/1" in log and "the test needs it" in log
    modes = subprocess.check_output(["git", "ls-files", "-s", "pkg/new.py"], cwd=folder, env=case.env, text=True)
    assert modes.startswith("100755")


def test_quilt(case, tree):
    """What quilt does: `patch -p1` for each line of `series`, in order, without fuzz."""
    case.ok("export", "--tag", "v1.0.0", "--to", "out")
    folder = case.unpacked()
    for name in (case.project / "out/series").read_text().split():
        with (case.project / "out" / name).open("rb") as handle:
            subprocess.run(["patch", "-p1", "-s", "--binary", "-F0", "-E"], cwd=folder, stdin=handle, check=True)
    assert tree(folder) == PATCHED


def test_one_diff(case):
    assert case.exported() == PATCHED
    assert case.ok("export", "--tag", "v1.0.0", "--diff") == case.ok("export", "--tag", "v1.0.0", "--diff")


def test_only(case):
    case.ok("export", "--tag", "v1.0.0", "--to", "out", "--only", "three")
    assert len((case.project / "out/series").read_text().split()) == 2, "with what it depends on"
    assert b"C += 1" in case.exported("v1.0.0", "--only", "three")["pkg/a.py"]
    assert case.exported("v1.0.0", "--only", "two")["pkg/crlf.py"] == UPSTREAM["pkg/crlf.py"]
    assert "no patch `x`" in case.refused("export", "--tag", "v1.0.0", "--diff", "--only", "x")


def test_again_and_over_others(case):
    case.ok("export", "--tag", "v1.0.0", "--to", "out")
    before = case.snapshot()
    case.ok("export", "--tag", "v1.0.0", "--to", "out")
    assert case.snapshot() == before
    case.ok("export", "--tag", "v1.0.0", "--to", "out", "--only", "two")
    assert {p.name for p in (case.project / "out").iterdir()} == {"0001-the-second.patch", "series"}
    case.write({"mine/series": "my-own.patch\n", "mine/my-own.patch": "x"})
    assert "`mine/series` exists" in case.refused("export", "--tag", "v1.0.0", "--to", "mine")
    case.write({"file": "x"})
    assert "is not a folder" in case.refused("export", "--tag", "v1.0.0", "--to", "file")


def test_a_hunk_without_a_place(flow):
    bad = patch_toml('id = "x"\nfile = "pkg/a.py"\nplace = "after"\nat = "Z = 1"\nlines = "A += 1"')
    case = flow(UPSTREAM, {"series.toml": series("v1.0.0", patches=["p"]), "p/patch.toml": bad})
    message = case.refused("export", "--tag", "v1.0.0", "--to", "out")
    assert "1 hunk has no place on v1.0.0: `p/x`" in message and "rebasekit rebase v1.0.0" in message
    assert not (case.project / "out").exists()
    assert "no place" in case.refused("export", "--tag", "v1.0.0", "--diff")
