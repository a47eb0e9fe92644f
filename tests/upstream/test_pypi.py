"""The index through pip itself, on a local index of files."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rebasekit.errors import UpstreamError
from rebasekit.model.tag import Tag
from rebasekit.upstream import pip
from rebasekit.upstream.nearest import nearest
from rebasekit.upstream.store import Store

Make = Callable[..., Path]
V1, V2 = Tag("v1.0"), Tag("v2.0")
A = {"demo/a.py": b"a = 1\n"}


def test_fetch_keeps_the_wheel_and_needs_no_index_again(demo, index, make_wheel, tmp_path, seen, monkeypatch) -> None:
    index.add(make_wheel(tmp_path / "w", "1.0", A))
    demo.ensure(V1, seen)
    assert demo.read(V1, "demo/a.py") == b"a = 1\n"
    assert demo.wheel(V1).name == "demo-1.0-py3-none-any.whl"
    assert ("store demo 1.0", 6, "bytes") in seen.tasks and seen.done["store demo 1.0"] == 6
    monkeypatch.setattr(pip, "run", lambda *a, **k: pytest.fail("pip ran"))
    demo.ensure(V1)
    assert demo.tags() == [V1]


def test_removed_wheel_is_fetched_again(demo, index, make_wheel, tmp_path) -> None:
    index.add(make_wheel(tmp_path / "w", "1.0", A))
    demo.ensure(V1)
    demo.wheel(V1).unlink()
    assert demo.wheel(V1).is_file()


def test_bar_of_bytes_while_a_wheel_comes_in(demo, tmp_path, seen) -> None:
    """pip's own words and temporary files, from a stand-in: a local index has no download to watch."""
    code = (
        "import os, time, pathlib; print('  Downloading https://x/demo-1.0-py3-none-any.whl (2.0 MB)', flush=True)\n"
        "file = pathlib.Path(os.environ['TMPDIR'], 'demo-1.0-py3-none-any.whl')\n"
        "for n in range(4): file.write_bytes(bytes(500_000 * (n + 1))); time.sleep(0.15)\n"
    )
    import subprocess

    (tmp_path / "pip").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, env={"TMPDIR": str(tmp_path / "pip")}
    )
    pip._follow(process, tmp_path / "pip", seen, "fetch demo 1.0")
    process.wait()
    assert seen.tasks == [("fetch demo 1.0", 2_000_000, "bytes")] and seen.done["fetch demo 1.0"] == 2_000_000


def test_wrong_hash_in_the_index(demo, index, make_wheel, tmp_path) -> None:
    index.add(make_wheel(tmp_path / "w", "1.0", A), sha256="0" * 64)
    with pytest.raises(UpstreamError, match="hash differs"):
        demo.ensure(V1)
    assert demo.tags() == [] and not list((demo.root / "tmp").iterdir())


def test_wheel_cut_short_in_the_index(demo, index, make_wheel, tmp_path) -> None:
    wheel = make_wheel(tmp_path / "w", "1.0", {"demo/a.py": b"a = 1\n" * 5000})
    wheel.write_bytes(wheel.read_bytes()[:-200])
    index.add(wheel)
    with pytest.raises(UpstreamError):
        demo.ensure(V1)
    assert demo.tags() == [] and not (demo.root / "wheels").exists()


def test_yanked_release_is_not_listed_and_comes_with_a_note(demo, index, make_wheel, tmp_path, seen) -> None:
    index.add(make_wheel(tmp_path / "w", "1.0", A))
    index.add(make_wheel(tmp_path / "w", "2.0", A), yanked="breaks the cache")
    index.add(make_wheel(tmp_path / "w", "3.0rc1", A))
    index.add(make_wheel(tmp_path / "w", "1.5", A, tags="cp27-cp27m-win32"))
    assert demo.available(seen) == [V1, Tag("v1.5")]
    assert demo.available(seen, pre=True) == [V1, Tag("v1.5"), Tag("v3.0rc1")]
    demo.ensure(V2, seen)
    assert any("yanked" in note and "breaks the cache" in note for note in seen.notes)
    assert demo.tags() == [V2]


