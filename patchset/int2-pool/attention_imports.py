from sglang.srt.layers.attention.int2_kv_attention import decode as int2_decode
from sglang.srt.layers.attention.int2_kv_attention import extend as int2_extend
from sglang.srt.layers.attention.int2_kv_attention import int2_pool
from sglang.srt.layers.attention.int2_kv_attention import plan_rows as plan_int2_rows
from sglang.srt.layers.attention.int2_kv_attention import v_head_dim as int2_v_head_dim
