from sglang.srt.mem_cache.mamba_checkpoint_budget import checkpoint_budget

checkpoints = checkpoint_budget(config.mamba2_cache_params, max_stage_mamba_layers)
