"""Sizes as people write them, and as whole bytes."""

from __future__ import annotations

import re
from fractions import Fraction

GIB = 1 << 30
_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 1 << 10, "mib": 1 << 20, "gib": GIB}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)")
_MOST = 1 << 50


def parse_size(text: str) -> int:
    """`11.4 GiB`, `575MB` or plain bytes as bytes, rounded down; raise ValueError for anything else."""
    found = _SIZE.fullmatch(text.strip())
    unit = _UNITS.get(found[2].lower()) if found else None
    if found is None or unit is None or len(text) > 40:
        raise ValueError(f"`{text[:40]}` is not a size such as `11.4 GiB` or `575 MB`")
    count = int(Fraction(found[1]) * unit)
    if count > _MOST:
        raise ValueError(f"`{text}` is more memory than any card has")
    return count


def size(count: int) -> str:
    """`4.85 GiB`, `19.7 MiB`, `5124 B`: three digits, in the units that servers log."""
    for unit, name in ((GIB, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if abs(count) >= unit * 10 or (abs(count) >= unit and unit > 1 << 10):
            value = count / unit
            return f"{value:.{max(0, 2 - len(str(int(abs(value)))) + 1)}f} {name}"
    return f"{count} B"
