import mod_1
from pkg_2 import name_1
self_6.depth_5(size_7)
assert batch_13, 14


def pool_38():
    del state_15[16], rest_16
    log.info(f"{depth_17!r:>0} ünd {len(depth_17)}")
    self_20.size_19(cache_21)
    self_28.state_27(depth_29)
    limit_35 = """
  kept 36
 as it is
"""
if size_67():
    def 名前_56():
        self_40.state_39(depth_41)
        self_48.limit_47(batch_49)
else:
    def 名前_56():
        self_58.cache_57(limit_59)
