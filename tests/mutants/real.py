"""The shipped checkpoint pool on a real release, broken on purpose; the release's texts are read from the store."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from mutant_list import Files, Mutant, swap

from rebasekit.model.tag import Tag
from rebasekit.model.verdict import Verdict
from rebasekit.steps.checking import check
from rebasekit.steps.prove import prove
from rebasekit.steps.rebase import Result, carry
from rebasekit.steps.trees import Trees
from rebasekit.steps.workspace import Workspace

ROOT = Path(__file__).resolve().parents[2]
TAG = Tag("v0.5.20")
CACHE = "sglang/srt/mem_cache/"
POOL, CONF = CACHE + "mamba_checkpoint_pool.py", CACHE + "kv_cache_configurator.py"
COMPONENT = CACHE + "unified_cache/components/mamba.py"
REGISTRY, CORES = CACHE + "registry.py", CACHE + "unified_cache/tree_core_registry.py"
CORE, TYPES = CACHE + "unified_cache/unified_tree_core.py", CACHE + "unified_cache/component_type.py"
RUNTIME, ENVIRON = "sglang/srt/runtime_context.py", "sglang/srt/environ.py"
HOOK = "sglang/srt/arg_groups/mamba_hook.py"

IMPORT = "        from sglang.srt.mem_cache.mamba_checkpoint_budget import checkpoint_budget\n\n"
LINE = "        checkpoints = checkpoint_budget(config.mamba2_cache_params, max_stage_mamba_layers)\n"
SHARE = "mamba_budget_bytes = checkpoints.active_share(mamba_budget_bytes, per_slot)\n"
CAP = (
    "        if self.checkpoint_thinning is not None:\n"
    "            holders = self.checkpoint_thinning.eviction_order(holders, excess)\n"
)
GUARD = "    from sglang.srt.mem_cache.mamba_checkpoint_guard import require_thinning_core\n\n"
GUARD += "    require_thinning_core(cache)\n"


def renamed(path: str, old: str, new: str) -> Mutant:
    return Mutant(
        f"rename {old}",
        lambda f: f | {path: re.sub(rf"\b{old}\b", new, f[path])},
        ("api-gone", "api-moved", "value-renamed"),
    )


MUTANTS = (
    Mutant("drop an import", swap((CONF, IMPORT, "")), ("unbound",)),
    Mutant(
        "put our line before what it uses",
        swap(
            (CONF, IMPORT + LINE, ""),
            (
                CONF,
                "            max_stage_mamba_layers = max(",
                IMPORT.replace("        f", "            f")
                + "    "
                + LINE
                + "            max_stage_mamba_layers = max(",
            ),
        ),
        ("unbound-before-assignment",),
    ),
    Mutant(
        "lose part of a body",
        swap(
            (
                CONF,
                "        total_rest_memory -= checkpoints.bytes_for(get_schedule().max_mamba_cache_size) / (1 << 30)\n",
                "",
            )
        ),
        ("misplaced",),
    ),
    Mutant(
        "take a hunk out of its branch",
        swap(
            (CONF, "                " + SHARE, ""),
            (
                CONF,
                "        # Validate: max_mamba_cache_size",
                "        " + SHARE + "        # Validate: max_mamba_cache_size",
            ),
        ),
        ("misplaced", "unbound"),
    ),
    Mutant(
        "drop a parameter that the body uses",
        swap(
            (POOL, "cache_params, num_layers: int, num_slots: int) -> int:", "cache_params, num_layers: int) -> int:")
        ),
        ("unbound",),
    ),
    Mutant(
        "duplicate the method",
        swap(
            (
                POOL,
                "\n\ndef maybe_init_int8_mamba_checkpoint_pool(",
                "\n    @classmethod\n    def cost_bytes(cls, **kwargs):\n        return 0\n\n\n"
                "def maybe_init_int8_mamba_checkpoint_pool(",
            )
        ),
        ("duplicate-definition",),
    ),
    Mutant(
        "move a hunk to another method",
        swap(
            (COMPONENT, CAP, ""),
            (
                COMPONENT,
                "    def needs_incremental_backup(self, node: UnifiedTreeNode) -> bool:\n",
                "    def needs_incremental_backup(self, node: UnifiedTreeNode) -> bool:\n" + CAP,
            ),
        ),
        ("misplaced",),
    ),
    Mutant(
        "a function's signature grows",
        swap(
            (
                POOL,
                "        temporal_dtype: torch.dtype,\n    ) -> dict:",
                "        temporal_dtype: torch.dtype,\n        page: int,\n    ) -> dict:",
            )
        ),
        ("signature-changed",),
    ),
    Mutant(
        "rename a keyword",
        swap(
            (
                POOL,
                "        conv_shapes: List[tuple],\n        conv_dtype: torch.dtype,\n        temporal_dtype",
                "        shapes: List[tuple],\n        conv_dtype: torch.dtype,\n        temporal_dtype",
            )
        ),
        ("signature-changed",),
    ),
    Mutant(
        "make a function a coroutine", swap((RUNTIME, "def get_exec()", "async def get_exec()")), ("signature-changed",)
    ),
    renamed(RUNTIME, "get_exec", "get_execution"),
    renamed(CORE, "UnifiedTreeCore", "PythonTreeCore"),
    renamed(TYPES, "MAMBA", "STATE"),
    Mutant("delete a module", lambda f: {p: t for p, t in f.items() if p != TYPES}, ("api-gone", "api-moved")),
    Mutant(
        "import for type checkers only",
        swap(
            (
                COMPONENT,
                "from sglang.srt.runtime_context import (",
                "if TYPE_CHECKING:\n    from sglang.srt.runtime_context import (",
            )
        ),
        ("type-checking-only",),
    ),
    Mutant(
        "stop calling the function",
        swap((CONF, "rest_memory = self._handle_max_mamba_cache(rest_memory)", "rest_memory = rest_memory")),
        ("uncalled", "builder-uncalled"),
    ),
    Mutant("return before our lines", swap((REGISTRY, "\n\n" + GUARD, "\n    return cache\n" + GUARD)), ("uncalled",)),
    Mutant(
        "build another class",
        swap((POOL, "pool = MambaCheckpointPool(device=device, **kwargs)", "pool = OtherPool(device=device)")),
        ("unconstructed", "builder-uncalled"),
    ),
    Mutant(
        "flip the default",
        swap(
            (
                ENVIRON,
                'SGLANG_UNIFIED_RADIX_TREE_CORE_BACKEND = EnvStr("python")',
                'SGLANG_UNIFIED_RADIX_TREE_CORE_BACKEND = EnvStr("rust")',
            )
        ),
        ("default-flipped", "bypassed"),
    ),
    Mutant(
        "register another implementation",
        swap(
            (
                CORES,
                'register_tree_core_backend("python", _python_tree_core_factory)',
                'register_tree_core_backend("python", _rust_tree_core_factory)',
            )
        ),
        ("unconstructed", "bypassed", "default-flipped", "builder-uncalled"),
    ),
)


@dataclass
class Real:
    """The patch carried to the release, and what can be asked of damaged copies of it."""

    space: Workspace
    result: Result

    @classmethod
    def made(cls, root: Path, cache: Path) -> Real:
        """A copy of the project whose deployment pins nothing, so that a default can flip."""
        for name in ("patchset", "kernels", "upstream-map"):
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
        series = root / "patchset/series.toml"
        text = series.read_text(encoding="utf-8")
        series.write_text(re.sub(r"\n\[environment\]\n[^\[]*", "\n", text), encoding="utf-8")
        space = Workspace(root, cache)
        return cls(space, carry(space, TAG, only=["checkpoint-pool"]))

    def said(self, mutant: Mutant) -> set[str]:
        """The kinds of everything that is found on the damaged tree. Nothing is placed anew: lines should not shift."""
        files: Files = {}
        for path in (POOL, CONF, COMPONENT, REGISTRY, CORES, CORE, TYPES, RUNTIME, ENVIRON, HOOK):
            data = self.result.verdict.tree.get(path) or self.space.store.read(TAG, path)
            assert data is not None
            files[path] = data.decode()
        after = mutant.change(files)
        changed = {
            path: after[path].encode() if path in after else None for path in files if after.get(path) != files[path]
        }
        verdict = replace(self.result.verdict, tree=self.result.verdict.tree | changed)
        return self._proved(verdict) | {finding.kind for finding in self._checked(verdict)}

    def _proved(self, verdict: Verdict) -> set[str]:
        tree = self.result.outcomes.tree
        back = {path: tree.sources[path].with_text(owned.reversed()).encode() for path, owned in tree.files.items()}
        ours = {path: data for path, data in verdict.tree.items() if path in back}
        found = prove(self.result.outcomes.placements, ours, back, Trees(self.space.store), TAG)
        return {finding.kind for finding in found}

    def _checked(self, verdict: Verdict):  # type: ignore[no-untyped-def]
        return check(
            self.space, verdict, lambda tag: carry(self.space, tag, series=self.result.series).verdict
        ).findings
