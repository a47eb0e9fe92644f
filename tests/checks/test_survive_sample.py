"""survive on a sample of what four releases changed, and of what they left alone, found with `ast` alone.

Each line names an API and what the next release made of it. The lines that use it are made here, from the name.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from releases import facts_of

from rebasekit.checks.survive import Sight, UsedHunk, survive
from rebasekit.model.tag import Tag
from rebasekit.upstream.store import Store

pytestmark = pytest.mark.release
SRT = "sglang.srt."
GONE, MOVED, SIGNATURE, VALUE = "api-gone", "api-moved", "signature-changed", "value-renamed"
Row = tuple[str, str, str, str]  # how it is used, its name in `sglang.srt`, the finding's kind, and what it says

# `import x`: import; `from x import y`: from; `.y` of an object of the class: of; `Class.y`: on; else a call
CHANGED: dict[tuple[str, str], list[Row]] = {
    ("v0.5.19", "v0.5.20"): [
        ("import", "mem_cache.unified_cache.components.swa_component", MOVED, "components.swa`"),
        ("import", "layers.attention.dual_chunk_flashattention_backend", GONE, ""),
        ("from", "arg_groups.parallel_hook.handle_dcp_validation", GONE, ""),
        ("from", "mem_cache.unified_cache.components.tree_component.TreeComponent", MOVED, "components.base.TreeComp"),
        ("from", "mem_cache.multi_ended_allocator.logger", MOVED, "allocator.unified_sub_pool.logger"),
        ("of", "managers.scheduler.Scheduler.enable_dynamic_chunking", GONE, ""),
        ("of", "session.streaming_session.SessionSlot.skip_lock_node_ids", GONE, ""),
        ("of", "layers.attention.dsv4.metadata.PagedIndexerMetadata.c4_page_size", GONE, ""),
        ("of", "mem_cache.unified_radix_cache.UnifiedRadixCache.plan_staged_splice", GONE, ""),
        ("on", "disaggregation.base.conn.StateType.C128_STATE", VALUE, "`DSV4_REQUEST_STATE`"),
        ("of(1)", "managers.tokenizer_manager.TokenizerManager._send_one_request", SIGNATURE, "is async"),
        ("from(1, 2, 3)", "layers.flashinfer_comm_fusion.flashinfer_allreduce_residual_rmsnorm", SIGNATURE, "fp32_acc"),
    ],
    ("v0.5.20", "v0.5.21"): [
        ("import", "distributed.parallel_state_wrapper", GONE, ""),
        ("from", "layers.k3_sp_collective.requires_symmetric_rs", MOVED, "layers.communication.k3_sp_collective"),
        ("from", "layers.communicator.ATTN_TP_CONTEXT", MOVED, "layer_boundary.adapters.attention.ATTN_TP_CONTEXT"),
        ("from", "mem_cache.swa_radix_cache.TreeNode", GONE, "radix_cache.TreeNode` was there before"),
        ("of", "mem_cache.radix_cache.TreeNode.write_through_pending_id", GONE, ""),
        ("of", "managers.cache_controller.HiCacheController.evict_device", GONE, ""),
        ("of", "server_args.ServerArgs.keep_mm_feature_on_device", GONE, "nothing in v0.5.21 has"),
        ("on", "distributed.communication_tags.P2PTag.HIRADIX_PP_SYNC", VALUE, "`HICACHE_PP_SYNC`"),
    ],
    ("v0.5.21", "v0.5.22"): [
        ("import", "compilation.weak_ref_tensor", MOVED, "runner_backend_utils.weak_ref_tensor"),
        ("from", "layers.layer_boundary.construction.StageEdges", GONE, ""),
        ("of", "speculative.dspark_components.dspark_draft_sampler.DsparkDraftSampler.greedy_mask", MOVED, ".params."),
        ("of", "mem_cache.kv_index_translator.KVIndexTranslator.full_page_multiplier", GONE, ""),
        ("of", "model_executor.model_runner.ModelRunner.tp_group", GONE, ""),
        ("on", "speculative.spec_tp_sync.SpecTpSyncSite.DSPARK_GRAPH_GREEDY", VALUE, "no member"),
        ("from(1, 2, tp_rank=0)", "layers.linear.ColumnParallelLinear", SIGNATURE, "no parameter `tp_rank`"),
        ("override(self, logits_output, sampling_info)", "layers.sampler.Sampler.forward", SIGNATURE, "logprob_logits"),
    ],
    ("v0.5.22", "v0.5.23"): [
        ("import", "layers.attention.dsv4.compress_hip", GONE, ""),
        ("from", "utils.common.RefCountedGauge", MOVED, "observability.http_request_metrics.RefCountedGauge"),
        ("of", "distributed.parallel_state.GroupCoordinator.npu_communicator", GONE, ""),
        ("of", "disaggregation.nixl.conn.NixlKVManager.check_transfer_done", GONE, ""),
        ("of", "speculative.dflash_worker_v2.DFlashWorkerV2.draft_owns_attention", GONE, "nothing in v0.5.23 has"),
        ("of", "mem_cache.storage.file.lru_file_evictor.LRUFileEvictor.configured", GONE, ""),
        (
            "of",
            "distributed.device_communicators.configs.custom_all_reduce_v2.Heuristic.max_push_bytes",
            SIGNATURE,
            "was a property and is a method",
        ),
        (
            "of(1, 2, 3, 4, 5, 6, 7, 8)",
            "disaggregation.mori.conn.MoriKVManager.add_transfer_request",
            SIGNATURE,
            "`wait_event` by name only",
        ),
    ],
}
SAME = [
    ("import", "mem_cache.memory_pool"),
    ("from", "mem_cache.radix_cache.RadixCache"),
    ("from", "mem_cache.memory_pool.MHATokenToKVPool"),
    ("from", "utils.common.is_cuda"),
    ("of", "managers.schedule_batch.Req.rid"),
    ("of", "managers.schedule_batch.Req.origin_input_ids"),
    ("of", "managers.schedule_batch.Req.finished"),
    ("of", "managers.schedule_batch.ScheduleBatch.reqs"),
    ("of", "model_executor.model_runner.ModelRunner.model_config"),
    ("of", "model_executor.forward_batch_info.ForwardBatch.batch_size"),
    ("of", "mem_cache.memory_pool.ReqToTokenPool.free_slots"),
    ("of", "mem_cache.radix_cache.TreeNode.children"),
    ("of", "server_args.ServerArgs.model_path"),
    ("on", "model_executor.forward_batch_info.ForwardMode.EXTEND"),
    ("on", "model_executor.forward_batch_info.ForwardMode.DECODE"),
    ("of()", "model_executor.forward_batch_info.ForwardMode.is_decode"),
]


def line_of(use: str, name: str) -> str:
    """A new file of ours that uses the API."""
    how, bracket, rest = use.partition("(")
    called = bracket + rest
    owner, _, last = f"{SRT}{name}".rpartition(".")
    if how == "import":
        return f"import {SRT}{name}\n"
    if how == "from":
        return f"from {owner} import {last}\n\n\ndef use():\n    return {last}{called}\n"
    module, _, cls = owner.rpartition(".")
    head = f"from {module} import {cls}\n\n\n"
    if how == "override":
        return f"{head}class Ours({cls}):\n    def {last}{called}:\n        return 0\n"
    return f"{head}def use(x: {cls}):\n    return {cls if how == 'on' else 'x'}.{last}{called}\n"


def judged(store: Store, old: Tag, new: Tag, uses: list[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """The findings of each use, as kind and message."""
    changes, hunks = dict[str, bytes | None](), list[UsedHunk]()
    for number, (use, name) in enumerate(uses):
        path, text = f"sglang/srt/ours/use_{number}.py", line_of(use, name)
        changes[path] = text.encode()
        sight = Sight(path, tuple(range(1, text.count("\n") + 1)), text.encode())
        hunks.append(UsedHunk("p", str(number), sight, sight))
    found = survive(hunks, facts_of(store, old, changes), facts_of(store, new, changes), tag=new.name)
    return [[(f.kind, f.message) for f in found.findings if f.hunk == str(n)] for n in range(len(uses))]


@pytest.mark.parametrize("pair", list(CHANGED), ids=lambda pair: f"{pair[0]}-{pair[1]}")
def test_what_changed_is_said(
    release_store: Store, need_release: Callable[..., list[Tag]], pair: tuple[str, str]
) -> None:
    old, new = need_release(*pair)
    rows = CHANGED[pair]
    found = judged(release_store, old, new, [(use, name) for use, name, _, _ in rows])
    wrong = [
        (row, said)
        for row, said in zip(rows, found, strict=True)
        if not any(kind == row[2] and row[3] in message for kind, message in said)
    ]
    assert wrong == []


@pytest.mark.parametrize("pair", list(CHANGED), ids=lambda pair: f"{pair[0]}-{pair[1]}")
def test_what_did_not_change_is_not_said(
    release_store: Store, need_release: Callable[..., list[Tag]], pair: tuple[str, str]
) -> None:
    old, new = need_release(*pair)
    found = judged(release_store, old, new, SAME)
    assert [(use, said) for use, said in zip(SAME, found, strict=True) if said] == []
