if int2_pool(self.token_to_kv_pool) is not None:
    return int2_extend(self, q, k, v, o, layer, forward_batch, sinks, score_mod, aux_tensors)
