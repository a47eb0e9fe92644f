"""Two processes at once, SIGKILL at any moment, and a full disk: the store always works afterwards."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rebasekit.errors import StateError
from rebasekit.model.hunk import UpstreamSource
from rebasekit.model.tag import Tag
from rebasekit.upstream import importer
from rebasekit.upstream.lock import held
from rebasekit.upstream.series import SeriesCommit
from rebasekit.upstream.store import Store

DEMO = UpstreamSource("pypi", package="demo")
V1, V2 = Tag("v1.0"), Tag("v2.0")
FILES = {f"demo/m{n}.py": b"# %d\n" % n * 200 for n in range(400)}
SERIES = [SeriesCommit("p", "p", {f"demo/new{n}.py": b"x" * n for n in range(120)})]

ENSURE = """
import sys
from pathlib import Path
from rebasekit.model.hunk import UpstreamSource
from rebasekit.model.progress import SILENT
from rebasekit.model.tag import Tag
from rebasekit.upstream.store import Store

with Store.open(Path(sys.argv[1]), UpstreamSource("pypi", package="demo")) as store:
    store.ensure(Tag.parse(sys.argv[2]))
    assert len(store.files(Tag.parse(sys.argv[2]))) == int(sys.argv[3])
"""


def killed_after(seconds: float, work: Callable[[], None]) -> bool:
    """Run `work` in a forked child and SIGKILL it; whether it was still at work."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def litter(store: Store) -> list[str]:
    names = [p for p in store.git_dir.rglob("*") if p.name.startswith("tmp_") or p.suffix == ".lock"]
    return [str(p) for p in [*names, *(store.root / "tmp").iterdir()]]


@pytest.mark.slow
def test_kill_at_any_moment_of_ensure(tmp_path: Path, make_wheel: Callable[..., Path]) -> None:
    chance = random.Random(7)
    killed = 0
    with Store.open(tmp_path / "timing", DEMO) as store:
        make_wheel(store.root / "wheels", "1.0", FILES)
        start = time.perf_counter()
        store.ensure(V1)
        whole = time.perf_counter() - start

    def work(cache: Path) -> None:
        with Store.open(cache, DEMO) as store:
            store.ensure(V1)

    for number in range(30):
        cache = tmp_path / f"cache{number}"
        with Store.open(cache, DEMO) as store:
            make_wheel(store.root / "wheels", "1.0", FILES)
            make_wheel(store.root / "wheels", "0.9", {"demo/a.py": b"a\n"})
            store.ensure(Tag("v0.9"))
        killed += killed_after(chance.uniform(0, whole * 1.2), lambda cache=cache: work(cache))  # type: ignore[misc]
        with Store.open(cache, DEMO) as store:
            assert store.tags() in ([Tag("v0.9")], [Tag("v0.9"), V1])
            assert store.read(Tag("v0.9"), "demo/a.py") == b"a\n"
            store.ensure(V1)
            assert len(store.files(V1)) == len(FILES)
            assert {content for _, content in store.read_many(store.files(V1).values())} == set(FILES.values())
            assert store.verify() == []
        with Store.open(cache, DEMO) as store:
            assert litter(store) == []
    assert killed >= 5, "the moments have to lie within the work"


def test_kill_while_pip_works(tmp_path: Path, make_wheel: Callable[..., Path], index) -> None:
    index.add(make_wheel(tmp_path / "w", "1.0", FILES))

    def work() -> None:
        with Store.open(tmp_path / "cache", DEMO) as store:
            store.ensure(V1)

    for seconds in (0.05, 0.4, 0.7):
        killed_after(seconds, work)
    work()
    with Store.open(tmp_path / "cache", DEMO) as store:
        assert store.verify() == [] and litter(store) == []


def test_kill_at_any_moment_of_a_series(demo: Store, put: Callable[..., Tag], tmp_path: Path) -> None:
    put("1.0", FILES)
    old = demo.commit_series(V1, [SeriesCommit("old", "old", {"demo/x.py": b""})], "s")
    start = time.perf_counter()
    new = demo.commit_series(V1, SERIES, "other")
    whole = time.perf_counter() - start
    demo.close()
    chance = random.Random(3)

    def work() -> None:
        with Store.open(tmp_path / "cache", DEMO) as store:
            store.commit_series(V1, SERIES, "s")

    for _ in range(15):
        killed_after(chance.uniform(0, whole * 1.5), work)
        time.sleep(0.01)
        with Store.open(tmp_path / "cache", DEMO) as store:
            assert store.commit("s") in (old, new)
            assert store.commit_series(V1, SERIES, "s") == new
            assert store.commit_series(V1, [SeriesCommit("old", "old", {"demo/x.py": b""})], "s") == old
    assert demo.verify() == []
    assert litter(demo) == []


