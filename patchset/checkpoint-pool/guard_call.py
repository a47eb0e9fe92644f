from sglang.srt.mem_cache.mamba_checkpoint_guard import require_thinning_core

require_thinning_core(cache)
