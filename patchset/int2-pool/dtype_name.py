if server_args_kv_cache_dtype == "int2":
    return resolved_kv_cache_dtype, torch.int16
