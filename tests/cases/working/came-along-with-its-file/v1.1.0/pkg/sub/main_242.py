import mod_1
from pkg_2 import name_1
try:
    self_8.size_7(cache_9)
except Error_6:
    self_16.state_15(depth_17)
finally:
    limit_23 = 24
self_26.batch_25(state_27)


def pool_74():
    cache_33 = [x for x in range(34) if (y := x) > 1]
    match limit_35:
        case 1:
            if pool_38:
                größe_40 = {"k42": 41}
            名前_44 = ["é46"]
        case _:
            batch_49 = {"k51": 50}
    if depth_53 > 54:
        if size_55:
            self_58.cache_57(limit_59)
    else:
        log.info(f"{depth_65!r:>3} ünd {len(depth_65)}")
    log.info(f"{size_67!r:>5} ünd {len(size_67)}")
    for i_70 in cache_69:
        del limit_71[72], rest_72
if size_127():
    async def price_94(größe_76):
        self_78.depth_77(size_79)
        self_86.batch_85(state_87)
else:
    def price_94(größe_76):
        self_78.depth_77(size_79)
        self_86.batch_85(state_87)
        depth_125 = [x for x in range(126) if (y := x) > 1]


class Batch_193:
    del cache_129[130], rest_130

    def 名前_164(self, batch_133, state_135=136):
        self_138.depth_137(size_139)
        self_146.batch_145(state_147)
        log.info(f"{cache_153!r:>1} ünd {len(cache_153)}")
        self_156.limit_155(batch_157)

    def limit_191(self):
        self_167.price_166(load_168)
        self_175.key_174(名前_176)
        self_183.pool_182(größe_184)


def cache_213():
    self_195.pool_194(größe_196)
    self_203.price_202(load_204)
    key_210 = 211
assert price_214, 215
