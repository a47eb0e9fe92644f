"""Reading, comparing and writing in the store."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rebasekit.errors import StateError, UpstreamError, UsageError
from rebasekit.model.hunk import UpstreamSource
from rebasekit.model.tag import Tag
from rebasekit.upstream.cache import cache_dir
from rebasekit.upstream.series import SeriesCommit
from rebasekit.upstream.store import Store

Put = Callable[..., Tag]
Git = Callable[..., str]
V1, V2 = Tag("v1.0"), Tag("v1.10")
BODY = b"".join(b"line %d\n" % n for n in range(30))
ONE = {
    "demo/a.py": b"def one():\n    return Radix(1)\n",
    "demo/old.py": BODY,
    "demo/crlf.py": b"a\r\nb\r\n",
    "x.txt": b"Radix(",
}
TWO = {"demo/a.py": b"def one():\n    return 2\n", "demo/new.py": BODY + b"more\n", "demo/crlf.py": b"a\r\nb\r\n"}


@pytest.fixture
def both(put: Put) -> tuple[Tag, Tag]:
    return put("1.0", ONE), put("1.10", TWO)


def test_cache_dir(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_dir() == tmp_path / ".cache" / "rebasekit"
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert cache_dir() == Path("/x/rebasekit")
    monkeypatch.setenv("REBASEKIT_CACHE", "~/own")
    assert cache_dir() == tmp_path / "own"


def test_ids_are_the_same_on_every_machine_and_in_every_order(tmp_path: Path, make_wheel: Callable[..., Path]) -> None:
    ids = []
    for number, order in enumerate([("1.0", "1.10", "1.9"), ("1.9", "1.10", "1.0")]):
        with Store.open(tmp_path / f"cache{number}", UpstreamSource("pypi", package="demo")) as store:
            for version in order:
                make_wheel(store.root / "wheels", version, {"demo/a.py": version.encode()})
                store.ensure(Tag.parse(version))
            assert [tag.name for tag in store.tags()] == ["v1.0", "v1.9", "v1.10"]
            ids.append([store.commit(tag) for tag in store.tags()] + [store.commit("releases")])
    assert ids[0] == ids[1]


def test_history_is_one_line_in_version_order(demo: Store, put: Put, git: Git) -> None:
    for version in ("1.10", "1.0", "1.9"):
        put(version, {"demo/a.py": version.encode()})
    assert git(demo.git_dir, "log", "--format=%s").split() == ["v1.10", "v1.9", "v1.0"]
    for tag in demo.tags():
        assert git(demo.git_dir, "rev-list", "--count", tag.name).strip() == "1"
    assert git(demo.git_dir, "show", "releases~1:demo/a.py") == "1.9"


def test_reading(demo: Store, both: tuple[Tag, Tag]) -> None:
    files = demo.files(V1)
    assert set(files) == set(ONE)
    assert dict(demo.read_many(files.values())) == {files[path]: content for path, content in ONE.items()}
    assert demo.read(V1, "demo/crlf.py") == b"a\r\nb\r\n" and demo.read("v1.0", "demo/none.py") is None
    assert demo.read(demo.commit(V1), "x.txt") == b"Radix("
    with pytest.raises(UpstreamError, match="not in the store"):
        demo.files(Tag("v3"))
    for name in ("-x", "a b", "x\ny", "v1.0:demo/a.py", "v1.0..v1.10", "@{u}", ""):
        with pytest.raises(UsageError):
            demo.commit(name)
    with pytest.raises(StateError):
        demo.commit("nothing")


def test_reading_works_in_a_forked_child_too(demo: Store, both: tuple[Tag, Tag]) -> None:
    demo.read(V1, "demo/a.py")
    child = os.fork()
    if child == 0:
        os._exit(0 if all(demo.read(V1, path) == content for path, content in ONE.items()) else 1)
    for _ in range(50):
        assert demo.read(V2, "demo/a.py") == TWO["demo/a.py"]
    assert os.waitpid(child, 0)[1] == 0
    assert demo.read(V1, "demo/a.py") == ONE["demo/a.py"]


def test_close_ends_the_processes(demo: Store, both: tuple[Tag, Tag]) -> None:
    demo.read(V1, "demo/a.py")
    process = demo.objects._contents._process
    assert process is not None and process.poll() is None
    demo.close()
    assert process.poll() is not None
    assert demo.read(V1, "demo/a.py") == ONE["demo/a.py"]


def test_grep(demo: Store, both: tuple[Tag, Tag]) -> None:
    assert demo.grep(V1, "Radix(") == [("demo/a.py", 2)]
    assert demo.grep(V1, "Radix(", suffix="") == [("demo/a.py", 2), ("x.txt", 1)]
    assert demo.grep(V1, r"^def [a-z]+\(", fixed=False) == [("demo/a.py", 1)]
    assert demo.grep(V1, "--help") == [] and demo.grep(V1, "absent") == []
    with pytest.raises(UsageError):
        demo.grep(V1, "a(", fixed=False)
    with pytest.raises(UsageError):
        demo.grep(V1, "a\nb")


def test_comparing(demo: Store, both: tuple[Tag, Tag]) -> None:
    assert demo.numstat(V1, V2, ["demo/a.py", "demo/crlf.py"]) == {"demo/a.py": (1, 1)}
    assert demo.numstat(V1, V2)["demo/old.py"] == (0, 30) and demo.numstat(V1, V2, []) == {}
    assert demo.numstat(V1, V2, ["demo/*.py"]) == {}
    assert demo.renames(V1, V2) == {"demo/old.py": "demo/new.py"}
    assert demo.rename_scores(V1, V2)["demo/old.py"][1] > 90
    assert "-    return Radix(1)\n+    return 2\n" in demo.diff_text(V1, V2, "demo/a.py")
    assert demo.diff_text(V1, V2, "demo/crlf.py") == ""
    assert "+more\n" in demo.diff_text(V1, V2, "demo/old.py", "demo/new.py")


def series() -> list[SeriesCommit]:
    return [
        SeriesCommit("first", "first: add\n\nWhy.\n", {"demo/add.py": b"x\n", "demo/a.py": b"changed\r\n"}),
        SeriesCommit(
            "second", "", {"demo/old.py": None, "run.sh": b"#!\n", 'odd "\u00fc".py': b"1"}, {"run.sh": "100755"}
        ),
        SeriesCommit("empty"),
    ]


def test_series_becomes_commits(demo: Store, both: tuple[Tag, Tag], git: Git) -> None:
    tip = demo.commit_series(V1, series(), "series/x")
    assert demo.commit_series(V1, series(), "series/x") == tip, "the same arguments, the same ids"
    assert git(demo.git_dir, "log", "--format=%s", "series/x").split("\n")[:4] == [
        "empty",
        "second",
        "first: add",
        "demo 1.0",
    ]
    assert set(demo.files("series/x")) == {*ONE, "demo/add.py", "run.sh", 'odd "\u00fc".py'} - {"demo/old.py"}
    assert demo.modes("series/x")["run.sh"] == "100755" and demo.read("series/x", "demo/a.py") == b"changed\r\n"
    other = demo.commit_series(V1, series()[:1], "series/x", author="A B <a@b>", date="1700000000 +0100")
    assert git(demo.git_dir, "log", "-1", "--format=%an %ae %at %s", other).strip() == "A B a@b 1700000000 first: add"
    assert demo.commit_series(V1, [], "series/none") == demo.commit(V1)
    assert demo.verify() == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"../x": b""}, "cannot write"),
        ({".git/config": b""}, "cannot write"),
        ({"demo/none.py": None}, "not there"),
        ({"demo": b""}, "one name"),
        ({"demo/a.py/b": b""}, "one name"),
    ],
)
def test_series_that_cannot_be_written_changes_nothing(
    changes: dict[str, bytes | None], told: str, demo: Store, both: tuple[Tag, Tag]
) -> None:
    tip = demo.commit_series(V1, series(), "b")
    with pytest.raises(StateError, match=told):
        demo.commit_series(V1, [*series(), SeriesCommit("bad", "", changes)], "b")
    assert demo.commit("b") == tip


@pytest.mark.parametrize("name", ["-x", "a..b", "releases", "a/", "a.lock", "a b", "", ".hidden", "a/.b", "a~1", "@"])
def test_branch_names(name: str, demo: Store, both: tuple[Tag, Tag]) -> None:
    with pytest.raises(UsageError):
        demo.commit_series(V1, series(), name)


def test_exports_apply_to_the_wheel(demo: Store, both: tuple[Tag, Tag], git: Git, tmp_path: Path) -> None:
    demo.commit_series(V1, series()[:2], "b")
    for name in ("am", "diff"):
        demo.checkout(V1, tmp_path / name)
        git(tmp_path / name, "init", "-q")
        git(tmp_path / name, "add", "-A")
        git(tmp_path / name, "commit", "-qm", "base")
    patches = demo.export_patches(V1, "b", tmp_path / "out" / "patches")
    assert [p.name for p in patches] == ["0001-first-add.patch", "0002-second.patch"]
    git(tmp_path / "am", "am", "-q", "--keep-cr", *map(str, patches))
    git(tmp_path / "diff", "apply", "--index", "-", data=demo.export_diff(V1, "b"))
    wanted = git(demo.git_dir, "rev-parse", "b^{tree}").strip()
    assert git(tmp_path / "am", "rev-parse", "HEAD^{tree}").strip() == wanted
    assert git(tmp_path / "diff", "write-tree").strip() == wanted


def test_checkout_is_exact_and_all_or_nothing(
    demo: Store, put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {**ONE, ".gitattributes": b"* text eol=crlf ident\n*.py filter=evil\n", "id.txt": b"$Id$\n", "b/run": b"#!"}
    tag = put("3.0", files, executable=("b/run",))
    target = tmp_path / "out"
    demo.checkout(tag, target)
    assert {str(p.relative_to(target)): p.read_bytes() for p in target.rglob("*") if p.is_file()} == files
    assert os.access(target / "b/run", os.X_OK) and not os.access(target / "x.txt", os.X_OK)
    with pytest.raises(StateError, match="not empty"):
        demo.checkout(tag, target)
    (tmp_path / "empty").mkdir()
    demo.checkout(tag, tmp_path / "empty", ["x.txt"])
    assert [p.name for p in (tmp_path / "empty").iterdir()] == ["x.txt"]
    with pytest.raises(StateError, match="not in the revision"):
        demo.checkout(tag, tmp_path / "other", ["none"])
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StateError):
        demo.checkout(tag, tmp_path / "link")
    monkeypatch.setattr(demo.objects, "read_many", lambda ids: iter(()))
    with pytest.raises(ValueError, match="zip"):
        demo.checkout(tag, tmp_path / "other")
    assert {p.name for p in tmp_path.iterdir()} == {"cache", "out", "empty", "link"}


def test_clone_stands_alone_inside_somebody_elses_repository(
    demo: Store, put: Put, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """cases.md 11: the target lies in another checkout, and the shell exports that one's GIT_DIR."""
    tag = put("1.0", {**ONE, ".gitattributes": b"* text eol=crlf\n"})
    tip = demo.commit_series(tag, series(), "series/x")
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    (outer / "a.py").write_text("theirs\n")
    git(outer, "add", "-A")
    git(outer, "commit", "-qm", "theirs")
    before = git(outer, "rev-parse", "HEAD")
    for name, value in {
        "GIT_DIR": outer / ".git",
        "GIT_WORK_TREE": outer,
        "GIT_INDEX_FILE": outer / ".git/index",
    }.items():
        monkeypatch.setenv(name, str(value))
    demo.clone_for_editing("series/x", outer / "edit", tag)
    demo.checkout(tag, outer / "plain")
    clone = outer / "edit"
    assert git(clone, "rev-parse", "HEAD", "v1.0").split() == [tip, demo.commit(tag)]
    assert git(clone, "status", "--porcelain") == "" and (clone / "demo/crlf.py").read_bytes() == b"a\r\nb\r\n"
    assert git(clone, "symbolic-ref", "HEAD").strip() == "refs/heads/series/x"
    assert git(clone, "remote") == "" and not (clone / ".git/objects/info/alternates").exists()
    assert git(outer, "rev-parse", "HEAD") == before
    assert git(outer, "status", "--porcelain").split() == ["??", "edit/", "??", "plain/"]
    with pytest.raises(StateError, match="not empty"):
        demo.clone_for_editing("series/x", clone)
    demo.git_dir.rename(tmp_path / "moved")
    assert git(clone, "fsck") == ""