def test_listing_outlives_pip_index(demo, index, make_wheel, tmp_path, seen, monkeypatch) -> None:
    """`pip index versions` is experimental: without it, the error of an impossible download lists the versions."""
    index.add(make_wheel(tmp_path / "w", "1.0", A))
    real = pip.run

    def without_index(args, *rest):
        return pip.PipRun(1, 'ERROR: unknown command "index"') if args[0] == "index" else real(args, *rest)

    monkeypatch.setattr(pip, "run", without_index)
    assert demo.available(seen) == [V1]


def test_wheel_for_another_platform_is_read_with_a_note(demo, index, make_wheel, tmp_path, seen) -> None:
    for tags in ("cp310-cp310-manylinux_2_99_aarch64", "cp310-cp310-manylinux_2_99_x86_64"):
        index.add(make_wheel(tmp_path / "w", "1.0", A, tags=tags))
    demo.ensure(V1, seen)
    assert "x86_64" in demo.wheel(V1).name
    assert any("no wheel for this Python" in note for note in seen.notes)


def test_unknown_tag_names_the_nearest(demo, index, make_wheel, tmp_path) -> None:
    for version in ("1.0", "1.1", "1.2", "2.0"):
        index.add(make_wheel(tmp_path / "w", version, A))
    with pytest.raises(UpstreamError, match=r"no release `v1\.3`; the nearest are `v1\.1`, `v1\.2`, `v2\.0`") as error:
        demo.ensure(Tag("v1.3"))
    assert error.value.hint


def test_unknown_package(demo, index, make_wheel, tmp_path) -> None:
    index.add(make_wheel(tmp_path / "w", "1.0", A, package="other"))
    with pytest.raises(UpstreamError):
        demo.ensure(V1)
    with pytest.raises(UpstreamError, match="no wheels of `demo`"):
        demo.available()


def test_no_network(demo, put, monkeypatch, seen) -> None:
    put("1.0", A)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    demo.ensure(V1)
    with pytest.raises(UpstreamError, match=r"no answer from the package index.*stored releases: `v1\.0`"):
        demo.ensure(V2, seen)
    assert any("does not answer" in note for note in seen.notes)
    with pytest.raises(UpstreamError, match="no answer"):
        demo.available()


def test_no_pip(demo, index, monkeypatch, tmp_path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f"#!/bin/sh\necho '{bare}: No module named pip' >&2; exit 1\n")
    bare.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(bare))
    with pytest.raises(UpstreamError, match="has no pip") as error:
        demo.ensure(V1)
    assert error.value.hint == f"{bare} -m ensurepip"


def test_nothing_in_a_wheel_or_the_directory_is_run(demo, index, make_wheel, tmp_path, monkeypatch) -> None:
    mark = tmp_path / "ran"
    evil = f"open({str(mark)!r}, 'w')\n".encode()
    names = ("setup.py", "evil.pth", "conftest.py", "sitecustomize.py", "demo/__init__.py", "pip.py", ".gitattributes")
    index.add(make_wheel(tmp_path / "w", "1.0", dict.fromkeys(names, b"import os; " + evil)))
    here = tmp_path / "here"
    for name in ("pip/__init__.py", "pip/__main__.py", "git/__init__.py", "sitecustomize.py"):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_bytes(evil)
    monkeypatch.chdir(here)
    demo.ensure(V1)
    demo.checkout(V1, tmp_path / "out")
    assert set(demo.files(V1)) == set(names) and not mark.exists()


def test_nearest() -> None:
    tags = [Tag(f"v{n}") for n in (1, 2, 3, 4)]
    assert nearest(Tag("v9"), tags) == tags[1:]
    assert nearest(Tag("v0"), tags) == tags[:3]
    assert nearest(Tag("v2.5"), tags) == tags[:3]
    assert nearest(Tag("v1.5"), []) == []
    assert nearest(Tag("v2.0"), [Tag("v1.0.0"), Tag("v2.0.0"), Tag("v3.0.0")]) == [Tag("v2.0.0")]


def test_store_type(demo: Store) -> None:
    assert demo.source.package == "demo"
