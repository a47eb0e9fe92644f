"""SGLang's real releases."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rebasekit.model.tag import Tag
from rebasekit.upstream.store import Store

pytestmark = [pytest.mark.release, pytest.mark.slow]


def test_two_releases(release_store: Store, need_release: Callable[..., list[Tag]]) -> None:
    old, new = need_release("v0.5.19", "v0.5.20")
    files = release_store.files(old)
    assert len(files) == 4367 and sum(path.endswith(".py") for path in files) == 3510
    assert not [path for path in files if ".so" in path.rsplit("/", 1)[-1] or "dist-info" in path]
    assert all(path.startswith("sglang/") for path in files)
    assert any(path.endswith("mamba_component.py") for path in release_store.renames(old, new))
    assert release_store.grep(old, "class MambaCheckpointPool")[0][0] == "sglang/srt/mem_cache/mamba_checkpoint_pool.py"


def test_reading_is_fast(release_store: Store, need_release: Callable[..., list[Tag]]) -> None:
    (tag,) = need_release("v0.5.20")
    release_store.listings.clear()
    times = {}
    for name, work in {
        "files": lambda: release_store.files(tag),
        "read": lambda: release_store.read(tag, "sglang/srt/server_args.py"),
        "again": lambda: release_store.read(tag, "sglang/srt/server_args.py"),
        "all": lambda: sum(len(content) for _, content in release_store.read_many(release_store.files(tag).values())),
    }.items():
        start = time.perf_counter()
        work()
        times[name] = time.perf_counter() - start
    # Wide of the targets (60 ms, 5 ms): other work may share the cores.
    assert times["files"] < 0.6 and times["again"] < 0.05 and times["all"] < 10, times


def test_stored_release_needs_no_pip(
    release_store: Store, need_release: Callable[..., list[Tag]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tag,) = need_release("v0.5.19")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    release_store.ensure(tag)
    assert Path(release_store.wheel(tag)).name.startswith("sglang-0.5.19-")
