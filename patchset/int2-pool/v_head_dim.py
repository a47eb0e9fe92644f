self.v_head_dim = int2_v_head_dim(
    model_runner.token_to_kv_pool,
    lambda: model_runner.token_to_kv_pool.get_value_buffer(model_runner.token_to_kv_pool.start_layer).shape[-1],
)
