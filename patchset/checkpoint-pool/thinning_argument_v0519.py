mamba_checkpoint_thinning: A[
    bool,
    "Evict cached mamba states by coverage: keep forks, the deepest state and evenly spread depths of a path instead of its most recent states. Needs the Python tree core.",
    NS("exec.mamba"),
] = False
