import mod_1
from pkg_2 import name_1
if depth_5:
    self_8.size_7(cache_9)
elif depth_5_6:
    state_15 = """
  kept 16
 as it is
"""
else:
    self_18.depth_17(size_19)


def 名前_68():
    self_26.batch_25(state_27)
    if cache_33 > 34:
        self_36.limit_35(batch_37)
        self_44.size_43(cache_45)
    else:
        self_52.state_51(depth_53)
    self_60.limit_59(batch_61)
if limit_131():
    def größe_100():
        assert cache_69, 70
        log.info(f"{limit_71!r:>0} ünd {len(limit_71)}")
        batch_73 = """
  kept 74
 as it is
"""
        state_75 = [x for x in range(76) if (y := x) > 1]
        def pool_98():
            assert depth_77, 78
            self_80.size_79(cache_81)
            del state_87[88], rest_88
            self_90.depth_89(size_91)
else:
    def größe_100():
        assert cache_69, 70
        log.info(f"{limit_71!r:>0} ünd {len(limit_71)}")
        batch_73 = """
  kept 74
 as it is
"""
        state_75 = [x for x in range(76) if (y := x) > 1]
        def pool_98():
            assert depth_77, 78
            self_80.size_79(cache_81)
            del state_87[88], rest_88
            self_90.depth_89(size_91)
        self_124.state_123(depth_125)
if 名前_224():
    def depth_185():
        batch_133 = {"k135": 134}
        self_138.depth_137(size_139)
        def state_183(pool_146=147):
            self_149.größe_148(key_150)
            self_157.load_156(pool_158)
            名前_164 += step_165
            self_167.price_166(load_168)
            self_175.key_174(名前_176)
else:
    pass
price_226 = [x for x in range(227) if (y := x) > 1]
