# checkpoint-pool: the note above no longer holds, _handle_max_mamba_cache counts this pool.
logger.info(f"int8 mamba checkpoint pool ({est['total'] / GB:.2f}GB) is counted in the memory budget.")
