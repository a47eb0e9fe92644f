"""survive on real releases: what moved is named with its new place, and code that upstream left alone is left alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from releases import facts_of, release_cache

from rebasekit.checks.survive import Sight, UsedHunk, survive
from rebasekit.model.tag import Tag
from rebasekit.steps.rebase import carry
from rebasekit.steps.workspace import Workspace
from rebasekit.upstream.store import Store

ROOT = Path(__file__).resolve().parents[2]
OURS = "sglang/srt/mem_cache/ours.py"
pytestmark = pytest.mark.release

# Attributes that left Req for ReqKvInfo in v0.5.19, read from the two sources by hand.
MOVED = [
    "kv_committed_len",
    "retraction_backup",
    "swa_evict_floor",
    "req_pool_idx",
    "mamba_pool_idx",
    "mamba_ping_pong_track_buffer",
    "mamba_next_track_idx",
    "mamba_last_track_idx",
    "mamba_last_track_seqlen",
    "mamba_cow_src_index",
    "mamba_needs_clear",
    "cache_protected_len",
]


def ours(text: str) -> Sight:
    return Sight(OURS, tuple(range(1, text.count("\n") + 2)), text.encode())


def test_the_twelve_attributes_of_req(release_store: Store, need_release: Callable[..., list[Tag]]) -> None:
    old, new = need_release("v0.5.18", "v0.5.19")
    lines = "".join(f"    print(req.{name})\n" for name in MOVED)
    text = f"from sglang.srt.managers.schedule_batch import Req\ndef f(req: Req):\n{lines}    return req.rid\n"
    sight = ours(text)
    changes = {OURS: sight.source}
    hunk = UsedHunk("p", "h", sight, sight)
    found = survive([hunk], facts_of(release_store, old, changes), facts_of(release_store, new, changes), tag=new.name)
    assert [f.kind for f in found.findings] == ["api-moved"] * 12
    assert [f.message for f in found.findings] == [
        f"`Req.{name}` is `Req.kv.{name}` (`ReqKvInfo`) in v0.5.19" for name in MOVED
    ]


def test_an_override_whose_base_grew_and_a_module_that_moved(
    release_store: Store, need_release: Callable[..., list[Tag]]
) -> None:
    """Case 21, and the file that v0.5.20 renamed."""
    old, new = need_release("v0.5.19", "v0.5.20")
    sight = ours(
        "from sglang.srt.mem_cache.allocator.base import BaseTokenToKVPoolAllocator\n"
        "from sglang.srt.mem_cache.unified_cache.components.mamba_component import MambaComponent\n"
        "class Ours(BaseTokenToKVPoolAllocator):\n"
        "    def check_decode_capacity(self, *, num_tokens: int, tree_cache) -> bool:\n"
        "        return True\n"
    )
    changes = {OURS: sight.source}
    hunk = UsedHunk("p", "h", sight, sight)
    found = survive([hunk], facts_of(release_store, old, changes), facts_of(release_store, new, changes), tag=new.name)
    assert [(f.kind, f.line) for f in found.findings] == [("api-moved", 2), ("signature-changed", 4)]
    assert "components.mamba.MambaComponent` in v0.5.20" in found.findings[0].message
    assert "it has `requests`, which ours does not take; it has `spec_algorithm`" in found.findings[1].message


def test_code_that_works_on_both_releases_has_no_findings(
    release_store: Store, need_release: Callable[..., list[Tag]]
) -> None:
    """Every file that v0.5.20 left as it was, taken as if it were ours: what it uses is all still there."""
    old, new = need_release("v0.5.19", "v0.5.20")
    before, after = release_store.files(old), release_store.files(new)
    same = [p for p in before if after.get(p) == before[p] and p.endswith(".py") and "sglang/srt/mem_cache/" in p]
    hunks = []
    for path in same:
        data = release_store.read(old, path)
        assert data is not None
        sight = Sight(path, tuple(range(1, data.count(b"\n") + 2)), data)
        hunks.append(UsedHunk("upstream", path, sight, sight))
    found = survive(hunks, facts_of(release_store, old), facts_of(release_store, new), tag=new.name)
    assert [(f.file, f.message) for f in found.findings] == []
    assert found.checked > 1000


def test_the_series(release_store: Store, need_release: Callable[..., list[Tag]]) -> None:
    """Our own patches on v0.5.20: everything that they use survived, and most uses could be judged."""
    need_release("v0.5.19", "v0.5.20")
    space = Workspace(root=ROOT, cache=release_cache())
    only = ["checkpoint-pool"]  # kernels call what their language makes at run time: nobody can judge that
    old, new = (carry(space, Tag.parse(name), only=only).verdict for name in ("v0.5.19", "v0.5.20"))

    def sight(placements: dict[str, tuple[str, tuple[int, ...]]], tree: Mapping[str, bytes | None], name: str) -> Sight:
        file, lines = placements[name]
        data = tree[file]
        assert data is not None
        return Sight(file, lines, data)

    one, other = ({p.name: (p.file, p.lines) for p in v.placements if p.lines} for v in (old, new))
    forms = {p.name: p.form for p in old.placements}
    hunks = []
    for name in sorted(one.keys() & other.keys()):
        form = forms[name]
        patch, _, hunk = name.partition("/")
        uses = form.uses if form else ()
        hunks.append(UsedHunk(patch, hunk, sight(one, old.tree, name), sight(other, new.tree, name), uses))
    before, after = facts_of(space.store, old.tag, old.tree), facts_of(space.store, new.tag, new.tree)
    found = survive(hunks, before, after, tag="v0.5.20")
    assert [f.message for f in found.findings] == []
    assert found.checked > 3 * found.unresolved
