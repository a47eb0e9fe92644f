"""defaults on real releases: the flip of v0.5.21 and whom it bypasses (case 20)."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from releases import release_cache

from rebasekit.checks.defaults import ReliedHunk, defaults
from rebasekit.facts.lazy import lazy_facts
from rebasekit.facts.query import Facts
from rebasekit.facts.settings import Settings
from rebasekit.facts.source import ListingTree, OverlayTree
from rebasekit.model.tag import Tag
from rebasekit.upstream.store import Store

NAME = "SGLANG_UNIFIED_RADIX_TREE_CORE_BACKEND"
ENTRY = f'default {NAME} == "python"'
FILE = "sglang/srt/mem_cache/unified_cache/components/mamba.py"
EVICTION = ("_evict_device_next_node", "_evict_excess_path_states", "evict_component", "drive_host_eviction")
LIVE = ("_alloc_int8_ckpt_slot", "_commit_int8_checkpoint", "_free_mamba_value", "prepare_for_caching_req")


@pytest.mark.release
def test_the_tree_core_flips_in_v0_5_21(release_store: Store, need_release: Callable[..., list[Tag]]) -> None:
    tags = need_release("v0.5.20", "v0.5.21")

    def facts_of(tag: Tag) -> Facts:
        def listing() -> dict[str, str]:
            files = release_store.files(tag)
            kept = {p: b for p, b in files.items() if p.startswith("sglang/srt/") and "/models/" not in p}
            return {**kept, **{p: b for p, b in files.items() if p.count("/") == 1}}

        tree = ListingTree(f"{release_store.commit(tag)}-launched", listing, release_store.read_many)
        settings = Settings(entries=("sglang.launch_server",))
        return lazy_facts(release_cache() / "facts", OverlayTree(tree, {}), settings)

    old, new = facts_of(tags[0]), facts_of(tags[1])
    source = release_store.read(tags[1], FILE)
    assert source is not None

    def hunk(method: str, *relies: str) -> ReliedHunk:
        match = re.search(rf"    def {method}\(".encode(), source)
        assert match is not None
        return ReliedHunk("p", method, FILE, (source.count(b"\n", 0, match.start()) + 1,), relies)

    hunks = [hunk(name, ENTRY) for name in EVICTION[:1]] + [hunk(name) for name in (*EVICTION[1:], *LIVE)]
    free = defaults(hunks, old, new, tag="v0.5.21")
    assert [f.hunk for f in free.findings if f.kind == "default-flipped"] == [EVICTION[0]]
    assert [f.hunk for f in free.findings if f.kind == "bypassed"] == list(EVICTION)
    pinned = defaults(hunks, old, new, pins={NAME: "python"}, tag="v0.5.21")
    assert (pinned.findings, [s.state for s in pinned.standings]) == ((), ["pinned"])
    before = defaults(hunks, old, old, tag="v0.5.20")
    assert (before.findings, [s.state for s in before.standings]) == ((), ["holds"])
