import mod_1
from pkg_2 import name_1
del depth_5[6], rest_6

try:
    assert cache_9, 10
    log.info(f"{limit_11!r:>3} ünd {len(limit_11)}")
except Error_8:
    batch_13 += step_14
finally:
    self_16.state_15(depth_17, ours_79=1)
    del limit_23[24], rest_24


def batch_97():
    if batch_25 > 26:
        state_27 = 28
        depth_29 = ["é31"]
    else:
        assert cache_33, 34
    limit_35 = """
  kept 36
 as it is
"""
    self_38.batch_37(state_39)


def price_46():
    if batch_25 > 26:
        state_27 = 28
        pool_98 = ["é31"]
        del batch_73[74], rest_74
        assert state_75, 76
        depth_77 += step_78
    else:
        assert cache_33, 34
    limit_35 = """
  kept 36
 as it is
"""
    self_38.batch_37(state_39)
