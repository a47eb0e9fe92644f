"""Hostile and broken wheels: each kind is refused, and nothing of it is stored."""

from __future__ import annotations

import os
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from rebasekit.errors import StateError
from rebasekit.model.hunk import UpstreamSource
from rebasekit.model.tag import Tag
from rebasekit.upstream import paths
from rebasekit.upstream.archive import Limits, Wheel
from rebasekit.upstream.release import BrokenArchive, HostileArchive
from rebasekit.upstream.store import Store

V1 = Tag("v1.0")
Make = Callable[..., Path]


def entry(name: str, mode: int = stat.S_IFREG | 0o644, method: int = zipfile.ZIP_STORED) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("placeholder", (2024, 1, 1, 0, 0, 0))
    info.filename = info.orig_filename = name  # past zipfile's own cleaning
    info.external_attr = mode << 16
    info.compress_type = method
    return info


HOSTILE = {
    "absolute": [(entry("/etc/passwd"), b"x")],
    "parent": [(entry("demo/../../x.py"), b"x")],
    "leading-parent": [(entry("../x.py"), b"x")],
    "backslash": [(entry("demo\\..\\x.py"), b"x")],
    "drive": [(entry("C:/x.py"), b"x")],
    "git": [(entry(".git/config"), b"x")],
    "git-inside": [(entry("demo/.GIT/hooks/post-checkout"), b"x")],
    "git-short-name": [(entry("demo/git~1/config"), b"x")],
    "git-ignorable": [(entry("demo/.g\u200cit/config"), b"x")],
    "git-trailing-dot": [(entry("demo/.git. /config"), b"x")],
    "control": [(entry("demo/a\x1b[2Jb.py"), b"x")],
    "newline": [(entry("demo/a\nM 100644 inline b"), b"x")],
    "dot": [(entry("demo/./x.py"), b"x")],
    "empty-part": [(entry("demo//x.py"), b"x")],
    "link": [(entry("demo/link", stat.S_IFLNK | 0o777), b"/etc/passwd")],
    "device": [(entry("demo/null", stat.S_IFCHR | 0o666), b"")],
    "duplicate": [(entry("demo/a.py"), b"other")],
    "case-duplicate": [(entry("demo/A.py"), b"other")],
    "nfc-duplicate": [(entry("demo/\u00e9.py"), b"x"), (entry("demo/e\u0301.py"), b"y")],
    "file-and-folder": [(entry("demo/a.py/b.py"), b"x")],
    "file-and-empty-folder": [(entry("demo/A.PY/", stat.S_IFDIR | 0o755), b"")],
    "bomb": [(entry("demo/zero.txt", method=zipfile.ZIP_DEFLATED), bytes(3 << 20))],
    "method": [(entry("demo/x.bz2", method=zipfile.ZIP_BZIP2), b"x")],
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_member_is_refused_and_nothing_is_stored(kind: str, demo: Store, make_wheel: Make) -> None:
    make_wheel(demo.root / "wheels", "1.0", {"demo/a.py": b"a = 1\n"}, entries=HOSTILE[kind])
    with pytest.raises(HostileArchive, match="not safe to unpack"):
        demo.ensure(V1)
    assert demo.tags() == [] and demo.verify() == []
    assert not list((demo.root / "tmp").iterdir())


def test_encrypted_member_is_refused(tmp_path: Path, make_wheel: Make) -> None:
    path = make_wheel(tmp_path, "1.0", {"demo/a.py": b"a = 1\n"})
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(HostileArchive, match="encrypted"):
        Wheel(path, "demo", "1.0")


def test_overlapping_members_are_refused(tmp_path: Path, make_wheel: Make) -> None:
    path = make_wheel(tmp_path, "1.0", {"demo/a.py": b"a = 1\n", "demo/b.py": b"a = 1\n"})
    data = bytearray(path.read_bytes())
    first = data.index(b"PK\x01\x02")
    second = data.index(b"PK\x01\x02", first + 4)
    data[second + 42 : second + 46] = data[first + 42 : first + 46]  # both headers lead to the same bytes
    path.write_bytes(data)
    with pytest.raises(HostileArchive, match="overlaps"):
        Wheel(path, "demo", "1.0")


@pytest.mark.parametrize("limits", [Limits(files=4), Limits(file_bytes=50), Limits(total_bytes=100)])
def test_limits_hold(limits: Limits, tmp_path: Path, make_wheel: Make) -> None:
    path = make_wheel(tmp_path, "1.0", {f"demo/{n}.py": bytes(60) for n in range(3)})
    with pytest.raises(HostileArchive, match="more than"):
        Wheel(path, "demo", "1.0", limits)
    Wheel(path, "demo", "1.0").close()


def test_truncated_wheel(tmp_path: Path, make_wheel: Make) -> None:
    path = make_wheel(tmp_path, "1.0", {"demo/a.py": os.urandom(5000)})
    whole = path.read_bytes()
    for length in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(BrokenArchive, match="damaged"):
            Wheel(path, "demo", "1.0")


def test_flipped_byte_is_found_and_the_store_stays_empty(demo: Store, make_wheel: Make, index: object) -> None:
    path = make_wheel(demo.root / "wheels", "1.0", {"demo/a.py": os.urandom(5000), "demo/z.py": b"z\n"})
    data = bytearray(path.read_bytes())
    data[2000] ^= 1
    path.write_bytes(data)
    with pytest.raises(Exception, match=r"release|index|pip"):  # the bad wheel goes, and the index has no other
        demo.ensure(V1)
    assert not path.exists() and demo.tags() == [] and demo.verify() == []


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"record": {"demo/a.py": "sha256=AAAA"}}, "not the file that RECORD names"),
        ({"record": {"demo/a.py": "-"}}, "not in RECORD"),
        ({"record": {"demo/gone.py": "sha256=AAAA"}}, "not in the archive"),
        ({"record": {"demo/a.py": "md5=AAAA"}}, "no sha256"),
        ({"record": {"demo/a.py": ""}}, "no sha256"),
        ({"metadata": "Name: demo\nVersion: 2.0\n"}, "says inside"),
        ({"metadata": "Name: other\nVersion: 1.0\n"}, "says inside"),
        ({"metadata": "hello"}, "says inside"),
    ],
)
def test_wheel_that_is_not_what_it_says(how: dict[str, object], told: str, tmp_path: Path, make_wheel: Make) -> None:
    path = make_wheel(tmp_path, "1.0", {"demo/a.py": b"a = 1\n"}, **how)
    with pytest.raises(BrokenArchive, match=told):
        for member in Wheel(path, "demo", "1.0").members():
            list(member.chunks)