def test_hooks_and_settings_of_the_user_do_not_run(
    demo: Store, put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "ran"
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("reference-transaction", "post-checkout", "pre-commit", "post-index-change"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {mark}\n")
        (hooks / name).chmod(0o755)
    (tmp_path / "config").write_text(
        f"[core]\n\thooksPath = {hooks}\n\tfsmonitor = touch {mark}\n\tautocrlf = true\n"
        f"[diff]\n\texternal = touch {mark}\n[format]\n\tsignOff = true\n\tattach = yes\n[grep]\n\tpatternType = perl\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", f"touch {mark}")
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(tmp_path))
    tag = put("1.0", ONE)
    demo.commit_series(tag, series(), "b")
    demo.clone_for_editing("b", tmp_path / "edit", tag)
    assert b"Signed-off" not in demo.export_patches(tag, "b", tmp_path / "p")[0].read_bytes()
    demo.diff_text(tag, "b", "demo/a.py")
    assert demo.read("b", "demo/crlf.py") == (tmp_path / "edit/demo/crlf.py").read_bytes()
    assert not mark.exists()


def test_half_made_or_broken_repository_is_made_anew_from_kept_wheels(demo: Store, put: Put, tmp_path: Path) -> None:
    tag = put("1.0", ONE)
    demo.close()
    for broken in ("HEAD", "config"):
        (demo.git_dir / broken).write_text("")
        with Store.open(tmp_path / "cache", demo.source) as store:
            assert store.tags() == []
            store.ensure(tag)
            assert store.read(tag, "x.txt") == b"Radix("


def test_damage_is_reported_with_the_way_out(demo: Store, put: Put, tmp_path: Path) -> None:
    tag = put("1.0", ONE)
    demo.close()
    pack = next((demo.git_dir / "objects/pack").glob("*.pack"))
    pack.chmod(0o600)
    data = bytearray(pack.read_bytes())
    data[12 : len(data) - 20] = bytes(len(data) - 32)
    pack.write_bytes(data)
    with Store.open(tmp_path / "cache", demo.source) as store:
        assert store.verify() != []
        with pytest.raises((StateError, UpstreamError)) as error:
            for path in ONE:
                store.read(tag, path)
        assert error.value.hint


def test_empty_ref_after_a_crash_is_written_again(demo: Store, put: Put, tmp_path: Path) -> None:
    tag = put("1.0", ONE)
    (demo.git_dir / "refs/tags/v1.0").write_text("")
    assert demo.tags() == []
    demo.ensure(tag)
    assert demo.tags() == [tag]


def test_newer_format_is_refused(demo: Store, put: Put, tmp_path: Path) -> None:
    (demo.root / "source.json").write_text('{"format": 2}')
    with pytest.raises(StateError, match="newer rebasekit"):
        Store.open(tmp_path / "cache", demo.source)


def test_read_only_cache(demo: Store, put: Put, tmp_path: Path) -> None:
    tag = put("1.0", ONE)
    demo.close()
    if subprocess.run(["mount", "--bind", tmp_path / "cache", tmp_path / "cache"], capture_output=True).returncode:
        pytest.skip("needs the right to mount")
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", tmp_path / "cache"], check=True)
        with Store.open(tmp_path / "cache", demo.source) as store:
            store.ensure(tag)
            assert store.read(tag, "x.txt") == b"Radix(" and store.tags() == [tag]
            with pytest.raises(StateError, match="cannot be written"):
                store.ensure(V2)
        with pytest.raises(StateError, match="cannot be written"):
            Store.open(tmp_path / "cache", UpstreamSource("pypi", package="other"))
    finally:
        subprocess.run(["umount", tmp_path / "cache"], check=True)
