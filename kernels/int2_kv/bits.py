"""2-bit codes as fp16 subnormals: one mask, no conversion."""

from __future__ import annotations

import os

import triton
import triton.language as tl

# The interpreter runs no inline PTX; it takes the plain form, which LLVM would split into 16-bit halves.
PACKED = tl.constexpr(os.environ.get("TRITON_INTERPRET", "0") != "1")


@triton.constexpr_function
def power_of_code(J):
    """e with `codes(word, J) == code * 4**e * 2**-24`: bits 0…9 are the mantissa, above that one shift."""
    return J if J < 5 else J - 5


@triton.jit
def codes(words, J: tl.constexpr):
    """Codes at position J of int16 words, as fp16: `code * 4**power_of_code(J) * 2**-24`, exactly."""
    if not PACKED:
        shifted = words if J < 5 else words >> 10
        return (shifted & (3 << (2 * (J if J < 5 else J - 5)))).to(tl.float16, bitcast=True)
    if J == 0:
        return tl.inline_asm_elementwise(
            "and.b32 $0, $1, 0x00030003;", "=r,r", [words], dtype=tl.float16, is_pure=True, pack=2
        )
    if J == 1:
        return tl.inline_asm_elementwise(
            "and.b32 $0, $1, 0x000C000C;", "=r,r", [words], dtype=tl.float16, is_pure=True, pack=2
        )
    if J == 2:
        return tl.inline_asm_elementwise(
            "and.b32 $0, $1, 0x00300030;", "=r,r", [words], dtype=tl.float16, is_pure=True, pack=2
        )
    if J == 3:
        return tl.inline_asm_elementwise(
            "and.b32 $0, $1, 0x00C000C0;", "=r,r", [words], dtype=tl.float16, is_pure=True, pack=2
        )
    if J == 4:
        return tl.inline_asm_elementwise(
            "and.b32 $0, $1, 0x03000300;", "=r,r", [words], dtype=tl.float16, is_pure=True, pack=2
        )
    if J == 5:
        return tl.inline_asm_elementwise(
            "{.reg .b32 t; shr.u32 t, $1, 10; and.b32 $0, t, 0x00030003;}",
            "=r,r",
            [words],
            dtype=tl.float16,
            is_pure=True,
            pack=2,
        )
    if J == 6:
        return tl.inline_asm_elementwise(
            "{.reg .b32 t; shr.u32 t, $1, 10; and.b32 $0, t, 0x000C000C;}",
            "=r,r",
            [words],
            dtype=tl.float16,
            is_pure=True,
            pack=2,
        )
    return tl.inline_asm_elementwise(
        "{.reg .b32 t; shr.u32 t, $1, 10; and.b32 $0, t, 0x00300030;}",
        "=r,r",
        [words],
        dtype=tl.float16,
        is_pure=True,
        pack=2,
    )