def test_renamed_wheel_of_another_version(tmp_path: Path, make_wheel: Make) -> None:
    path = make_wheel(tmp_path, "1.0", {"demo/a.py": b"a = 1\n"})
    other = path.rename(tmp_path / "demo-1.1-py3-none-any.whl")
    with pytest.raises(BrokenArchive, match="says inside"):
        Wheel(other, "demo", "1.1")


def test_only_sources_are_committed(put: Callable[..., Tag], demo: Store) -> None:
    files = {
        "demo/a.py": b"a = 1\n",
        "demo/core.abi3.so": b"x",
        "demo/lib.so.1.2": b"x",
        "demo/m.pyd": b"x",
        "demo/c.pyc": b"x",
        "demo/l.dylib": b"x",
        "demo/s.a": b"x",
        "demo/bin/tool": b"\x7fELFxxxx",
        "demo/bin/run": b"#!/bin/sh\n",
        "demo/cfg.json": b"{}\r\n",
        "demo-1.0.data/scripts/x": b"x",
        'demo/"odd" na\u00efve.py': b"1",
    }
    tag = put("1.0", files, executable=("demo/bin/run",))
    assert set(demo.files(tag)) == {"demo/a.py", "demo/bin/run", "demo/cfg.json", 'demo/"odd" na\u00efve.py'}
    assert demo.modes(tag)["demo/bin/run"] == "100755" and demo.modes(tag)["demo/a.py"] == "100644"
    assert demo.read(tag, "demo/cfg.json") == b"{}\r\n"
    assert demo.sizes(tag)["demo/a.py"] == 6


@pytest.mark.parametrize(
    "path", ["a.py", "a/.gitignore", "a/.github/x", "git/x", "a/-x", "a b/ü.py", "a/...", "a/.git-x"]
)
def test_paths_that_are_fine(path: str) -> None:
    assert paths.refuse(path) is None


@pytest.mark.parametrize(
    "path", ["", "a/", "/a", "a/../b", ".git", "a/.git::$INDEX_ALLOCATION/x", "a\x7fb", "x" * 5000, "\udc80"]
)
def test_paths_that_are_refused(path: str) -> None:
    assert paths.refuse(path)


def test_odd_package_name_is_refused(tmp_path: Path) -> None:
    for name in ("", "../x", "-r", "a/b"):
        with pytest.raises(Exception, match="not the name of a package"):
            Store.open(tmp_path, UpstreamSource("pypi", package=name))
    assert not issubclass(HostileArchive, StateError)
