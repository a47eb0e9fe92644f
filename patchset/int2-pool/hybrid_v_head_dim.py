from sglang.srt.mem_cache.int2_kv_pool import Int2TokenToKVPool

if isinstance(self.full_kv_pool, Int2TokenToKVPool):
    return self.full_kv_pool.get_v_head_dim()
