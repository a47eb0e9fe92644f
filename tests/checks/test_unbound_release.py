"""unbound on whole releases: the real bugs, and no false report."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rebasekit.checks.unbound import RepositoryTree, compare, survey
from rebasekit.model.tag import Tag
from rebasekit.upstream.store import Store

pytestmark = pytest.mark.release

# Each one read by a person. `get_parallel` and `moe_fused_gate` are imported by name further down in the same
# function, in another branch, which makes them locals: UnboundLocalError (the second one on MUSA only).
REAL = {
    "v0.5.19": {("sglang/srt/layers/moe/topk.py", "moe_fused_gate")},
    "v0.5.20": {
        ("sglang/srt/layers/attention/minimax_sparse_backend.py", "get_parallel"),
        ("sglang/srt/layers/moe/topk.py", "moe_fused_gate"),
    },
    "v0.5.21": set(),
    "v0.5.22": set(),
    "v0.5.23": set(),
}


def test_the_files_with_most_branches(release_store: Store, need_release: Callable[..., list[Tag]]) -> None:
    """All files are the next test."""
    (tag,) = need_release("v0.5.20")
    folders = ("sglang/srt/layers/moe/topk", "sglang/srt/layers/attention/m", "sglang/srt/models/deepseek_")
    paths = [path for path in release_store.files(tag) if path.startswith(folders)]
    found = survey(RepositoryTree(release_store, tag), paths)
    assert {(one.file, one.name) for one in found} == REAL["v0.5.20"]
    assert {one.kind for one in found} <= {"unbound-before-assignment"}


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_no_false_report(name: str, release_store: Store, need_release: Callable[..., list[Tag]]) -> None:
    (tag,) = need_release(name)
    paths = [path for path in release_store.files(tag) if path.startswith("sglang/srt/")]
    found = survey(RepositoryTree(release_store, tag), paths)
    assert {(one.file, one.name) for one in found} == REAL[name]


def test_a_typo_on_self(release_store: Store, need_release: Callable[..., list[Tag]]) -> None:
    """A class of six mixins, one of them a stand-in in an `else`, whose hierarchy lies in eight files."""
    (tag,) = need_release("v0.5.23")
    path = "sglang/srt/managers/scheduler.py"
    data = release_store.read(tag, path)
    assert data is not None
    typo = data.replace(b"self.waiting_queue.append", b"self.waiting_qeue.append", 1)
    found = compare({path: typo}, RepositoryTree(release_store, tag))
    assert [(one.kind, one.name) for one in found] == [("unbound", "self.waiting_qeue")]
    assert compare({path: data + b"\nX = 1\n"}, RepositoryTree(release_store, tag)) == []
