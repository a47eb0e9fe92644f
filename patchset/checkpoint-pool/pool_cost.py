
@classmethod
def cost_bytes(cls, *, cache_params, num_layers: int, num_slots: int) -> int:
    """Device bytes that a pool of ``num_slots`` usable slots allocates on one rank, before it is built."""
    heads, head_v_dim, head_k_dim = cache_params.shape.temporal
    states = cls.estimate_mem_usage_bytes(
        num_layers=num_layers,
        num_slots=num_slots,
        num_heads=heads,
        head_v_dim=head_v_dim,
        head_k_dim=head_k_dim,
        conv_shapes=list(cache_params.shape.conv),
        conv_dtype=cache_params.dtype.conv,
        temporal_dtype=cache_params.dtype.temporal,
    )
    free_list = num_slots * torch.int64.itemsize  # MambaSlotAllocator lists every slot but the reserved one
    return states["total"] + free_list
