if self.int2_budget is not None and self._cell_size:
    max_total_num_tokens = self.int2_budget.tokens(available_bytes, page_size)
