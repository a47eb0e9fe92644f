plan_int2_rows(self, forward_batch)
