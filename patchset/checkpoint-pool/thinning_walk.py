if self.checkpoint_thinning is not None:
    self._evict_device_cursor = self.checkpoint_thinning.next_victim(self._evict_device_cursor)