def test_stale_files_of_dead_processes_go(demo: Store, put: Callable[..., Tag], tmp_path: Path) -> None:
    put("1.0", {"demo/a.py": b""})
    stale = [
        "refs/tags/v1.0.lock",
        "packed-refs.lock",
        "HEAD.lock",
        "objects/pack/tmp_pack_x",
        "objects/pack/pack-1.pack",
    ]
    for name in stale:
        (demo.git_dir / name).write_text("")
    (demo.root / "tmp" / "fetch-v9" / "x").mkdir(parents=True)
    with held(demo.root / "write.lock", "works"), held(demo.root / "fetch.lock", "works"):
        Store.open(tmp_path / "cache", DEMO).close()
        assert all((demo.git_dir / name).exists() for name in stale), "somebody is at work"
        assert (demo.root / "tmp" / "fetch-v9").exists()
    Store.open(tmp_path / "cache", DEMO).close()
    assert litter(demo) == [] and not any((demo.git_dir / name).exists() for name in stale)


def test_processes_at_once(tmp_path: Path, make_wheel: Callable[..., Path]) -> None:
    wheels = tmp_path / "cache/upstream/pypi-demo/wheels"
    for version in ("1.0", "2.0"):
        make_wheel(wheels, version, FILES)
    runs = [
        subprocess.Popen([sys.executable, "-c", ENSURE, tmp_path / "cache", version, str(len(FILES))])
        for version in ("1.0", "2.0", "1.0", "2.0", "1.0")
    ]
    assert [run.wait() for run in runs] == [0] * 5
    with Store.open(tmp_path / "cache", DEMO) as store:
        assert store.tags() == [V1, V2] and store.verify() == [] and litter(store) == []


def test_who_waits_is_told_for_whom(demo: Store, make_wheel: Callable[..., Path], seen, monkeypatch) -> None:
    make_wheel(demo.root / "wheels", "1.0", {"demo/a.py": b""})
    monkeypatch.setattr("rebasekit.upstream.lock._PATIENCE", 0.1)
    taken, done = threading.Event(), threading.Event()

    def other() -> None:
        with held(demo.root / "fetch.lock", "fetches v2.0"):
            taken.set()
            done.wait(5)

    thread = threading.Thread(target=other)
    thread.start()
    taken.wait(5)
    threading.Timer(0.5, done.set).start()
    demo.ensure(V1, seen)
    thread.join()
    assert any(f"waiting for process {os.getpid()}, which fetches v2.0 since" in note for note in seen.notes)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", disk], capture_output=True)
    if mounted.returncode:
        pytest.skip("needs the right to mount")
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_full_disk_while_importing(small_disk: Path, make_wheel: Callable[..., Path]) -> None:
    with Store.open(small_disk, DEMO) as store:
        make_wheel(store.root / "wheels", "1.0", {"demo/a.py": b"a"})
        store.ensure(V1)
        make_wheel(store.root / "wheels", "2.0", {f"demo/{n}.py": os.urandom(4000) for n in range(90)})
        with pytest.raises(StateError, match=r"no space left on the disk of .*free\)") as error:
            store.ensure(V2)
        assert str(small_disk) in str(error.value) and "REBASEKIT_CACHE" in (error.value.hint or "")
        assert store.tags() == [V1] and store.verify() == [] and litter(store) == []
        with pytest.raises(StateError, match="no space left"):
            store.commit_series(V1, [SeriesCommit("p", "p", {f"x{n}": os.urandom(9000) for n in range(150)})], "b")
        next((store.root / "wheels").glob("demo-2*")).unlink()
    with Store.open(small_disk, DEMO) as store:
        assert store.read(V1, "demo/a.py") == b"a" and litter(store) == []
        assert store.commit_series(V1, [SeriesCommit("p", "p", {"x": b"y"})], "b")


def test_full_disk_while_pip_fetches(small_disk: Path, tmp_path: Path, make_wheel, index) -> None:
    index.add(make_wheel(tmp_path / "w", "1.0", {f"demo/{n}.py": os.urandom(4000) for n in range(200)}))
    with Store.open(small_disk, DEMO) as store:
        with pytest.raises(StateError, match="no space left"):
            store.ensure(V1)
        assert store.tags() == [] and litter(store) == []


def test_full_disk_on_checkout(small_disk: Path, demo: Store, put: Callable[..., Tag]) -> None:
    put("1.0", {f"demo/{n}.py": os.urandom(4000) for n in range(200)})
    with pytest.raises(StateError, match="no space left"):
        demo.checkout(V1, small_disk / "out")
    assert list(small_disk.iterdir()) == []


def test_interrupted_import_leaves_nothing(demo: Store, make_wheel: Callable[..., Path], monkeypatch) -> None:
    make_wheel(demo.root / "wheels", "1.0", FILES)
    real = importer.FastImport.file

    def interrupted(self, path, *rest):
        if path.endswith("m100.py"):
            raise KeyboardInterrupt
        return real(self, path, *rest)

    monkeypatch.setattr(importer.FastImport, "file", interrupted)
    with pytest.raises(KeyboardInterrupt):
        demo.ensure(V1)
    assert demo.tags() == [] and litter(demo) == []
    monkeypatch.undo()
    demo.ensure(V1)
    assert demo.verify() == []
