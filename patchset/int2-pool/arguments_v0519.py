kv_cache_quant_group_size: A[
    int,
    "Channels that share a scale and a zero in a --kv-cache-dtype int2 cache: 32, 64, 128, or 0 for a whole head. Smaller is more exact and larger.",
    NS("model"),
] = 64
int2_sink_tokens: A[
    int,
    "With --kv-cache-dtype int2, how many first tokens of a request are also kept in 16 bit.",
    NS("model"),
] = 64
int2_window_tokens: A[
    int,
    "With --kv-cache-dtype int2, how many most recent tokens of a request are also kept in 16 bit.",
    NS("model"),
] = 256
int2_k_rotation: A[
    str,
    "With --kv-cache-dtype int2, the rotation of keys before they are quantised: 'hadamard', 'none', or a file with one matrix per layer.",
    NS("model"),
] = "hadamard"
int2_v_rotation: A[
    str,
    "With --kv-cache-dtype int2, the rotation of values before they are quantised: 'hadamard', 'none', or a file with one matrix per layer.",
    NS("model"),
] = "hadamard"
