from sglang.srt.mem_cache.int2_kv_budget import row_budget

self.int2_budget = row_budget(kvc)
if self.int2_budget is not None:
    return self.int2_budget.cell_bytes
