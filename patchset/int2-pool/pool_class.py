from sglang.srt.mem_cache.int2_kv_budget import pool_class as int2_pool_class

mha_pool_class = int2_pool_class(self, mha_pool_class)
