if self.checkpoint_thinning is not None:
    holders = self.checkpoint_thinning.eviction_order(holders, excess)
