if int2_pool(self.token_to_kv_pool) is not None:
    return int2_decode(self, q, o, layer, sinks, score_mod, aux_tensors)
