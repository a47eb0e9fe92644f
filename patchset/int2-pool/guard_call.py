if cfg.kv_cache_dtype == "int2":
    from sglang.srt.arg_groups.int2_kv_hook import handle_int2_kv_cache

    handle_int2_kv_cache(server_args)
