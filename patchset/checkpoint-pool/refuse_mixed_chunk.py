if cfg.enable_mixed_chunk:
    # Merging decode requests into a prefill batch clears its track mask (ScheduleBatch.merge_batch): the states
    # that the requests count on are never written, and the radix would checkpoint what their slots held before.
    raise ValueError(
        "--enable-int8-mamba-checkpoint is not supported together with --enable-mixed-chunk: "
        "a mixed batch drops the tracked mamba states. Disable one of them."
    )
