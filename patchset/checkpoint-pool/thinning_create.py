if get_exec().mamba.mamba_checkpoint_thinning:
    from sglang.srt.mem_cache.mamba_checkpoint_thinning import CheckpointThinning

    self.checkpoint_thinning = CheckpointThinning(self)
