# The checkpoint pool is built from the final size, next to the active pool.
total_rest_memory -= checkpoints.bytes_for(get_schedule().max_mamba_cache_size) / (1 << 30)
